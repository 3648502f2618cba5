package vulnerabilities.unknown_severity_test

import data.lib.fixtures_test as fixtures
import data.vulnerabilities.unknown_severity

unrated := fixtures.with_value(fixtures.trivy, "Results/0/Vulnerabilities/0/Severity", "UNKNOWN")

test_fails if {
	unknown_severity.result.violations == {{
		"message": "CVE-2021-44228 (unknown) in `org.apache.logging.log4j:log4j-core@2.14.1` has no severity",
		"id": "CVE-2021-44228",
		"package": "org.apache.logging.log4j:log4j-core",
		"package_purl": "pkg:maven/org.apache.logging.log4j/log4j-core@2.14.1",
		"severity": "medium",
		"fixed": {"2.15.0", "2.3.1", "2.12.2"},
	}} with input as unrated
}

test_passes if {
	unknown_severity.result.violations == set() with input as fixtures.trivy
	unknown_severity.result.violations == set() with input as unrated with data.parameters as {"vulnerability_exceptions": ["CVE-2021-44228"]}
	unknown_severity.result.violations == set() with input as fixtures.files({"a.json": unrated, "b.json": fixtures.osv})
}

test_skips_other_documents if {
	every document in fixtures.not_reports {
		unknown_severity.result.skipped with input as document
		unknown_severity.result.violations == set() with input as document
	}
}

test_unreadable_report_next_to_a_readable_one if {
	fixtures.unreadable_report in unknown_severity.result.violations with input as fixtures.with_unreadable_report
}
