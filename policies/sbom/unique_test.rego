package sbom.unique_test

import data.lib.fixtures_test as fixtures
import data.sbom.unique

test_passes if {
	every document in [fixtures.syft, fixtures.syft_spdx, fixtures.spdx3] {
		unique.result == {"skipped": false, "violations": set()} with input as document
	}
}

test_fails if {
	fixtures.messages(unique.result) == {"several components in the document have the identifier `os`"} with input as fixtures.with_value(fixtures.syft, "components/1/bom-ref", "os")
}

test_components_without_identifiers if {
	fixtures.messages(unique.result) == set() with input as fixtures.without(fixtures.without(fixtures.syft, "components/1/bom-ref"), "components/0/bom-ref")
}

test_skips_other_documents if {
	every document in fixtures.not_sboms {
		unique.result.skipped with input as document
		unique.result.violations == set() with input as document
	}
}

test_unreadable_sbom_next_to_a_readable_one if {
	fixtures.unreadable in unique.result.violations with input as fixtures.image([fixtures.syft, {"bomFormat": "CycloneDX"}])
}
