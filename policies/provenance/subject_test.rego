package provenance.subject_test

import data.lib.fixtures_test as fixtures
import data.provenance.subject

test_passes if {
	every document in fixtures.provenances {
		subject.result == {"skipped": false, "violations": set()} with input as document
	}
}

test_fails if {
	every digest in [{"sha1": "c27d"}, {"md5": "1"}] {
		fixtures.messages(subject.result) == {"the subject `registry.example/shop` of the document has no SHA-256, SHA-384 or SHA-512"} with input as fixtures.with_value(fixtures.github_provenance, "subject/0/digest", digest)
	}
}

test_digests if {
	every algorithm in ["sha256", "sha384", "sha512"] {
		subject.result.violations == set() with input as fixtures.with_value(fixtures.github_provenance, "subject/0/digest", {algorithm: "1", "sha1": "2"})
	}
	subject.result.violations == set() with input as fixtures.with_value(fixtures.vendor_attestation, "subject/1", {"name": "git.head", "digest": {"sha1": "c27d"}})
}

test_skips_other_documents if {
	every document in fixtures.not_provenance {
		subject.result.skipped with input as document
		subject.result.violations == set() with input as document
	}
}

test_unreadable_statement_next_to_a_readable_one if {
	fixtures.unreadable_provenance in subject.result.violations with input as fixtures.with_unreadable_provenance
}
