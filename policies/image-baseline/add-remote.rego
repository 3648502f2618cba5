# METADATA
# title: No file is added from an address
# description: >-
#   `ADD` of an address takes whatever its server sends, unless it has a checksum.
# custom:
#   severity: medium
#   remediation: >-
#     Add `--checksum=sha256:…` to `ADD`, or copy a file that the repository has.
#   controls:
#     osps: [OSPS-BR-05.01]
#     ssdf: [PW.4.4]
#     nist_800_53: [SI-7, SR-11]
#   input: [dockerfile]
package image_baseline.add_remote

import data.lib.container

result := container.dockerfile_verdict(deny)

deny contains {"message": message} if {
	some dockerfile in container.dockerfiles
	some stage in dockerfile.stages
	some instruction in stage
	instruction.Cmd == "add"
	some source in array.slice(instruction.Value, 0, count(instruction.Value) - 1)
	regex.match(`^(https?|ftp)://`, source)
	not has_checksum(instruction)
	message := sprintf("`ADD %s` in %s has no checksum", [source, dockerfile.label])
}

has_checksum(instruction) if {
	some flag in instruction.Flags
	startswith(flag, "--checksum=")
}
