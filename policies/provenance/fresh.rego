# METADATA
# title: The build is recent
# description: >-
#   An old build has old dependencies. A build without a time, or with one in the future by more
#   than a day, fails as well.
# custom:
#   severity: low
#   remediation: >-
#     Build again before the release.
#   controls:
#     ssdf: [PS.3.2]
#     nist_800_53: [SI-2]
#   parameters:
#     - name: max_build_age_days
#       description: The greatest age of a build, in days.
#       default: 90
#   input: [slsa-provenance, verification-summary, attestation, image, release]
#   functions: [evidence, download_artifact]
package provenance.fresh

import data.lib.parameters
import data.lib.provenance
import data.lib.time

result := provenance.verdict(deny)

max_age := parameters.get("max_build_age_days", 90)

deny contains {"message": message} if {
	some statement in provenance.all
	statement.finished != ""
	not time.within(statement.finished, max_age)
	message := sprintf("the build in %s finished at %s: expected at most %v days ago", [statement.label, statement.finished, max_age])
}
