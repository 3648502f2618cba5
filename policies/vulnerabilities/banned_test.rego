package vulnerabilities.banned_test

import data.lib.fixtures_test as fixtures
import data.vulnerabilities.banned

test_fails if {
	every id in ["CVE-2021-44228", "GHSA-jfh8-c2jp-5v3q"] {
		fixtures.messages(banned.result) == {"CVE-2021-44228 (critical) in `org.apache.logging.log4j:log4j-core@2.14.1` is banned"} with input as fixtures.trivy
			with data.parameters as {"banned_vulnerabilities": [id], "vulnerability_exceptions": [id]}
	}
}

test_passes if {
	banned.result.violations == set() with input as fixtures.trivy
	banned.result.violations == set() with input as fixtures.trivy with data.parameters as {"banned_vulnerabilities": ["CVE-2021-4422"]}
}

test_skips_other_documents if {
	every document in fixtures.not_reports {
		banned.result.skipped with input as document
		banned.result.violations == set() with input as document
	}
}

test_unreadable_report_next_to_a_readable_one if {
	fixtures.unreadable_report in banned.result.violations with input as fixtures.with_unreadable_report
}
