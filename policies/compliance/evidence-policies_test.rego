package compliance.evidence_policies_test

import data.compliance.evidence_policies
import data.lib.fixtures_test as fixtures

attested(metadata) := {"references": [{"digest": "sha256:2", "kind": "ATTESTATION", "metadata": metadata}]}

test_fails if {
	every violated in ["true", "unknown"] {
		fixtures.messages(evidence_policies.result) == {sprintf("the attestation of the evidence `scan` (SARIF) has policy violations: %s", [violated])} with input as fixtures.release
			with platform.evidence as {"results": [fixtures.row("SARIF", "scan", "sha256:1")]}
			with platform.discover as attested({"hasPolicyViolations": violated})
	}
	fixtures.messages(evidence_policies.result) == {"the attestation of the evidence `scan` (SARIF) has policy violations: unknown"} with input as fixtures.release
		with platform.evidence as {"results": [fixtures.row("SARIF", "scan", "sha256:1")]}
		with platform.discover as attested({})
}

test_no_attestation if {
	fixtures.messages(evidence_policies.result) == {"the evidence `scan` (SARIF) has no attestation"} with input as fixtures.release
		with platform.evidence as {"results": [fixtures.row("SARIF", "scan", "sha256:1")]}
		with platform.discover as {"references": [{"digest": "sha256:2", "kind": "CONTAINER_IMAGE", "metadata": {}}]}
}

test_passes if {
	evidence_policies.result == {"skipped": false, "violations": set()} with input as fixtures.release
		with platform.evidence as {"results": [fixtures.row("SARIF", "scan", "sha256:1")]}
		with platform.discover as attested({"hasPolicyViolations": "false"})
}

test_skips_other_documents if {
	every document in fixtures.not_compliance {
		evidence_policies.result.skipped with input as document
		evidence_policies.result.violations == set() with input as document
	}
}
