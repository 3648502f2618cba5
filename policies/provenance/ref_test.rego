package provenance.ref_test

import data.lib.fixtures_test as fixtures
import data.provenance.ref

test_passes if {
	every document in fixtures.provenances {
		ref.result == {"skipped": false, "violations": set()} with input as document
	}
}

test_fails if {
	every found in ["refs/heads/feature", "refs/heads/main2", "refs/pull/1/merge", ""] {
		fixtures.messages(ref.result) == {sprintf("the document is from the ref `%s`, which isn't protected", [found])} with input as fixtures.with_value(fixtures.vendor_attestation, "predicate/env/GITHUB_REF", found)
	}
}

test_protected if {
	every found in ["refs/heads/main", "refs/heads/master", "refs/tags/v1"] {
		ref.result.violations == set() with input as fixtures.with_value(fixtures.vendor_attestation, "predicate/env/GITHUB_REF", found)
	}
	count(ref.result.violations) == 1 with input as fixtures.vendor_attestation with data.parameters as {"protected_refs": ["refs/tags/*"]}
}

test_skips_other_documents if {
	every document in fixtures.not_provenance {
		ref.result.skipped with input as document
		ref.result.violations == set() with input as document
	}
}

test_unreadable_statement_next_to_a_readable_one if {
	fixtures.unreadable_provenance in ref.result.violations with input as fixtures.with_unreadable_provenance
}
