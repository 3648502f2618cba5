package image_baseline.fresh_test

import data.image_baseline.fresh
import data.lib.fixtures_test as fixtures

test_passes if {
	every document in fixtures.configurations {
		fresh.result == {"skipped": false, "violations": set()} with input as document
	}
}

test_fails if {
	every days in [91, -2] {
		created := fixtures.days_ago(days)
		fixtures.messages(fresh.result) == {sprintf("the document was created at %s: expected at most 90 days ago", [created])} with input as fixtures.with_value(fixtures.image_config, "created", created)
		count(fresh.result.violations) == 1 with input as fixtures.with_value(fixtures.inspected_image, "0/Created", created)
	}
	count(fresh.result.violations) == 1 with input as fixtures.with_value(fixtures.image_config, "created", "1970-01-01T00:00:00Z")
	count(fresh.result.violations) == 1 with input as fixtures.image_config with data.parameters as {"max_image_age_days": 9}
}

test_limit if {
	fresh.result.violations == set() with input as fixtures.with_value(fixtures.image_config, "created", fixtures.days_ago(89))
}

test_skips_other_documents if {
	every document in fixtures.not_configurations {
		fresh.result.skipped with input as document
		fresh.result.violations == set() with input as document
	}
}

test_unreadable_configuration_next_to_a_readable_one if {
	fixtures.unreadable_configuration in fresh.result.violations with input as fixtures.with_unreadable_configuration
}
