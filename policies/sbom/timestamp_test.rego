package sbom.timestamp_test

import data.lib.fixtures_test as fixtures
import data.sbom.timestamp

test_passes if {
	every document in [fixtures.syft, fixtures.syft_spdx, fixtures.spdx3] {
		timestamp.result == {"skipped": false, "violations": set()} with input as document
	}
}

test_fails if {
	fixtures.messages(timestamp.result) == {"the document has no valid time of creation: found ``"} with input as fixtures.without(fixtures.syft, "metadata/timestamp")
}

test_fails_with_spdx if {
	fixtures.messages(timestamp.result) == {"the document has no valid time of creation: found `2026-13-01T00:00:00Z`"} with input as fixtures.with_value(fixtures.syft_spdx, "creationInfo/created", "2026-13-01T00:00:00Z")
}

test_fails_with_spdx_3 if {
	fixtures.messages(timestamp.result) == {"the document has no valid time of creation: found ``"} with input as fixtures.with_value(fixtures.spdx3, "@graph/0/created", 5)
}

test_skips_other_documents if {
	every document in fixtures.not_sboms {
		timestamp.result.skipped with input as document
		timestamp.result.violations == set() with input as document
	}
}

test_unreadable_sbom_next_to_a_readable_one if {
	fixtures.unreadable in timestamp.result.violations with input as fixtures.image([fixtures.syft, {"bomFormat": "CycloneDX"}])
}
