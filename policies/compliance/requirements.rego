# METADATA
# title: Every requirement is met
# description: >-
#   Each requirement of each evaluated framework has to hold for this version of the project. Any
#   other status than a pass fails, also one that is new.
# custom:
#   severity: high
#   remediation: >-
#     Look up the requirement in the service: it lists the policies and the evidence that are
#     missing.
#   controls:
#     ssdf: [PO.4.2]
#     nist_800_53: [CA-2, CA-7]
#   parameters:
#     - name: passing_statuses
#       description: Statuses that count as met.
#       default: [pass]
#   input: [release]
#   functions: [project_compliance]
package compliance.requirements

import data.lib.evidence
import data.lib.parameters

result := evidence.verdict(deny)

passing_statuses := parameters.get("passing_statuses", ["pass"])

deny contains {"message": message, "id": row.requirement_id, "framework_id": row.framework_id} if {
	some row in evidence.evaluations
	not row.status in passing_statuses
	message := sprintf("the requirement `%s` has the status `%s`", [row.display_name, row.status])
}

deny contains {"message": message, "id": row.requirement_id, "framework_id": row.framework_id} if {
	some row in evidence.evaluations
	row.project_version_id != input.project_version_id
	message := sprintf("the requirement `%s` was evaluated for the version `%s`", [row.display_name, row.project_version_id])
}
