package provenance.readable_test

import data.lib.fixtures_test as fixtures
import data.provenance.readable

test_fails if {
	readable.result.violations == {fixtures.unreadable_provenance} with input as fixtures.with_unreadable_provenance
	fixtures.messages(readable.result) == {"the attestation `https://slsa.dev/provenance/v1` isn't readable provenance: predicate: Invalid type. Expected: object, given: null"} with input as fixtures.attested("https://slsa.dev/provenance/v1", null)
}

test_evidence_that_is_no_statement if {
	every text in ["{}", "text", `{"payload": "!"}`] {
		count(readable.result.violations) == 1 with input as fixtures.release
			with platform.evidence as {"results": [fixtures.row("SLSA_PROVENANCE", "provenance", "sha256:1")]}
			with platform.download_artifact as text
	}
}

test_passes if {
	every document in array.concat(fixtures.provenances, [fixtures.verification_summary]) {
		readable.result.violations == set() with input as document
		readable.result.skipped == false with input as document
	}
}

test_skips_other_documents if {
	every document in fixtures.not_provenance {
		readable.result.skipped with input as document
	}
}
