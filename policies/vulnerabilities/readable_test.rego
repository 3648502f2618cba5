package vulnerabilities.readable_test

import data.lib.fixtures_test as fixtures
import data.vulnerabilities.readable

test_fails if {
	readable.result.violations == {fixtures.unreadable_report} with input as fixtures.with_unreadable_report
	fixtures.messages(readable.result) == {"the document isn't a readable report of vulnerabilities: the scan failed: no token"} with input as {"ok": false, "error": "no token", "path": "."}
}

test_evidence_that_is_no_report if {
	fixtures.messages(readable.result) == {"`scan` isn't a readable report of vulnerabilities: expected the JSON of a scanner, or SARIF"} with input as fixtures.release
		with platform.evidence as {"results": [fixtures.row("GHAS_DEPENDENCY_SCAN", "scan", "sha256:1")]}
		with platform.download_artifact as "{}"
}

test_passes if {
	every _, report in fixtures.vulnerability_reports {
		readable.result.violations == set() with input as report
		readable.result.skipped == false with input as report
	}
}

test_skips_other_documents if {
	every document in fixtures.not_reports {
		readable.result.skipped with input as document
	}
}
