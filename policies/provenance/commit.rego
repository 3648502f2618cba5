# METADATA
# title: The source is identified by a commit
# description: >-
#   A branch moves and a tag can be moved. Only the commit says what was built.
# custom:
#   severity: medium
#   remediation: >-
#     Use a builder that records the commit of the source.
#   controls:
#     osps: [OSPS-BR-06.01]
#     slsa: ["Build L1"]
#     ssdf: [PS.3.2]
#     nist_800_53: [SR-4]
#   input: [slsa-provenance, verification-summary, attestation, image, release]
#   functions: [evidence, download_artifact]
package provenance.commit

import data.lib.provenance

result := provenance.verdict(deny)

deny contains {"message": message} if {
	some statement in provenance.all
	not regex.match(`^([0-9a-f]{40}|[0-9a-f]{64})$`, statement.commit)
	message := sprintf("%s names no commit of its source: found `%s`", [statement.label, statement.commit])
}
