package provenance.trigger_test

import data.lib.fixtures_test as fixtures
import data.provenance.trigger

test_passes if {
	every document in fixtures.provenances {
		trigger.result == {"skipped": false, "violations": set()} with input as document
	}
}

test_fails if {
	every event in ["pull_request", "pull_request_target", "merge_request_event"] {
		fixtures.messages(trigger.result) == {sprintf("the document is of a build that the event `%s` triggered", [event])} with input as fixtures.with_value(fixtures.github_provenance, "predicate/buildDefinition/internalParameters/github/event_name", event)
	}
	count(trigger.result.violations) == 1 with input as fixtures.with_value(fixtures.generator_provenance, "predicate/invocation/environment/github_event_name", "pull_request")
	count(trigger.result.violations) == 1 with input as fixtures.github_provenance with data.parameters as {"denied_triggers": ["push"]}
}

test_skips_other_documents if {
	every document in fixtures.not_provenance {
		trigger.result.skipped with input as document
		trigger.result.violations == set() with input as document
	}
}

test_unreadable_statement_next_to_a_readable_one if {
	fixtures.unreadable_provenance in trigger.result.violations with input as fixtures.with_unreadable_provenance
}
