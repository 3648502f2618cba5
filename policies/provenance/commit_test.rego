package provenance.commit_test

import data.lib.fixtures_test as fixtures
import data.provenance.commit

test_passes if {
	every document in fixtures.provenances {
		commit.result == {"skipped": false, "violations": set()} with input as document
	}
}

test_fails if {
	fixtures.messages(commit.result) == {"the document names no commit of its source: found ``"} with input as fixtures.with_value(fixtures.github_provenance, "predicate/buildDefinition/resolvedDependencies", [])
	fixtures.messages(commit.result) == {"the document names no commit of its source: found `main`"} with input as fixtures.with_value(fixtures.vendor_attestation, "predicate/env/GITHUB_SHA", "main")
	fixtures.messages(commit.result) == {"the document names no commit of its source: found `c27d339e`"} with input as fixtures.with_value(fixtures.vendor_attestation, "predicate/env/GITHUB_SHA", "c27d339e")
}

test_skips_other_documents if {
	every document in fixtures.not_provenance {
		commit.result.skipped with input as document
		commit.result.violations == set() with input as document
	}
}

test_unreadable_statement_next_to_a_readable_one if {
	fixtures.unreadable_provenance in commit.result.violations with input as fixtures.with_unreadable_provenance
}
