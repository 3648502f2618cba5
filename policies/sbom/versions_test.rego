package sbom.versions_test

import data.lib.fixtures_test as fixtures
import data.sbom.versions

test_passes if {
	every document in [fixtures.syft, fixtures.syft_spdx, fixtures.spdx3] {
		versions.result == {"skipped": false, "violations": set()} with input as document
	}
}

test_fails if {
	fixtures.messages(versions.result) == {"1 of 2 packages in the document have no version: `requests`"} with input as fixtures.without(fixtures.syft, "components/0/version")
}

test_fails_with_spdx if {
	fixtures.messages(versions.result) == {"1 of 1 packages in the document have no version: `requests`"} with input as fixtures.with_value(fixtures.syft_spdx, "packages/0/versionInfo", "NOASSERTION")
}

test_fails_with_spdx_3 if {
	fixtures.messages(versions.result) == {"1 of 1 packages in the document have no version: `requests`"} with input as fixtures.without(fixtures.spdx3, "@graph/6/software_packageVersion")
}

test_other_kinds if {
	fixtures.messages(versions.result) == set() with input as fixtures.without(fixtures.syft, "components/2/version")
}

test_skips_other_documents if {
	every document in fixtures.not_sboms {
		versions.result.skipped with input as document
		versions.result.violations == set() with input as document
	}
}

test_unreadable_sbom_next_to_a_readable_one if {
	fixtures.unreadable in versions.result.violations with input as fixtures.image([fixtures.syft, {"bomFormat": "CycloneDX"}])
}
