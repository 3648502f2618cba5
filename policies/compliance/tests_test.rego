package compliance.tests_test

import data.compliance.tests
import data.lib.fixtures_test as fixtures

released(text) := found if {
	found := fixtures.messages(tests.result) with input as fixtures.release
		with platform.evidence as {"results": [fixtures.row("JUNIT_XML", "unit", "sha256:1")]}
		with platform.download_artifact as text
}

test_passes if {
	tests.result == {"skipped": false, "violations": set()} with input as fixtures.junit
	released(fixtures.junit_text) == set()
	tests.result.violations == set() with input as {"testsuite": {"testcase": [{"-name": "a"}]}}
}

test_fails if {
	every outcome in ["failure", "error"] {
		fixtures.messages(tests.result) == {"the document has failed tests: 1"} with input as fixtures.with_value(fixtures.junit, concat("/", ["testsuites/testsuite/1/testcase", outcome]), {"-message": "x"})
	}
	every text in ["<testcase><failure/></testcase>", "<testcase><error message='x'/></testcase>", "<a:testcase><a:failure>x</a:failure></a:testcase>"] {
		released(text) == {"`unit` has failed tests: 1"}
	}
}

test_no_tests if {
	every text in ["", "{}", "<testsuite tests='0'/>", "<testcases/>"] {
		released(text) == {"`unit` has no tests"}
	}
	fixtures.messages(tests.result) == {"the document has no tests"} with input as {"testsuites": ""}
}

test_skips_other_documents if {
	every document in fixtures.not_compliance {
		tests.result.skipped with input as document
		tests.result.violations == set() with input as document
	}
}
