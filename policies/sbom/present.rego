# METADATA
# title: An SBOM is present
# description: >-
#   An image, a release or a set of files without an SBOM says nothing about what is in it.
# custom:
#   severity: high
#   remediation: >-
#     Generate an SBOM in the build, such as with Syft or Trivy, and attach it to the image or
#     send it to the service.
#   controls:
#     osps: [OSPS-QA-02.02]
#     ssdf: [PS.3.2]
#     cra: ["Annex I, Part II, 1"]
#     nist_800_53: [CM-8, SR-4]
#   input: [cyclonedx, spdx, image, release]
#   functions: [evidence, download_artifact]
package sbom.present

import data.lib.documents
import data.lib.sbom

result := sbom.presence(deny)

deny contains {"message": "no SBOM is present"} if {
	documents.shape != "document"
	count(sbom.candidates) == 0
}
