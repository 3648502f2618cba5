package provenance.source_test

import data.lib.fixtures_test as fixtures
import data.provenance.source

test_passes if {
	every document in fixtures.provenances {
		source.result == {"skipped": false, "violations": set()} with input as document
	}
}

test_nameless if {
	fixtures.messages(source.result) == {"the document names no repository"} with input as fixtures.with_value(fixtures.vendor_attestation, "predicate/env", {})
		with data.parameters as {"source_repositories": ["https://github.com/acme/*"]}
}

test_fails if {
	fixtures.messages(source.result) == {"the document is from the repository `https://github.com/acme/shop`, which isn't trusted"} with input as fixtures.github_provenance
		with data.parameters as {"source_repositories": ["https://github.com/acme/sho"]}
}

test_trusted if {
	source.result.violations == set() with input as fixtures.github_provenance with data.parameters as {"source_repositories": ["https://github.com/acme/*"]}
}

test_skips_other_documents if {
	every document in fixtures.not_provenance {
		source.result.skipped with input as document
		source.result.violations == set() with input as document
	}
}

test_unreadable_statement_next_to_a_readable_one if {
	fixtures.unreadable_provenance in source.result.violations with input as fixtures.with_unreadable_provenance
}
