# METADATA
# title: Evidence comes from the right workflow
# description: >-
#   Evidence that someone uploaded by hand, or that another workflow created, isn't what the build
#   found.
# custom:
#   severity: high
#   remediation: >-
#     Create the evidence in the workflow that `evidence_workflows` names.
#   controls:
#     ssdf: [PS.1.1, PO.3.3]
#     nist_800_53: [AU-10, CM-3]
#   parameters:
#     - name: evidence_workflows
#       description: Pairs of a kind and its workflow, such as `SARIF=security-scan`.
#       default: []
#   input: [release]
#   functions: [evidence]
package compliance.evidence_workflow

import data.lib.evidence
import data.lib.parameters

result := evidence.verdict(deny)

# Pairs such as `SARIF=security-scan`.
evidence_workflows := parameters.get("evidence_workflows", [])

deny contains {"message": message, "digest": row.digest} if {
	some row in evidence.latest
	allowed := {workflow |
		some pair in evidence_workflows
		[row.kind, workflow] = split(pair, "=")
	}
	count(allowed) > 0
	not row.workflow_name in allowed
	message := sprintf("the evidence `%s` (%s) comes from the workflow `%s`", [row.name, row.kind, row.workflow_name])
}
