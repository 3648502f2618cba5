package compliance.skipped_tests_test

import data.compliance.skipped_tests
import data.lib.fixtures_test as fixtures

test_fails if {
	fixtures.messages(skipped_tests.result) == {"the document has skipped tests: 1, expected at most 0"} with input as fixtures.junit
	fixtures.messages(skipped_tests.result) == {"`unit` has skipped tests: 1, expected at most 0"} with input as fixtures.release
		with platform.evidence as {"results": [fixtures.row("JUNIT_XML", "unit", "sha256:1")]}
		with platform.download_artifact as fixtures.junit_text
}

test_passes if {
	skipped_tests.result == {"skipped": false, "violations": set()} with input as fixtures.junit with data.parameters as {"max_skipped_tests": 1}
	skipped_tests.result.violations == set() with input as fixtures.without(fixtures.junit, "testsuites/testsuite/0/testcase/1/skipped")
}

test_skips_other_documents if {
	every document in fixtures.not_compliance {
		skipped_tests.result.skipped with input as document
		skipped_tests.result.violations == set() with input as document
	}
}
