package vulnerabilities.unfixed_test

import data.lib.fixtures_test as fixtures
import data.vulnerabilities.unfixed

unfixed_report(severity) := fixtures.with_value(fixtures.with_value(fixtures.trivy, "Results/0/Vulnerabilities/0/FixedVersion", ""), "Results/0/Vulnerabilities/0/Severity", severity)

test_fails if {
	fixtures.messages(unfixed.result) == {"CVE-2021-44228 (critical) in `org.apache.logging.log4j:log4j-core@2.14.1` has no fix yet"} with input as unfixed_report("CRITICAL")
}

test_passes if {
	unfixed.result.violations == set() with input as fixtures.trivy
	unfixed.result.violations == set() with input as unfixed_report("HIGH")
	unfixed.result.violations == set() with input as unfixed_report("CRITICAL") with data.parameters as {"vulnerability_exceptions": ["CVE-2021-44228"]}
	count(unfixed.result.violations) == 1 with input as unfixed_report("HIGH") with data.parameters as {"unfixed_severity": "high"}
}

test_skips_other_documents if {
	every document in fixtures.not_reports {
		unfixed.result.skipped with input as document
		unfixed.result.violations == set() with input as document
	}
}

test_unreadable_report_next_to_a_readable_one if {
	fixtures.unreadable_report in unfixed.result.violations with input as fixtures.with_unreadable_report
}
