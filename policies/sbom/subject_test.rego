package sbom.subject_test

import data.lib.fixtures_test as fixtures
import data.sbom.subject

test_passes if {
	every document in [fixtures.syft, fixtures.syft_spdx, fixtures.spdx3] {
		subject.result == {"skipped": false, "violations": set()} with input as document
	}
}

test_fails if {
	fixtures.messages(subject.result) == {"the document doesn't say what it describes"} with input as fixtures.without(fixtures.syft, "metadata/component")
}

test_fails_with_spdx if {
	fixtures.messages(subject.result) == {"the document doesn't say what it describes"} with input as fixtures.without(fixtures.syft_spdx, "relationships/1")
}

test_fails_with_spdx_3 if {
	fixtures.messages(subject.result) == {"the document doesn't say what it describes"} with input as fixtures.without(fixtures.without(fixtures.spdx3, "@graph/4"), "@graph/3")
}

test_described_in_other_words if {
	described := fixtures.with_value(fixtures.without(fixtures.syft_spdx, "relationships/1"), "documentDescribes", ["SPDXRef-DocumentRoot-Image-shop"])
	subject.result.violations == set() with input as described
	relationship := {"type": "Relationship", "from": "https://shop.example/document", "relationshipType": "describes", "to": ["https://shop.example/shop"]}
	subject.result.violations == set() with input as fixtures.with_value(fixtures.spdx3, "@graph/4", relationship)
}

test_skips_other_documents if {
	every document in fixtures.not_sboms {
		subject.result.skipped with input as document
		subject.result.violations == set() with input as document
	}
}

test_unreadable_sbom_next_to_a_readable_one if {
	fixtures.unreadable in subject.result.violations with input as fixtures.image([fixtures.syft, {"bomFormat": "CycloneDX"}])
}
