# METADATA
# title: The SBOM has its time of creation
# description: >-
#   NTIA's minimum elements: the time at which the SBOM was assembled, with its zone.
# custom:
#   severity: low
#   remediation: >-
#     Set `metadata.timestamp`, or `creationInfo.created` in SPDX, such as `2026-03-01T12:00:00Z`.
#   controls:
#     ssdf: [PS.3.2]
#     nist_800_53: [SR-4]
#   input: [cyclonedx, spdx, image, release]
#   functions: [evidence, download_artifact]
package sbom.timestamp

import data.lib.sbom
import data.lib.time

result := sbom.verdict(deny)

deny contains {"message": message} if {
	some document in sbom.all
	not time.valid(document.created)
	message := sprintf("%s has no valid time of creation: found `%s`", [document.label, document.created])
}
