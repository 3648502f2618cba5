# Small documents in the shapes of other tools, for the tests of the rules. Each names the tool, its
# version and the document whose shape it has.
package lib.fixtures_test

import data.lib.documents
import data.lib.sbom

# A time so many days before now.
days_ago(days) := time.format(time.now_ns() - ((((days * 24) * 60) * 60) * 1000000000))

# Syft 1.x, CycloneDX 1.7: the test snapshot TestCycloneDxImageEncoder.
syft := {
	"$schema": "http://cyclonedx.org/schema/bom-1.7.schema.json",
	"bomFormat": "CycloneDX",
	"specVersion": "1.7",
	"serialNumber": "urn:uuid:1b3f8c0e-51a4-4a4b-9b41-0d4b5a8bb7b3",
	"version": 1,
	"metadata": {
		"timestamp": days_ago(1),
		"tools": {"components": [{"type": "application", "author": "anchore", "name": "syft", "version": "v1.30.0"}]},
		"component": {"bom-ref": "image", "type": "container", "name": "registry.example/shop", "version": "sha256:2731"},
	},
	"components": [
		{
			"bom-ref": "pkg:pypi/requests@2.32.3",
			"type": "library",
			"name": "requests",
			"version": "2.32.3",
			"author": "Kenneth Reitz",
			"licenses": [{"license": {"id": "Apache-2.0"}}],
			"cpe": "cpe:2.3:a:python:requests:2.32.3:*:*:*:*:*:*:*",
			"purl": "pkg:pypi/requests@2.32.3",
		},
		{
			"bom-ref": "pkg:deb/debian/libssl3@3.0.15",
			"type": "library",
			"publisher": "Debian OpenSSL Team",
			"name": "libssl3",
			"version": "3.0.15",
			"licenses": [{"expression": "Apache-2.0 AND (MIT OR GPL-2.0-only)"}],
			"purl": "pkg:deb/debian/libssl3@3.0.15?arch=amd64",
		},
		{"bom-ref": "os", "type": "operating-system", "name": "debian", "version": "12"},
	],
	"dependencies": [
		{"ref": "image", "dependsOn": ["pkg:pypi/requests@2.32.3", "pkg:deb/debian/libssl3@3.0.15", "os"]},
		{"ref": "pkg:pypi/requests@2.32.3", "dependsOn": []},
	],
}

# Syft 1.x, SPDX 2.3: the test snapshot TestSPDXJSONImageEncoder.
syft_spdx := {
	"spdxVersion": "SPDX-2.3",
	"dataLicense": "CC0-1.0",
	"SPDXID": "SPDXRef-DOCUMENT",
	"name": "registry.example/shop",
	"documentNamespace": "https://anchore.com/syft/image/shop-1b3f8c0e",
	"creationInfo": {
		"licenseListVersion": "3.27",
		"creators": ["Organization: Anchore, Inc", "Tool: syft-v1.30.0"],
		"created": days_ago(1),
	},
	"packages": [
		{
			"name": "requests",
			"SPDXID": "SPDXRef-Package-python-requests",
			"versionInfo": "2.32.3",
			"supplier": "Person: Kenneth Reitz",
			"downloadLocation": "NOASSERTION",
			"filesAnalyzed": false,
			"licenseConcluded": "NOASSERTION",
			"licenseDeclared": "Apache-2.0",
			"copyrightText": "NOASSERTION",
			"externalRefs": [
				{
					"referenceCategory": "SECURITY",
					"referenceType": "cpe23Type",
					"referenceLocator": "cpe:2.3:a:python:requests:2.32.3:*:*:*:*:*:*:*",
				},
				{
					"referenceCategory": "PACKAGE-MANAGER",
					"referenceType": "purl",
					"referenceLocator": "pkg:pypi/requests@2.32.3",
				},
			],
		},
		{
			"name": "registry.example/shop",
			"SPDXID": "SPDXRef-DocumentRoot-Image-shop",
			"versionInfo": "sha256:2731",
			"supplier": "NOASSERTION",
			"downloadLocation": "NOASSERTION",
			"filesAnalyzed": false,
			"checksums": [{"algorithm": "SHA256", "checksumValue": "2731"}],
			"licenseConcluded": "NOASSERTION",
			"licenseDeclared": "NOASSERTION",
			"copyrightText": "NOASSERTION",
			"primaryPackagePurpose": "CONTAINER",
		},
	],
	"relationships": [
		{
			"spdxElementId": "SPDXRef-DocumentRoot-Image-shop",
			"relatedSpdxElement": "SPDXRef-Package-python-requests",
			"relationshipType": "CONTAINS",
		},
		{
			"spdxElementId": "SPDXRef-DOCUMENT",
			"relatedSpdxElement": "SPDXRef-DocumentRoot-Image-shop",
			"relationshipType": "DESCRIBES",
		},
	],
}

