# METADATA
# title: Every required framework is evaluated
# description: >-
#   A release that nobody evaluated has no result to judge. Name the frameworks here and not in
#   the input, whose author could leave one out.
# custom:
#   severity: high
#   remediation: >-
#     Attach the framework to the product's version, and let the service evaluate it.
#   controls:
#     ssdf: [PO.1.2]
#     nist_800_53: [CA-2]
#   parameters:
#     - name: required_frameworks
#       description: Identifiers of the frameworks that have to be evaluated.
#       default: []
#   input: [release]
#   functions: [project_compliance]
package compliance.frameworks

import data.lib.documents
import data.lib.evidence
import data.lib.parameters

result := evidence.verdict(deny)

required_frameworks := parameters.get("required_frameworks", [])

deny contains {"message": "no framework was evaluated for this release"} if {
	documents.shape == "release"
	count(evidence.evaluations) == 0
}

deny contains {"message": message, "framework_id": id} if {
	documents.shape == "release"
	some id in required_frameworks
	not id in {row.framework_id | some row in evidence.evaluations}
	message := sprintf("the framework `%s` wasn't evaluated", [id])
}
