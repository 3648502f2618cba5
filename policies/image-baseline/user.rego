# METADATA
# title: The image runs as another user than root
# description: >-
#   A process that runs as root in its container has more ways out of it. An image that sets no
#   user runs as root, or as the user of its base image.
# custom:
#   severity: high
#   remediation: >-
#     Add `USER` with the number of a user, such as `USER 65532`, to the last stage.
#   controls:
#     ssdf: [PW.9.1]
#     cra: ["Annex I, Part I, 2(b)"]
#     nist_800_53: [AC-6, CM-6]
#   input: [dockerfile, image-config, docker-inspect, trivy]
package image_baseline.user

import data.lib.container

result := container.verdict(deny)

deny contains {"message": message} if {
	some configuration in container.all
	user := split(configuration.user, ":")[0]
	user == ""
	message := sprintf("%s sets no user", [configuration.label])
}

deny contains {"message": message} if {
	some configuration in container.all
	user := split(configuration.user, ":")[0]
	regex.match(`^(root|0+)$`, user)
	message := sprintf("%s runs as root: `%s`", [configuration.label, configuration.user])
}
