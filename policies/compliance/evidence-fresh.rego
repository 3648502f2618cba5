# METADATA
# title: Evidence is recent
# description: >-
#   Old evidence describes an older build. Rows of evidence have no time; the time at which the
#   service received each piece counts.
# custom:
#   severity: medium
#   remediation: >-
#     Run the step again for this release.
#   controls:
#     ssdf: [PS.3.1]
#     nist_800_53: [CA-7]
#   parameters:
#     - name: max_evidence_age_days
#       description: The greatest age of evidence, in days.
#       default: 30
#   input: [release]
#   functions: [evidence, discover]
package compliance.evidence_fresh

import data.lib.evidence
import data.lib.parameters
import data.lib.time

result := evidence.verdict(deny)

max_age := parameters.get("max_evidence_age_days", 30)

deny contains {"message": message, "digest": row.digest} if {
	some row in evidence.latest
	created := evidence.created(row.digest, row.kind)
	not time.within(created, max_age)
	message := sprintf("the evidence `%s` (%s) is from %s: expected at most %v days ago", [row.name, row.kind, created, max_age])
}
