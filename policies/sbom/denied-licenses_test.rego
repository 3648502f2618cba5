package sbom.denied_licenses_test

import data.lib.fixtures_test as fixtures
import data.sbom.denied_licenses

test_passes if {
	every document in [fixtures.syft, fixtures.syft_spdx, fixtures.spdx3] {
		denied_licenses.result == {"skipped": false, "violations": set()} with input as document with data.parameters as {"denied_licenses": ["GPL-2.0-only"]}
	}
}

test_fails if {
	fixtures.messages(denied_licenses.result) == {"`requests@2.32.3` in the document has the denied license `AGPL-3.0-only`"} with input as fixtures.with_value(fixtures.syft, "components/0/licenses/0/license/id", "AGPL-3.0-only") with data.parameters as {"denied_licenses": ["AGPL-*", "GPL-2.0"]}
}

test_fails_with_spdx if {
	fixtures.messages(denied_licenses.result) == {"`requests@2.32.3` in the document has the denied license `Apache-2.0`"} with input as fixtures.syft_spdx with data.parameters as {"denied_licenses": ["apache-2.0"]}
}

test_nothing_is_denied_by_default if {
	denied_licenses.result.violations == set() with input as fixtures.syft
}

test_skips_other_documents if {
	every document in fixtures.not_sboms {
		denied_licenses.result.skipped with input as document with data.parameters as {"denied_licenses": ["GPL-2.0-only"]}
		denied_licenses.result.violations == set() with input as document with data.parameters as {"denied_licenses": ["GPL-2.0-only"]}
	}
}

test_unreadable_sbom_next_to_a_readable_one if {
	fixtures.unreadable in denied_licenses.result.violations with input as fixtures.image([fixtures.syft, {"bomFormat": "CycloneDX"}]) with data.parameters as {"denied_licenses": ["GPL-2.0-only"]}
}
