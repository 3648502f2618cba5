package lib.sbom_test

import data.lib.fixtures_test as fixtures
import data.lib.sbom

# The three forms of one SBOM.
test_forms if {
	every document in [fixtures.syft, fixtures.syft_spdx, fixtures.spdx3] {
		found := sbom.all[0] with input as document
		component := [component | some component in found.components; component.name == "requests"][0]
		object.subset(component, {
			"version": "2.32.3",
			"purl": "pkg:pypi/requests@2.32.3",
			"licenses": ["Apache-2.0"],
			"identified": true,
			"package": true,
		})
		count(component.suppliers) == 1
		component.id in found.linked
		component.id in found.known
		found.linked - found.known == set()
		count(found.tools - {""}) == 1
	}
}

test_facts if {
	found := sbom.all[0] with input as fixtures.syft
	found.format == "CycloneDX"
	found.version == "1.7"
	found.created == fixtures.syft.metadata.timestamp
	found.tools == {"", "syft"} - {""}
	found.subject.name == "registry.example/shop"
	[component.package | some component in found.components] == [true, true, false]
	[component.licenses | some component in found.components] == [["Apache-2.0"], ["Apache-2.0 AND (MIT OR GPL-2.0-only)"], []]
}

test_facts_of_spdx if {
	found := sbom.all[0] with input as fixtures.syft_spdx
	found.format == "SPDX"
	found.version == "2.3"
	found.authors == {"Anchore, Inc"}
	found.tools == {"syft-v1.30.0"}
	found.subject.name == "registry.example/shop"
	[component.name | some component in found.components] == ["requests"]
}

test_facts_of_spdx_3 if {
	found := sbom.all[0] with input as fixtures.spdx3
	found.format == "SPDX"
	found.version == "3.0.1"
	found.authors == {"Acme"}
	found.tools == {"builder"}
	found.subject.name == "shop"
	[component.suppliers | some component in found.components] == [{"Acme"}]
}

test_kinds if {
	every kind in ["application", "container", "data", "device", "device-driver", "file", "machine-learning-model", "operating-system", "platform", "cryptographic-asset"] {
		document := fixtures.without(fixtures.with_value(fixtures.syft, "components/0/type", kind), "components/0/purl")
		sbom.all[0].components[0]["package"] == false with input as document
		sbom.all[0].components[0]["package"] == true with input as fixtures.with_value(fixtures.syft, "components/0/type", kind)
	}
	every kind in ["library", "framework", "firmware", ""] {
		document := fixtures.without(fixtures.with_value(fixtures.syft, "components/0/type", kind), "components/0/purl")
		sbom.all[0].components[0]["package"] == true with input as document
	}
	every kind in ["APPLICATION", "ARCHIVE", "CONTAINER", "DEVICE", "FILE", "OPERATING_SYSTEM", "OPERATING-SYSTEM"] {
		document := fixtures.with_value(fixtures.with_value(fixtures.syft_spdx, "packages/0/primaryPackagePurpose", kind), "packages/0/externalRefs", [])
		sbom.all[0].components[0]["package"] == false with input as document
	}
	every kind in ["archive", "operatingSystem", "file"] {
		document := fixtures.without(fixtures.with_value(fixtures.spdx3, "@graph/6/software_primaryPurpose", lower(kind)), "@graph/6/software_packageUrl")
		sbom.all[0].components[0]["package"] == false with input as document
	}
}

test_relationships if {
	every type in ["DEPENDS_ON", "DEPENDENCY_OF", "BUILD_DEPENDENCY_OF", "DEV_DEPENDENCY_OF", "OPTIONAL_DEPENDENCY_OF", "PROVIDED_DEPENDENCY_OF", "RUNTIME_DEPENDENCY_OF", "TEST_DEPENDENCY_OF", "CONTAINS", "CONTAINED_BY", "DESCRIBED_BY"] {
		"SPDXRef-Package-python-requests" in sbom.all[0].linked with input as fixtures.with_value(fixtures.syft_spdx, "relationships/0/relationshipType", type)
	}
	not "SPDXRef-Package-python-requests" in sbom.all[0].linked with input as fixtures.with_value(fixtures.syft_spdx, "relationships/0/relationshipType", "AMENDS")
	every type in ["dependsOn", "contains", "describes"] {
		"https://shop.example/shop" in sbom.all[0].linked with input as fixtures.with_value(fixtures.spdx3, "@graph/9/relationshipType", type)
	}
	not "https://shop.example/shop" in sbom.all[0].linked with input as fixtures.with_value(fixtures.spdx3, "@graph/9/relationshipType", "amendedBy")
}

test_names if {
	component := {"name": "Requests", "version": "2.32.3", "purl": "pkg:pypi/requests@2.32.3"}
	sbom.names(component) == {"requests", "requests@2.32.3", "pkg:pypi/requests@2.32.3"}
	sbom.name(component) == "Requests@2.32.3"
	sbom.name({"name": "a", "version": ""}) == "a"
}

test_licenses_of_spdx_3 if {
	every id, license in {
		"https://spdx.org/licenses/MIT": "MIT",
		"https://spdx.org/rdf/3.0.1/terms/ExpandedLicensing/NoAssertion": "NOASSERTION",
		"https://spdx.org/rdf/3.0.1/terms/ExpandedLicensing/None": "NOASSERTION",
		"https://a.example/expression": "MIT OR ISC",
		"https://a.example/name": "Acme EULA",
		"https://a.example/gone": "(unreadable)",
	} {
		sbom.spdx3_license({"https://a.example/expression": {"simplelicensing_licenseExpression": "MIT OR ISC", "name": "x"}, "https://a.example/name": {"name": "Acme EULA"}}, id) == license
	}
}

test_verdict if {
	sbom.verdict({1}).skipped with input as {}
	sbom.verdict({1}).violations == {1} with input as {}
	sbom.verdict({1}) == {"skipped": false, "violations": {1}} with input as fixtures.syft
}

test_presence if {
	sbom.presence({1}) == {"skipped": true, "skip_reason": "the document isn't an SBOM", "violations": {1}} with input as {}
	sbom.presence({1}) == {"skipped": false, "violations": {1}} with input as fixtures.image([])
	sbom.presence({1}) == {"skipped": false, "violations": {1}} with input as fixtures.syft
}

test_readability if {
	sbom.readability == {"skipped": true, "skip_reason": "the input has no SBOM", "violations": set()} with input as fixtures.image([])
	sbom.readability == {"skipped": false, "violations": set()} with input as fixtures.syft
	count(sbom.readability.violations) == 1 with input as {"bomFormat": "CycloneDX"}
}

test_skip_reason if {
	sbom.verdict(set()).skip_reason == "the input has no readable SBOM" with input as {}
}
