package provenance.builder_test

import data.lib.fixtures_test as fixtures
import data.provenance.builder

test_passes if {
	every document in fixtures.provenances {
		builder.result == {"skipped": false, "violations": set()} with input as document
	}
}

test_nameless if {
	fixtures.messages(builder.result) == {"the document names no builder"} with input as fixtures.with_value(fixtures.github_provenance, "predicate/runDetails/builder/id", "")
		with data.parameters as {"trusted_builders": ["https://ci.example/*"]}
}

test_fails if {
	fixtures.messages(builder.result) == {"the document is from the builder `chainloop.dev/cli/1.106.1@sha256:1`, which isn't trusted"} with input as fixtures.vendor_attestation
		with data.parameters as {"trusted_builders": ["https://github.com/acme/*", "https://github.com/slsa-framework/*"]}
}

test_single_builder if {
	count(builder.result.violations) == 1 with input as fixtures.vendor_attestation with data.parameters as {"trusted_builders": ["https://github.com/acme/*"]}
}

test_trusted if {
	every document in [fixtures.github_provenance, fixtures.generator_provenance] {
		builder.result.violations == set() with input as document
			with data.parameters as {"trusted_builders": ["https://github.com/acme/*", "https://github.com/slsa-framework/*"]}
	}
}

test_skips_other_documents if {
	every document in fixtures.not_provenance {
		builder.result.skipped with input as document
		builder.result.violations == set() with input as document
	}
}

test_unreadable_statement_next_to_a_readable_one if {
	fixtures.unreadable_provenance in builder.result.violations with input as fixtures.with_unreadable_provenance
}
