package provenance.summary_test

import data.lib.fixtures_test as fixtures
import data.provenance.summary

test_passes if {
	summary.result == {"skipped": false, "violations": set()} with input as fixtures.verification_summary
	summary.result.violations == set() with input as fixtures.with_value(fixtures.verification_summary, "predicate/verifiedLevels", ["SLSA_BUILD_LEVEL_2", "SLSA_SOURCE_LEVEL_1"])
}

test_fails if {
	fixtures.messages(summary.result) == {"the document: the verification failed"} with input as fixtures.with_value(fixtures.verification_summary, "predicate/verificationResult", "FAILED")
	fixtures.messages(summary.result) == {"the document has the build level 1: expected at least 2"} with input as fixtures.with_value(fixtures.verification_summary, "predicate/verifiedLevels", ["SLSA_BUILD_LEVEL_1", "SLSA_SOURCE_LEVEL_3"])
	fixtures.messages(summary.result) == {"the document has the build level 0: expected at least 2"} with input as fixtures.with_value(fixtures.verification_summary, "predicate/verifiedLevels", [])
	count(summary.result.violations) == 1 with input as fixtures.verification_summary with data.parameters as {"min_build_level": 4}
}

test_skips_other_documents if {
	every document in array.concat(fixtures.not_provenance, fixtures.provenances) {
		summary.result.skipped with input as document
		summary.result.violations == set() with input as document
	}
}

test_unreadable_statement_next_to_a_readable_one if {
	document := fixtures.files({"a.json": fixtures.verification_summary, "b.json": fixtures.without(fixtures.github_provenance, "predicate")})
	fixtures.unreadable_provenance in summary.result.violations with input as document
}
