package sbom.complete_test

import data.lib.fixtures_test as fixtures
import data.sbom.complete

test_passes if {
	every document in [fixtures.syft, fixtures.syft_spdx, fixtures.spdx3] {
		complete.result == {"skipped": false, "violations": set()} with input as document
	}
}

test_fails if {
	fixtures.messages(complete.result) == {"1 of 3 components in the document aren't in the dependencies: `libssl3@3.0.15`"} with input as fixtures.with_value(fixtures.syft, "dependencies/0/dependsOn", ["os"])
}

test_no_dependencies if {
	fixtures.messages(complete.result) == {"3 of 3 components in the document aren't in the dependencies: `debian@12`, `libssl3@3.0.15`, `requests@2.32.3`"} with input as fixtures.without(fixtures.syft, "dependencies")
}

test_fails_with_spdx if {
	fixtures.messages(complete.result) == {"1 of 1 components in the document aren't in the dependencies: `requests@2.32.3`"} with input as fixtures.without(fixtures.syft_spdx, "relationships/0")
}

test_fails_with_spdx_3 if {
	fixtures.messages(complete.result) == {"1 of 1 components in the document aren't in the dependencies: `requests@2.32.3`"} with input as fixtures.without(fixtures.spdx3, "@graph/9")
}

test_components_within_components if {
	outer := {"bom-ref": "a", "name": "a", "version": "1", "components": [{"bom-ref": "b", "name": "b", "version": "2", "components": [{"bom-ref": "c", "name": "c", "pedigree": {"ancestors": [{"name": "d"}]}}]}]}
	fixtures.messages(complete.result) == {"3 of 6 components in the document aren't in the dependencies: `a@1`, `b@2`, `c`"} with input as fixtures.with_value(fixtures.syft, "components/0", outer)
}

test_skips_other_documents if {
	every document in fixtures.not_sboms {
		complete.result.skipped with input as document
		complete.result.violations == set() with input as document
	}
}

test_unreadable_sbom_next_to_a_readable_one if {
	fixtures.unreadable in complete.result.violations with input as fixtures.image([fixtures.syft, {"bomFormat": "CycloneDX"}])
}
