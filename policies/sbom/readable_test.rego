package sbom.readable_test

import data.lib.fixtures_test as fixtures
import data.sbom.readable

unreadable(document) := messages if {
	messages := {trim_prefix(message, "the document isn't a readable SBOM: ") |
		some message in fixtures.messages(readable.result) with input as document
	}
}

test_reasons if {
	unreadable({"bomFormat": "CycloneDX"}) == {"specVersion is required"}
	unreadable(fixtures.with_value(fixtures.syft, "specVersion", "2.0")) == {"specVersion: specVersion must be one of the following: \"1.2\", \"1.3\", \"1.4\", \"1.5\", \"1.6\", \"1.7\""}
	unreadable(fixtures.with_value(fixtures.syft, "bomFormat", "Cyclone")) == {"bomFormat: bomFormat must be one of the following: \"CycloneDX\""}
	unreadable(fixtures.with_value(fixtures.syft, "components", {})) == {"components: Invalid type. Expected: array, given: object"}
	unreadable(fixtures.with_value(fixtures.syft, "components/1", "x")) == {"components.1: Invalid type. Expected: object, given: string"}
	unreadable(fixtures.without(fixtures.syft, "components/1/name")) == {"components.1: name is required"}
	unreadable(fixtures.with_value(fixtures.syft, "components/1/name", "")) == {"components.1.name: String length must be greater than or equal to 1"}
	unreadable(fixtures.with_value(fixtures.syft, "components/1/components", [{}])) == {"components.1.components.0: name is required"}
	unreadable(fixtures.with_value(fixtures.syft, "components/1/purl", 5)) == {"components.1.purl: Invalid type. Expected: string, given: integer"}
	unreadable(fixtures.with_value(fixtures.syft, "components/1/licenses", ["MIT"])) == {"components.1.licenses.0: Invalid type. Expected: object, given: string"}
	unreadable(fixtures.without(fixtures.syft, "dependencies/0/ref")) == {"dependencies.0: ref is required"}
	unreadable(fixtures.with_value(fixtures.syft, "metadata", [])) == {"metadata: Invalid type. Expected: object, given: array"}
	unreadable(fixtures.with_value(fixtures.syft_spdx, "spdxVersion", "SPDX-2.1")) == {"spdxVersion: spdxVersion must be one of the following: \"SPDX-2.2\", \"SPDX-2.3\""}
	unreadable(fixtures.with_value(fixtures.syft_spdx, "packages", null)) == {"packages: Invalid type. Expected: array, given: null"}
	unreadable(fixtures.without(fixtures.syft_spdx, "packages/0/SPDXID")) == {"packages.0: SPDXID is required"}
	unreadable(fixtures.without(fixtures.syft_spdx, "packages/0/name")) == {"packages.0: name is required"}
	unreadable(fixtures.with_value(fixtures.syft_spdx, "packages/0/licenseDeclared", ["MIT"])) == {"packages.0.licenseDeclared: Invalid type. Expected: string, given: array"}
	unreadable(fixtures.without(fixtures.syft_spdx, "packages/0/externalRefs/0/referenceType")) == {"packages.0.externalRefs.0: referenceType is required"}
	unreadable(fixtures.without(fixtures.syft_spdx, "relationships/1/relatedSpdxElement")) == {"relationships.1: relatedSpdxElement is required"}
	unreadable(fixtures.without(fixtures.syft_spdx, "relationships/1/spdxElementId")) == {"relationships.1: spdxElementId is required"}
	unreadable(fixtures.without(fixtures.syft_spdx, "relationships/1/relationshipType")) == {"relationships.1: relationshipType is required"}
	unreadable(fixtures.without(fixtures.spdx3, "@graph")) == {"@graph is required"}
	unreadable(fixtures.with_value(fixtures.spdx3, "@graph", [])) == {"@graph: Array must have at least 1 items"}
	unreadable(fixtures.without(fixtures.spdx3, "@graph/0/type")) == {"@graph.0: type is required"}
	unreadable(fixtures.with_value(fixtures.spdx3, "@graph/0/specVersion", "3.1.0")) == {"@graph.0.specVersion: Does not match pattern '^3\\.0(\\.|$)'"}
	unreadable(fixtures.with_value(fixtures.spdx3, "@graph/9/to", "x")) == {"@graph.9.to: Invalid type. Expected: array, given: string"}
}

test_attestation_that_has_no_sbom if {
	fixtures.messages(readable.result) == {"the attestation `https://cyclonedx.org/bom` isn't a readable SBOM: expected CycloneDX or SPDX in JSON"} with input as fixtures.attested("https://cyclonedx.org/bom", {})
}

test_statement if {
	statement := {"_type": "https://in-toto.io/Statement/v1", "predicateType": "https://spdx.dev/Document/v2.3", "predicate": null}
	fixtures.messages(readable.result) == {"the document isn't a readable SBOM: expected CycloneDX or SPDX in JSON"} with input as statement
}

test_sbom_of_an_image_in_another_format if {
	fixtures.messages(readable.result) == {"SBOM 2 of the image isn't a readable SBOM: expected CycloneDX or SPDX in JSON"} with input as fixtures.image([fixtures.syft, {"artifacts": []}])
}

test_evidence_that_is_no_json if {
	fixtures.messages(readable.result) == {"`bom` isn't a readable SBOM: expected CycloneDX or SPDX in JSON"} with input as fixtures.release
		with platform.evidence as {"results": [fixtures.row("SBOM_CYCLONEDX_JSON", "bom", "sha256:1")]}
		with platform.download_artifact as "<bom/>"
}

# Three reasons are enough.
test_many_reasons if {
	count(readable.result.violations) == 3 with input as fixtures.with_value(fixtures.syft, "components", [1, 2, 3, 4])
}

test_passes if {
	every document in [fixtures.syft, fixtures.syft_spdx, fixtures.spdx3] {
		readable.result.violations == set() with input as document
		readable.result.skipped == false with input as document
	}
	every version in ["1.2", "1.3", "1.4", "1.5", "1.6", "1.7"] {
		readable.result.violations == set() with input as fixtures.with_value(fixtures.syft, "specVersion", version)
	}
}

test_skips_other_documents if {
	every document in fixtures.not_sboms {
		readable.result.skipped with input as document
	}
}
