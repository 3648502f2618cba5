# METADATA
# title: Every component has its own identifier
# description: >-
#   Two components with one identifier make the dependencies ambiguous.
# custom:
#   severity: medium
#   remediation: >-
#     Give each component its own `bom-ref`, or `SPDXID` in SPDX.
#   controls:
#     ssdf: [PS.3.2]
#     nist_800_53: [CM-8]
#   input: [cyclonedx, spdx, image, release]
#   functions: [evidence, download_artifact]
package sbom.unique

import data.lib.sbom

result := sbom.verdict(deny)

deny contains {"message": message, "id": id} if {
	some document in sbom.all
	ids := sort([component.id | some component in document.components; component.id != ""])
	some i, id in ids
	ids[i - 1] == id
	message := sprintf("several components in %s have the identifier `%s`", [document.label, id])
}
