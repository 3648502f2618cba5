package vulnerabilities.fixable_test

import data.lib.fixtures_test as fixtures
import data.vulnerabilities.fixable

test_fails_once if {
	every document in [fixtures.trivy, fixtures.files({"a.json": fixtures.trivy, "b.json": fixtures.grype, "c.json": fixtures.osv})] {
		count(fixable.result.violations) == 1 with input as document
	}
	every _, report in fixtures.vulnerability_reports {
		{violation.id | some violation in fixable.result.violations} == {"CVE-2021-44228"} with input as report
	}
}

test_item if {
	fixable.result.violations == {{
		"message": "CVE-2021-44228 (critical) in `org.apache.logging.log4j:log4j-core@2.14.1` is fixed in `2.15.0`",
		"id": "CVE-2021-44228",
		"package": "org.apache.logging.log4j:log4j-core",
		"package_purl": "pkg:maven/org.apache.logging.log4j/log4j-core@2.14.1",
		"severity": "critical",
		"fixed": {"2.15.0"},
	}} with input as fixtures.grype
}

severe(severity, parameters) if {
	count(fixable.result.violations) == 1 with input as fixtures.with_value(fixtures.trivy, "Results/0/Vulnerabilities/0/Severity", severity)
		with data.parameters as parameters
}

test_severities if {
	severe("HIGH", {})
	not severe("MEDIUM", {})
	severe("MEDIUM", {"fixable_severity": "medium"})
	not severe("HIGH", {"fixable_severity": "critical"})
	not severe("UNKNOWN", {})
}

test_no_fix if {
	fixable.result.violations == set() with input as fixtures.with_value(fixtures.trivy, "Results/0/Vulnerabilities/0/FixedVersion", "")
}

test_exception if {
	fixable.result.violations == set() with input as fixtures.trivy with data.parameters as {"vulnerability_exceptions": ["CVE-2021-44228"]}
}

test_skips_other_documents if {
	every document in fixtures.not_reports {
		fixable.result.skipped with input as document
		fixable.result.violations == set() with input as document
	}
}

test_unreadable_report_next_to_a_readable_one if {
	fixtures.unreadable_report in fixable.result.violations with input as fixtures.with_unreadable_report
}
