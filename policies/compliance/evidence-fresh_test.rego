package compliance.evidence_fresh_test

import data.compliance.evidence_fresh
import data.lib.fixtures_test as fixtures

received(text) := {"createdAt": text}

test_fails if {
	every text in [fixtures.days_ago(31), fixtures.days_ago(-2), ""] {
		fixtures.messages(evidence_fresh.result) == {sprintf("the evidence `scan` (SARIF) is from %s: expected at most 30 days ago", [text])} with input as fixtures.release
			with platform.evidence as {"results": [fixtures.row("SARIF", "scan", "sha256:1")]}
			with platform.discover as received(text)
	}
}

test_passes if {
	evidence_fresh.result == {"skipped": false, "violations": set()} with input as fixtures.release
		with platform.evidence as {"results": [fixtures.row("SARIF", "scan", "sha256:1")]}
		with platform.discover as received(fixtures.days_ago(29))
	count(evidence_fresh.result.violations) == 1 with input as fixtures.release
		with platform.evidence as {"results": [fixtures.row("SARIF", "scan", "sha256:1")]}
		with platform.discover as received(fixtures.days_ago(29))
		with data.parameters as {"max_evidence_age_days": 28}
}

test_skips_other_documents if {
	every document in fixtures.not_compliance {
		evidence_fresh.result.skipped with input as document
		evidence_fresh.result.violations == set() with input as document
	}
}
