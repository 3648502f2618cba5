# METADATA
# title: The SBOM is recent
# description: >-
#   An old SBOM describes an older build. A time in the future, by more than a day, fails as well.
# custom:
#   severity: medium
#   remediation: >-
#     Generate the SBOM in the build that is released.
#   controls:
#     ssdf: [PS.3.2]
#     nist_800_53: [CM-8]
#   parameters:
#     - name: max_sbom_age_days
#       description: The greatest age of an SBOM, in days.
#       default: 90
#   input: [cyclonedx, spdx, image, release]
#   functions: [evidence, download_artifact]
package sbom.fresh

import data.lib.parameters
import data.lib.sbom
import data.lib.time

result := sbom.verdict(deny)

max_age := parameters.get("max_sbom_age_days", 90)

deny contains {"message": message} if {
	some document in sbom.all
	time.valid(document.created)
	not time.within(document.created, max_age)
	message := sprintf("%s is from %s: expected at most %v days ago", [document.label, document.created, max_age])
}
