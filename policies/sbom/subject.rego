# METADATA
# title: The SBOM says what it describes
# description: >-
#   An SBOM without a subject can't be matched to an artifact.
# custom:
#   severity: low
#   remediation: >-
#     Set `metadata.component`, or `DESCRIBES` in SPDX, to the image or the application.
#   controls:
#     osps: [OSPS-BR-02.02]
#     ssdf: [PS.3.2]
#     nist_800_53: [CM-8]
#   input: [cyclonedx, spdx, image, release]
#   functions: [evidence, download_artifact]
package sbom.subject

import data.lib.sbom

result := sbom.verdict(deny)

deny contains {"message": message} if {
	some document in sbom.all
	object.get(document.subject, "name", "") == ""
	message := sprintf("%s doesn't say what it describes", [document.label])
}
