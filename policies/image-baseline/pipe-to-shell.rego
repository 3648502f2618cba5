# METADATA
# title: No download is piped to a shell
# description: >-
#   `curl … | sh` runs whatever the server sends, and nobody knows later what that was.
# custom:
#   severity: high
#   remediation: >-
#     Download the file, check its digest, and then run it.
#   controls:
#     osps: [OSPS-BR-05.01]
#     ssdf: [PW.4.4]
#     nist_800_53: [SI-7, SR-11]
#   input: [dockerfile]
package image_baseline.pipe_to_shell

import data.lib.container

result := container.dockerfile_verdict(deny)

deny contains {"message": message} if {
	some dockerfile in container.dockerfiles
	some stage in dockerfile.stages
	some instruction in stage
	instruction.Cmd == "run"
	command := concat(" ", instruction.Value)
	some found in regex.find_n(`(curl|wget)\b[^|;&]*\|\s*(sudo\s+)?(\S*/)?(ba|da|z|k)?sh\b`, command, 1)
	message := sprintf("%s pipes a download to a shell: `%s`", [dockerfile.label, found])
}
