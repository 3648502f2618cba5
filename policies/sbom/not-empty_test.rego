package sbom.not_empty_test

import data.lib.fixtures_test as fixtures
import data.sbom.not_empty

test_passes if {
	every document in [fixtures.syft, fixtures.syft_spdx, fixtures.spdx3] {
		not_empty.result == {"skipped": false, "violations": set()} with input as document
	}
}

test_fails if {
	fixtures.messages(not_empty.result) == {"the document lists no components"} with input as fixtures.without(fixtures.syft, "components")
}

test_fails_with_spdx if {
	fixtures.messages(not_empty.result) == {"the document lists no components"} with input as fixtures.with_value(fixtures.syft_spdx, "packages", [])
}

test_skips_other_documents if {
	every document in fixtures.not_sboms {
		not_empty.result.skipped with input as document
		not_empty.result.violations == set() with input as document
	}
}

test_unreadable_sbom_next_to_a_readable_one if {
	fixtures.unreadable in not_empty.result.violations with input as fixtures.image([fixtures.syft, {"bomFormat": "CycloneDX"}])
}
