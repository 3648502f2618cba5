# METADATA
# title: No secret is in the environment
# description: >-
#   Everyone who can pull an image can read its environment and the defaults of its build
#   arguments.
# custom:
#   severity: critical
#   remediation: >-
#     Give the secret to the container when it starts, or to the build with `RUN
#     --mount=type=secret`, and revoke the old one.
#   controls:
#     osps: [OSPS-BR-07.01]
#     ssdf: [PW.9.1]
#     nist_800_53: [IA-5]
#   input: [dockerfile, image-config, docker-inspect, trivy]
package image_baseline.environment_secrets

import data.lib.container

result := container.verdict(deny)

pattern := `(?i)(password|passwd|secret|token|api_?key|access_?key|private_?key|credential)`

# Names of files and places aren't secrets.
place := `(?i)_(file|path|dir|url|uri|name|id)$`

deny contains {"message": message, "name": name} if {
	some configuration in container.all
	some [name, text] in configuration.env
	regex.match(pattern, name)
	not regex.match(place, name)
	not regex.match(`^(\$.*)?$`, text)
	message := sprintf("%s has a value for `%s` in its environment", [configuration.label, name])
}
