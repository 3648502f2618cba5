package sbom.unknown_licenses_test

import data.lib.fixtures_test as fixtures
import data.sbom.unknown_licenses

test_passes if {
	every document in [fixtures.syft, fixtures.syft_spdx, fixtures.spdx3] {
		unknown_licenses.result == {"skipped": false, "violations": set()} with input as document
	}
}

test_fails if {
	fixtures.messages(unknown_licenses.result) == {"1 of 2 packages in the document have no license: `requests@2.32.3`"} with input as fixtures.without(fixtures.syft, "components/0/licenses")
}

test_fails_with_spdx if {
	fixtures.messages(unknown_licenses.result) == {"1 of 1 packages in the document have no license: `requests@2.32.3`"} with input as fixtures.with_value(fixtures.syft_spdx, "packages/0/licenseDeclared", "NONE")
}

test_fails_with_spdx_3 if {
	fixtures.messages(unknown_licenses.result) == {"1 of 1 packages in the document have no license: `requests@2.32.3`"} with input as fixtures.with_value(fixtures.spdx3, "@graph/8/to", ["https://spdx.org/rdf/3.0.1/terms/ExpandedLicensing/NoAssertion"])
}

test_conclusion_or_declaration if {
	unstated := fixtures.with_value(fixtures.syft_spdx, "packages/0/licenseDeclared", "NOASSERTION")
	unknown_licenses.result.violations == set() with input as fixtures.with_value(unstated, "packages/0/licenseConcluded", "MIT")
	unknown_licenses.result.violations == set() with input as fixtures.with_value(fixtures.spdx3, "@graph/8/relationshipType", "hasConcludedLicense")
	unknown_licenses.result.violations == set() with input as fixtures.with_value(fixtures.spdx3, "@graph/8/to", ["https://spdx.org/licenses/MIT"])
}

test_skips_other_documents if {
	every document in fixtures.not_sboms {
		unknown_licenses.result.skipped with input as document
		unknown_licenses.result.violations == set() with input as document
	}
}

test_unreadable_sbom_next_to_a_readable_one if {
	fixtures.unreadable in unknown_licenses.result.violations with input as fixtures.image([fixtures.syft, {"bomFormat": "CycloneDX"}])
}
