# METADATA
# title: The required evidence is present
# description: >-
#   A release that skipped a step lacks its evidence.
# custom:
#   severity: high
#   remediation: >-
#     Run the missing step, and attest its result.
#   controls:
#     ssdf: [PO.3.3, PS.3.1]
#     nist_800_53: [AU-10, SA-11]
#   parameters:
#     - name: required_evidence
#       description: Kinds of evidence that a release has to have.
#       default: [SBOM_CYCLONEDX_JSON, SARIF, JUNIT_XML]
#   input: [release]
#   functions: [evidence]
package compliance.evidence_present

import data.lib.documents
import data.lib.evidence
import data.lib.parameters

result := evidence.verdict(deny)

required_evidence := parameters.get("required_evidence", ["SBOM_CYCLONEDX_JSON", "SARIF", "JUNIT_XML"])

deny contains {"message": message, "kind": kind} if {
	documents.shape == "release"
	some kind in required_evidence
	not kind in evidence.kinds
	message := sprintf("the release has no evidence of the kind `%s`", [kind])
}
