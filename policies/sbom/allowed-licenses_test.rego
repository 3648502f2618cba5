package sbom.allowed_licenses_test

import data.lib.fixtures_test as fixtures
import data.sbom.allowed_licenses

test_passes if {
	every document in [fixtures.syft, fixtures.syft_spdx, fixtures.spdx3] {
		allowed_licenses.result == {"skipped": false, "violations": set()} with input as document with data.parameters as {"allowed_licenses": ["apache-2.0", "MIT"]}
	}
}

test_fails if {
	fixtures.messages(allowed_licenses.result) == {"`libssl3@3.0.15` in the document has the license `Apache-2.0 AND (MIT OR GPL-2.0-only)`, which isn't allowed"} with input as fixtures.syft with data.parameters as {"allowed_licenses": ["Apache-2.0"]}
}

test_every_license_counts if {
	fixtures.messages(allowed_licenses.result) == {
		"`requests@2.32.3` in the document has the license `Shareware`, which isn't allowed",
		"`requests@2.32.3` in the document has the license `(unreadable)`, which isn't allowed",
	} with input as fixtures.with_value(fixtures.syft, "components/0/licenses", [{"license": {"name": "Shareware"}}, {"license": {"id": "MIT"}}, {"url": "x"}]) with data.parameters as {"allowed_licenses": ["apache-2.0", "MIT"]}
}

test_fails_with_spdx if {
	fixtures.messages(allowed_licenses.result) == {"`requests@2.32.3` in the document has the license `Apache-2.0`, which isn't allowed"} with input as fixtures.syft_spdx with data.parameters as {"allowed_licenses": ["MIT"]}
}

test_fails_with_spdx_3 if {
	fixtures.messages(allowed_licenses.result) == {"`requests@2.32.3` in the document has the license `Apache-2.0`, which isn't allowed"} with input as fixtures.spdx3 with data.parameters as {"allowed_licenses": ["MIT"]}
}

test_no_list_allows_everything if {
	allowed_licenses.result.violations == set() with input as fixtures.syft
}

test_skips_other_documents if {
	every document in fixtures.not_sboms {
		allowed_licenses.result.skipped with input as document with data.parameters as {"allowed_licenses": ["apache-2.0", "MIT"]}
		allowed_licenses.result.violations == set() with input as document with data.parameters as {"allowed_licenses": ["apache-2.0", "MIT"]}
	}
}

test_unreadable_sbom_next_to_a_readable_one if {
	fixtures.unreadable in allowed_licenses.result.violations with input as fixtures.image([fixtures.syft, {"bomFormat": "CycloneDX"}]) with data.parameters as {"allowed_licenses": ["apache-2.0", "MIT"]}
}
