package sbom.fresh_test

import data.lib.fixtures_test as fixtures
import data.sbom.fresh

test_passes if {
	every document in [fixtures.syft, fixtures.syft_spdx, fixtures.spdx3] {
		fresh.result == {"skipped": false, "violations": set()} with input as document
	}
}

test_fails if {
	every days in [91, -2] {
		created := fixtures.days_ago(days)
		document := fixtures.with_value(fixtures.syft, "metadata/timestamp", created)
		fixtures.messages(fresh.result) == {sprintf("the document is from %s: expected at most 90 days ago", [created])} with input as document
	}
}

test_limits if {
	document := fixtures.with_value(fixtures.syft, "metadata/timestamp", fixtures.days_ago(8))
	fresh.result.violations == set() with input as document with data.parameters as {"max_sbom_age_days": 9}
	count(fresh.result.violations) == 1 with input as document with data.parameters as {"max_sbom_age_days": 7}
	fresh.result.violations == set() with input as fixtures.with_value(fixtures.syft, "metadata/timestamp", fixtures.days_ago(89))
}

# The rule `timestamp` reports such a time.
test_no_time if {
	fresh.result.violations == set() with input as fixtures.without(fixtures.syft, "metadata/timestamp")
}

test_skips_other_documents if {
	every document in fixtures.not_sboms {
		fresh.result.skipped with input as document
		fresh.result.violations == set() with input as document
	}
}

test_unreadable_sbom_next_to_a_readable_one if {
	fixtures.unreadable in fresh.result.violations with input as fixtures.image([fixtures.syft, {"bomFormat": "CycloneDX"}])
}
