package vulnerabilities.exceptions_test

import data.lib.fixtures_test as fixtures
import data.vulnerabilities.exceptions

test_fails if {
	fixtures.messages(exceptions.result) == {"the exception `CVE-2020-1` matches no vulnerability"} with input as fixtures.trivy
		with data.parameters as {"vulnerability_exceptions": ["CVE-2021-44228", "CVE-2020-1"]}
}

test_passes if {
	exceptions.result.violations == set() with input as fixtures.trivy
	exceptions.result.violations == set() with input as fixtures.trivy with data.parameters as {"vulnerability_exceptions": ["GHSA-jfh8-c2jp-5v3q"]}
}

test_skips_other_documents if {
	every document in fixtures.not_reports {
		exceptions.result.skipped with input as document
		exceptions.result.violations == set() with input as document
	}
}

test_unreadable_report_next_to_a_readable_one if {
	fixtures.unreadable_report in exceptions.result.violations with input as fixtures.with_unreadable_report
}
