# METADATA
# title: Evidence violates no policy
# description: >-
#   The service evaluates policies when it receives an attestation, and remembers what they found.
#   Evidence whose attestation violates a policy, or doesn't say, fails.
# custom:
#   severity: high
#   remediation: >-
#     Fix what the policies found, and attest again.
#   controls:
#     ssdf: [PO.4.2]
#     nist_800_53: [CA-7, SA-11]
#   input: [release]
#   functions: [evidence, discover]
package compliance.evidence_policies

import data.lib.evidence

result := evidence.verdict(deny)

deny contains {"message": message, "digest": row.digest} if {
	some row in evidence.latest
	some reference in platform.discover(row.digest, row.kind).references
	reference.kind == "ATTESTATION"
	verdict := object.get(reference.metadata, "hasPolicyViolations", "unknown")
	verdict != "false"
	message := sprintf("the attestation of the evidence `%s` (%s) has policy violations: %s", [row.name, row.kind, verdict])
}

deny contains {"message": message, "digest": row.digest} if {
	some row in evidence.latest
	references := platform.discover(row.digest, row.kind).references
	count([1 | some reference in references; reference.kind == "ATTESTATION"]) == 0
	message := sprintf("the evidence `%s` (%s) has no attestation", [row.name, row.kind])
}