# SPDX 3.0.1 as JSON: software/example14/spdx3.0 and ai/example01/spdx3.0 of spdx-examples.
spdx3 := {
	"@context": "https://spdx.org/rdf/3.0.1/spdx-context.jsonld",
	"@graph": [
		{
			"type": "CreationInfo",
			"@id": "_:creationinfo",
			"specVersion": "3.0.1",
			"created": days_ago(1),
			"createdBy": ["https://shop.example/acme"],
			"createdUsing": ["https://shop.example/tool"],
		},
		{"type": "Organization", "spdxId": "https://shop.example/acme", "creationInfo": "_:creationinfo", "name": "Acme"},
		{"type": "Tool", "spdxId": "https://shop.example/tool", "creationInfo": "_:creationinfo", "name": "builder"},
		{
			"type": "SpdxDocument",
			"spdxId": "https://shop.example/document",
			"creationInfo": "_:creationinfo",
			"rootElement": ["https://shop.example/sbom"],
		},
		{
			"type": "software_Sbom",
			"spdxId": "https://shop.example/sbom",
			"creationInfo": "_:creationinfo",
			"rootElement": ["https://shop.example/shop"],
		},
		{
			"type": "software_Package",
			"spdxId": "https://shop.example/shop",
			"creationInfo": "_:creationinfo",
			"name": "shop",
			"software_packageVersion": "1.4.0",
		},
		{
			"type": "software_Package",
			"spdxId": "https://shop.example/requests",
			"creationInfo": "_:creationinfo",
			"name": "requests",
			"software_packageVersion": "2.32.3",
			"software_packageUrl": "pkg:pypi/requests@2.32.3",
			"suppliedBy": "https://shop.example/acme",
		},
		{
			"type": "simplelicensing_LicenseExpression",
			"spdxId": "https://shop.example/license",
			"creationInfo": "_:creationinfo",
			"simplelicensing_licenseExpression": "Apache-2.0",
		},
		{
			"type": "Relationship",
			"spdxId": "https://shop.example/relationship-1",
			"creationInfo": "_:creationinfo",
			"from": "https://shop.example/requests",
			"relationshipType": "hasDeclaredLicense",
			"to": ["https://shop.example/license"],
		},
		{
			"type": "Relationship",
			"spdxId": "https://shop.example/relationship-2",
			"creationInfo": "_:creationinfo",
			"from": "https://shop.example/shop",
			"relationshipType": "dependsOn",
			"to": ["https://shop.example/requests"],
		},
	],
}

# A document without the member at a path, and with another value there.
without(document, path) := json.patch(document, [{"op": "remove", "path": path}])

with_value(document, path, value) := json.patch(document, [{"op": "add", "path": path, "value": value}])

# The input of `--image`, and a release.
image(sboms) := {
	"image": "sha256:8fa6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477",
	"reference": "registry.example/shop:v1",
	"attestations": [],
	"signatures": [],
	"sboms": [{"document": document} | some document in sboms],
	"untrusted": [],
}

# An image with an attestation, in the form in which the gate supplies it.
attested(type, predicate) := object.union(image([]), {"attestations": [{
	"statement": {
		"_type": "https://in-toto.io/Statement/v1",
		"subject": [{"name": "shop", "digest": {"sha256": "8fa6a879"}}],
		"predicateType": type,
		"predicate": predicate,
	},
	"signers": [{"key": "cosign.pub", "fingerprint": "sha256:1"}],
}]})

# Documents of other formats, and none.
not_sboms := [{}, [], null, "", 5, {"SchemaVersion": 2, "Results": []}, {"matches": []}, {"sbom": 5}]

unreadable := {"message": "SBOM 2 of the image isn't a readable SBOM: specVersion is required"}

messages(result) := {violation.message | some violation in result.violations}

release := {"project": "shop", "version": "v1", "project_version_id": "9b2d"}

row(kind, name, digest) := {
	"kind": kind,
	"name": name,
	"digest": digest,
	"project_name": "shop",
	"project_version_id": "9b2d",
	"workflow_name": "build",
}

test_fixtures_are_readable if {
	every document in [syft, syft_spdx, spdx3] {
		sbom.reasons(document) == []
	}
	documents.shape == "image" with input as image([syft])
	documents.shape == "release" with input as release
	documents.shape == "document" with input as syft
}
