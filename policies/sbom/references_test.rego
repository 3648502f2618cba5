package sbom.references_test

import data.lib.fixtures_test as fixtures
import data.sbom.references

test_passes if {
	every document in [fixtures.syft, fixtures.syft_spdx, fixtures.spdx3] {
		references.result == {"skipped": false, "violations": set()} with input as document
	}
}

test_fails if {
	fixtures.messages(references.result) == {"the document has dependencies on unknown components: `gone`"} with input as fixtures.with_value(fixtures.syft, "dependencies/1/dependsOn", ["gone"])
}

test_unknown_ref if {
	fixtures.messages(references.result) == {"the document has dependencies on unknown components: `gone`"} with input as fixtures.with_value(fixtures.syft, "dependencies/1/ref", "gone")
}

test_fails_with_spdx if {
	fixtures.messages(references.result) == {"the document has dependencies on unknown components: `SPDXRef-gone`"} with input as fixtures.with_value(fixtures.syft_spdx, "relationships/0/relatedSpdxElement", "SPDXRef-gone")
}

test_fails_with_spdx_3 if {
	fixtures.messages(references.result) == {"the document has dependencies on unknown components: `https://shop.example/gone`"} with input as fixtures.with_value(fixtures.spdx3, "@graph/9/to", ["https://shop.example/gone"])
}

test_elements_elsewhere if {
	every id in ["DocumentRef-base:SPDXRef-package", "NOASSERTION", "NONE"] {
		references.result.violations == set() with input as fixtures.with_value(fixtures.syft_spdx, "relationships/0/relatedSpdxElement", id)
	}
	file := {"SPDXID": "SPDXRef-file", "fileName": "a"}
	document := fixtures.with_value(fixtures.syft_spdx, "files", [file])
	references.result.violations == set() with input as fixtures.with_value(document, "relationships/0/relatedSpdxElement", "SPDXRef-file")
	service := {"bom-ref": "service", "name": "queue"}
	with_service := fixtures.with_value(fixtures.syft, "services", [service])
	references.result.violations == set() with input as fixtures.with_value(with_service, "dependencies/1/dependsOn", ["service"])
	every id in ["https://spdx.org/rdf/3.0.1/terms/Core/NoneElement", "https://spdx.org/rdf/3.0.1/terms/Core/NoAssertionElement"] {
		references.result.violations == set() with input as fixtures.with_value(fixtures.spdx3, "@graph/9/to", [id])
	}
	imported := fixtures.with_value(fixtures.spdx3, "@graph/3/import", [{"externalSpdxId": "https://base.example/a"}])
	references.result.violations == set() with input as fixtures.with_value(imported, "@graph/9/to", ["https://base.example/a"])
}

test_skips_other_documents if {
	every document in fixtures.not_sboms {
		references.result.skipped with input as document
		references.result.violations == set() with input as document
	}
}

test_unreadable_sbom_next_to_a_readable_one if {
	fixtures.unreadable in references.result.violations with input as fixtures.image([fixtures.syft, {"bomFormat": "CycloneDX"}])
}
