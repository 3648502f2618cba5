package vulnerabilities.database_age_test

import data.lib.fixtures_test as fixtures
import data.vulnerabilities.database_age

test_fails if {
	built := fixtures.days_ago(6)
	report := fixtures.with_value(fixtures.grype, "descriptor/db/status/built", built)
	fixtures.messages(database_age.result) == {sprintf("the database of the scan in the document is from %s: expected at most 5 days ago", [built])} with input as report
	count(database_age.result.violations) == 1 with input as fixtures.with_value(fixtures.grype, "descriptor/db/status/built", "yesterday")
}

test_passes if {
	database_age.result.violations == set() with input as fixtures.grype
	database_age.result.violations == set() with input as fixtures.trivy
	count(database_age.result.violations) == 1 with input as fixtures.grype with data.parameters as {"max_database_age_days": 1}
}

test_skips_other_documents if {
	every document in fixtures.not_reports {
		database_age.result.skipped with input as document
		database_age.result.violations == set() with input as document
	}
}

test_unreadable_report_next_to_a_readable_one if {
	fixtures.unreadable_report in database_age.result.violations with input as fixtures.with_unreadable_report
}
