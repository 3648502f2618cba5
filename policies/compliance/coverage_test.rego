package compliance.coverage_test

import data.compliance.coverage
import data.lib.fixtures_test as fixtures

released(kind, text) := found if {
	found := fixtures.messages(coverage.result) with input as fixtures.release
		with platform.evidence as {"results": [fixtures.row(kind, "coverage", "sha256:1")]}
		with platform.download_artifact as text
		with data.parameters as {"min_coverage": 91}
}

test_fails if {
	every document in [fixtures.cobertura, fixtures.jacoco, fixtures.with_value(fixtures.cobertura, "coverage/-line-rate", 0.9)] {
		fixtures.messages(coverage.result) == {"the document covers 90 % of the lines: expected at least 91 %"} with input as document
			with data.parameters as {"min_coverage": 91}
	}
	released("COBERTURA_XML", fixtures.cobertura_text) == {"`coverage` covers 90 % of the lines: expected at least 91 %"}
	released("JACOCO_XML", fixtures.jacoco_text) == {"`coverage` covers 90 % of the lines: expected at least 91 %"}
	fixtures.messages(coverage.result) == {"the document covers 0 % of the lines: expected at least 70 %"} with input as fixtures.with_value(fixtures.jacoco, "report/counter", [{"-type": "LINE", "-missed": "0", "-covered": "0"}])
}

test_no_rate if {
	every document in [
		fixtures.with_value(fixtures.cobertura, "coverage/-line-rate", "much"),
		fixtures.with_value(fixtures.jacoco, "report/counter", []),
		fixtures.with_value(fixtures.jacoco, "report/counter/1/-covered", "x"),
		fixtures.with_value(fixtures.jacoco, "report/counter/1/-missed", "x"),
	] {
		fixtures.messages(coverage.result) == {"the document doesn't say how many lines are covered"} with input as document
	}
	released("COBERTURA_XML", "") == {"`coverage` doesn't say how many lines are covered"}
	released("JACOCO_XML", "<report/>") == {"`coverage` doesn't say how many lines are covered"}
}

test_passes if {
	every document in [fixtures.cobertura, fixtures.jacoco] {
		coverage.result == {"skipped": false, "violations": set()} with input as document
		coverage.result.violations == set() with input as document with data.parameters as {"min_coverage": 90}
	}
}

test_skips_other_documents if {
	every document in fixtures.not_compliance {
		coverage.result.skipped with input as document
		coverage.result.violations == set() with input as document
	}
}
