# METADATA
# title: The SBOM names its author
# description: >-
#   NTIA's minimum elements: the SBOM names the tool, the person or the organization that created
#   it.
# custom:
#   severity: low
#   remediation: >-
#     Set `metadata.tools` or `metadata.authors`, or `creationInfo.creators` in SPDX.
#   controls:
#     ssdf: [PS.3.2]
#     nist_800_53: [SR-4]
#   input: [cyclonedx, spdx, image, release]
#   functions: [evidence, download_artifact]
package sbom.author

import data.lib.sbom

result := sbom.verdict(deny)

deny contains {"message": message} if {
	some document in sbom.all
	(document.authors | document.tools) - {""} == set()
	message := sprintf("%s names neither an author nor a tool", [document.label])
}
