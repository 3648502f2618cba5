package sbom.suppliers_test

import data.lib.fixtures_test as fixtures
import data.sbom.suppliers

test_passes if {
	every document in [fixtures.syft, fixtures.syft_spdx, fixtures.spdx3] {
		suppliers.result == {"skipped": false, "violations": set()} with input as document
	}
}

test_fails if {
	fixtures.messages(suppliers.result) == {"1 of 2 packages in the document have no supplier: `requests@2.32.3`"} with input as fixtures.without(fixtures.syft, "components/0/author")
}

test_fails_with_spdx if {
	fixtures.messages(suppliers.result) == {"1 of 1 packages in the document have no supplier: `requests@2.32.3`"} with input as fixtures.with_value(fixtures.syft_spdx, "packages/0/supplier", "NOASSERTION")
}

test_fails_with_spdx_3 if {
	fixtures.messages(suppliers.result) == {"1 of 1 packages in the document have no supplier: `requests@2.32.3`"} with input as fixtures.without(fixtures.spdx3, "@graph/6/suppliedBy")
}

test_each_supplier_counts if {
	anonymous := fixtures.without(fixtures.syft, "components/0/author")
	every member, found in {"supplier": {"name": "PSF"}, "manufacturer": {"name": "PSF"}, "publisher": "PSF"} {
		suppliers.result.violations == set() with input as fixtures.with_value(anonymous, concat("/", ["components/0", member]), found)
	}
	unsupplied := fixtures.with_value(fixtures.syft_spdx, "packages/0/supplier", "NOASSERTION")
	suppliers.result.violations == set() with input as fixtures.with_value(unsupplied, "packages/0/originator", "Organization: PSF")
	original := fixtures.with_value(fixtures.without(fixtures.spdx3, "@graph/6/suppliedBy"), "@graph/6/originatedBy", ["https://shop.example/acme"])
	suppliers.result.violations == set() with input as original
}

test_skips_other_documents if {
	every document in fixtures.not_sboms {
		suppliers.result.skipped with input as document
		suppliers.result.violations == set() with input as document
	}
}

test_unreadable_sbom_next_to_a_readable_one if {
	fixtures.unreadable in suppliers.result.violations with input as fixtures.image([fixtures.syft, {"bomFormat": "CycloneDX"}])
}
