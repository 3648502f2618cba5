package vulnerabilities.scan_age_test

import data.lib.fixtures_test as fixtures
import data.vulnerabilities.scan_age

test_fails if {
	every days in [8, -2] {
		scanned := fixtures.days_ago(days)
		report := fixtures.with_value(fixtures.trivy, "CreatedAt", scanned)
		fixtures.messages(scan_age.result) == {sprintf("the scan in the document is from %s: expected at most 7 days ago", [scanned])} with input as report
	}
}

test_no_time if {
	every document in [fixtures.snyk, fixtures.without(fixtures.trivy, "CreatedAt"), fixtures.with_value(fixtures.trivy, "CreatedAt", "yesterday")] {
		fixtures.messages(scan_age.result) == {"the document doesn't say when the scan ran"} with input as document
	}
}

test_passes if {
	every document in [fixtures.trivy, fixtures.grype, fixtures.gitlab, fixtures.trivy_sarif] {
		scan_age.result.violations == set() with input as document
	}
	scan_age.result.violations == set() with input as fixtures.with_value(fixtures.trivy, "CreatedAt", fixtures.days_ago(6))
	count(scan_age.result.violations) == 1 with input as fixtures.trivy with data.parameters as {"max_scan_age_days": 0.5}
}

test_time_of_the_service if {
	every received, violations in {fixtures.days_ago(1): 0, fixtures.days_ago(9): 1} {
		count(scan_age.result.violations) == violations with input as fixtures.release
			with platform.evidence as {"results": [fixtures.row("SARIF", "scan", "sha256:1")]}
			with platform.download_artifact as json.marshal(fixtures.grype_sarif)
			with platform.discover as {"createdAt": received}
	}
}

test_skips_other_documents if {
	every document in fixtures.not_reports {
		scan_age.result.skipped with input as document
		scan_age.result.violations == set() with input as document
	}
}

test_unreadable_report_next_to_a_readable_one if {
	fixtures.unreadable_report in scan_age.result.violations with input as fixtures.with_unreadable_report
}
