package provenance.present_test

import data.lib.fixtures_test as fixtures
import data.provenance.present

test_fails if {
	every document in [fixtures.image([fixtures.syft]), fixtures.files({"a.json": {}}), fixtures.attested("https://example.com/scan/v1", {})] {
		fixtures.messages(present.result) == {"no provenance is present"} with input as document
		not present.result.skipped with input as document
	}
}

test_release if {
	fixtures.messages(present.result) == {"no provenance is present"} with input as fixtures.release
		with platform.evidence as {"results": []}
}

test_passes if {
	every document in array.concat(fixtures.provenances, [fixtures.attested("https://slsa.dev/provenance/v1", fixtures.github_provenance.predicate)]) {
		present.result.violations == set() with input as document
		present.result.skipped == false with input as document
	}
}

test_skips_other_documents if {
	every document in fixtures.not_provenance {
		present.result.skipped with input as document
		present.result.violations == set() with input as document
	}
}
