package provenance.fresh_test

import data.lib.fixtures_test as fixtures
import data.provenance.fresh

test_passes if {
	every document in fixtures.provenances {
		fresh.result == {"skipped": false, "violations": set()} with input as document
	}
}

test_fails if {
	every days in [91, -2] {
		finished := fixtures.days_ago(days)
		fixtures.messages(fresh.result) == {sprintf("the build in the document finished at %s: expected at most 90 days ago", [finished])} with input as fixtures.with_value(fixtures.github_provenance, "predicate/runDetails/metadata/finishedOn", finished)
	}
	count(fresh.result.violations) == 1 with input as fixtures.with_value(fixtures.github_provenance, "predicate/runDetails/metadata/finishedOn", "yesterday")
	count(fresh.result.violations) == 1 with input as fixtures.github_provenance with data.parameters as {"max_build_age_days": 0.5}
}

# GitHub's provenance has no time.
test_no_time if {
	fresh.result.violations == set() with input as fixtures.without(fixtures.github_provenance, "predicate/runDetails/metadata/finishedOn")
}

test_skips_other_documents if {
	every document in fixtures.not_provenance {
		fresh.result.skipped with input as document
		fresh.result.violations == set() with input as document
	}
}

test_unreadable_statement_next_to_a_readable_one if {
	fixtures.unreadable_provenance in fresh.result.violations with input as fixtures.with_unreadable_provenance
}
