package provenance.hosted_runner_test

import data.lib.fixtures_test as fixtures
import data.provenance.hosted_runner

test_passes if {
	every document in fixtures.provenances {
		hosted_runner.result == {"skipped": false, "violations": set()} with input as document
	}
}

test_fails if {
	fixtures.messages(hosted_runner.result) == {"the document is of a build on a self-hosted runner"} with input as fixtures.with_value(fixtures.github_provenance, "predicate/buildDefinition/internalParameters/github/runner_environment", "self-hosted")
	count(hosted_runner.result.violations) == 1 with input as fixtures.with_value(fixtures.vendor_attestation, "predicate/runnerEnvironment", "self-hosted")
}

test_skips_other_documents if {
	every document in fixtures.not_provenance {
		hosted_runner.result.skipped with input as document
		hosted_runner.result.violations == set() with input as document
	}
}

test_unreadable_statement_next_to_a_readable_one if {
	fixtures.unreadable_provenance in hosted_runner.result.violations with input as fixtures.with_unreadable_provenance
}
