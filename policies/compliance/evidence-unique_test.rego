package compliance.evidence_unique_test

import data.compliance.evidence_unique
import data.lib.fixtures_test as fixtures

test_fails if {
	fixtures.messages(evidence_unique.result) == {"2 pieces of evidence of the kind `SARIF` have the name `scan`"} with input as fixtures.release
		with platform.evidence as {"results": [fixtures.row("SARIF", "scan", "sha256:1"), fixtures.row("SARIF", "scan", "sha256:2")]}
}

test_passes if {
	evidence_unique.result == {"skipped": false, "violations": set()} with input as fixtures.release
		with platform.evidence as {"results": [
			fixtures.row("SARIF", "scan", "sha256:1"),
			fixtures.row("SARIF", "scan", "sha256:1"),
			fixtures.row("SARIF", "other", "sha256:2"),
			fixtures.row("OPENVEX", "scan", "sha256:3"),
		]}
}

test_skips_other_documents if {
	every document in fixtures.not_compliance {
		evidence_unique.result.skipped with input as document
		evidence_unique.result.violations == set() with input as document
	}
}
