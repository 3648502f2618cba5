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

# Trivy 0.6x: integration/testdata/alpine-39.json.golden.
trivy := {
	"SchemaVersion": 2,
	"Trivy": {"Version": "0.66.0"},
	"CreatedAt": days_ago(1),
	"ArtifactName": "registry.example/shop:v1",
	"ArtifactType": "container_image",
	"Metadata": {"ImageConfig": {"architecture": "amd64", "os": "linux", "config": {"User": "app"}}},
	"Results": [
		{"Target": "shop.jar", "Class": "lang-pkgs", "Type": "jar", "Vulnerabilities": [{
			"VulnerabilityID": "CVE-2021-44228",
			"VendorIDs": ["GHSA-jfh8-c2jp-5v3q"],
			"PkgName": "org.apache.logging.log4j:log4j-core",
			"PkgIdentifier": {"PURL": "pkg:maven/org.apache.logging.log4j/log4j-core@2.14.1", "UID": "3148053bd3cfcabf"},
			"InstalledVersion": "2.14.1",
			"FixedVersion": "2.15.0, 2.3.1, 2.12.2",
			"Status": "fixed",
			"SeveritySource": "ghsa",
			"Severity": "CRITICAL",
		}]},
		{"Target": "node_modules", "Class": "lang-pkgs", "Type": "node-pkg"},
	],
}

# Grype 0.9x: grype/presenter/json/testdata/snapshot/TestJsonImgsPresenter.golden.
grype := {
	"matches": [{
		"vulnerability": {
			"id": "GHSA-jfh8-c2jp-5v3q",
			"dataSource": "https://github.com/advisories/GHSA-jfh8-c2jp-5v3q",
			"namespace": "github:language:java",
			"severity": "Critical",
			"urls": [],
			"cvss": [],
			"knownExploited": [{"cve": "CVE-2021-44228", "knownRansomwareCampaignUse": "Known"}],
			"epss": [{"cve": "CVE-2021-44228", "epss": 0.94, "percentile": 0.99, "date": "2026-11-01"}],
			"fix": {"versions": ["2.15.0"], "state": "fixed"},
			"advisories": [],
		},
		"relatedVulnerabilities": [{"id": "CVE-2021-44228", "severity": "Critical"}],
		"matchDetails": [],
		"artifact": {
			"name": "log4j-core",
			"version": "2.14.1",
			"type": "java-archive",
			"purl": "pkg:maven/org.apache.logging.log4j/log4j-core@2.14.1",
		},
	}],
	"source": {"type": "image", "target": {"userInput": "registry.example/shop:v1"}},
	"distro": {"name": "debian", "version": "12"},
	"descriptor": {
		"name": "grype",
		"version": "0.99.0",
		"db": {"status": {"schemaVersion": "v6.1.0", "built": days_ago(2), "valid": true}},
		"timestamp": days_ago(1),
	},
}

# OSV-Scanner 2.x: pkg/models/results.go and the snapshots of internal/output.
osv := {
	"results": [{
		"source": {"path": "/src/pom.xml", "type": "lockfile"},
		"packages": [{
			"package": {"name": "org.apache.logging.log4j:log4j-core", "version": "2.14.1", "ecosystem": "Maven"},
			"vulnerabilities": [{
				"id": "GHSA-jfh8-c2jp-5v3q",
				"aliases": ["CVE-2021-44228"],
				"affected": [
					{
						"package": {"ecosystem": "Maven", "name": "org.apache.logging.log4j:log4j-core"},
						"ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "2.13.0"}, {"fixed": "2.15.0"}]}],
					},
					{
						"package": {"ecosystem": "Maven", "name": "org.ops4j.pax.logging:pax-logging-log4j2"},
						"ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "1.8.0"}, {"fixed": "1.9.2"}]}],
					},
				],
				"database_specific": {"severity": "CRITICAL"},
			}],
			"groups": [{
				"ids": ["GHSA-jfh8-c2jp-5v3q"],
				"aliases": ["CVE-2021-44228", "GHSA-jfh8-c2jp-5v3q"],
				"max_severity": "10.0",
			}],
		}],
	}],
	"experimental_config": {"licenses": {"summary": false, "allowlist": null}},
}

# Snyk CLI 1.1xxx: `snyk test --json`, as its documentation describes it.
snyk := {
	"vulnerabilities": [{
		"id": "SNYK-JAVA-ORGAPACHELOGGINGLOG4J-2314720",
		"title": "Remote Code Execution (RCE)",
		"severity": "critical",
		"cvssScore": 10,
		"identifiers": {"CVE": ["CVE-2021-44228"], "CWE": ["CWE-94"], "GHSA": ["GHSA-jfh8-c2jp-5v3q"]},
		"epssDetails": {"percentile": "0.99", "probability": "0.94", "modelVersion": "v2025.03.14"},
		"packageName": "org.apache.logging.log4j:log4j-core",
		"version": "2.14.1",
		"fixedIn": ["2.3.1", "2.12.2", "2.15.0"],
		"from": ["shop@1.4.0", "org.apache.logging.log4j:log4j-core@2.14.1"],
	}],
	"ok": false,
	"dependencyCount": 12,
	"packageManager": "maven",
	"projectName": "shop",
}

# GitHub: `gh api repos/OWNER/NAME/dependabot/alerts`, as the REST API's documentation describes it.
dependabot := [{
	"number": 2,
	"state": "open",
	"dependency": {
		"package": {"ecosystem": "maven", "name": "org.apache.logging.log4j:log4j-core"},
		"manifest_path": "pom.xml",
		"scope": "runtime",
	},
	"security_advisory": {
		"ghsa_id": "GHSA-jfh8-c2jp-5v3q",
		"cve_id": "CVE-2021-44228",
		"severity": "critical",
		"epss": {"percentage": 0.94, "percentile": "0.99"},
	},
	"security_vulnerability": {
		"package": {"ecosystem": "maven", "name": "org.apache.logging.log4j:log4j-core"},
		"severity": "critical",
		"vulnerable_version_range": ">= 2.13.0, < 2.15.0",
		"first_patched_version": {"identifier": "2.15.0"},
	},
}]

# GitLab: dependency-scanning-report-format.json 15 of security-report-schemas.
gitlab := {
	"version": "15.2.1",
	"scan": {
		"type": "dependency_scanning",
		"status": "success",
		"start_time": trim_suffix(days_ago(1), "Z"),
		"end_time": trim_suffix(days_ago(1), "Z"),
		"scanner": {"id": "gemnasium", "name": "Gemnasium"},
	},
	"vulnerabilities": [{
		"id": "a3b1",
		"name": "Deserialization of Untrusted Data",
		"severity": "Critical",
		"solution": "Upgrade to version 2.15.0",
		"identifiers": [
			{"type": "gemnasium", "name": "Gemnasium-f1b1", "value": "f1b1"},
			{"type": "cve", "name": "CVE-2021-44228", "value": "CVE-2021-44228"},
		],
		"location": {
			"file": "pom.xml",
			"dependency": {"package": {"name": "org.apache.logging.log4j/log4j-core"}, "version": "2.14.1"},
		},
	}],
}

# Trivy's SARIF: pkg/report/sarif.go.
trivy_sarif := {
	"version": "2.1.0",
	"runs": [{
		"tool": {"driver": {"name": "Trivy", "version": "0.66.0", "rules": [{
			"id": "CVE-2021-44228",
			"properties": {"security-severity": "10.0", "tags": ["vulnerability", "security", "CRITICAL"]},
		}]}},
		"invocations": [{"executionSuccessful": true, "endTimeUtc": days_ago(1)}],
		"results": [{
			"ruleId": "CVE-2021-44228",
			"level": "error",
			"message": {"text": concat("\n", [
				"Package: org.apache.logging.log4j:log4j-core",
				"Installed Version: 2.14.1",
				"Vulnerability CVE-2021-44228",
				"Severity: CRITICAL",
				"Fixed Version: 2.15.0",
			])},
			"locations": [],
		}],
	}],
}

# Grype's SARIF: grype/presenter/sarif/testdata/snapshot/TestSarifPresenter_image.golden.
grype_sarif := {
	"version": "2.1.0",
	"runs": [{
		"tool": {"driver": {"name": "grype", "version": "0.99.0", "rules": [{
			"id": "CVE-2021-44228-log4j-core",
			"help": {"text": concat("\n", [
				"Vulnerability CVE-2021-44228",
				"Severity: critical",
				"Package: log4j-core",
				"Version: 2.14.1",
				"Fix Version: 2.15.0",
			])},
			"properties": {
				"purls": ["pkg:maven/org.apache.logging.log4j/log4j-core@2.14.1"],
				"security-severity": "10.0",
			},
		}]}},
		"results": [{
			"ruleId": "CVE-2021-44228-log4j-core",
			"level": "error",
			"message": {"text": "A critical vulnerability in java-archive package: log4j-core, version 2.14.1 was found"},
		}],
	}],
}

# OSV-Scanner's SARIF: internal/output/__snapshots__/sarif_test.snap.
osv_sarif := {
	"version": "2.1.0",
	"runs": [{
		"tool": {"driver": {"name": "osv-scanner", "rules": [{
			"id": "CVE-2021-44228",
			"properties": {"security-severity": "10"},
			"help": {"text": concat("\n", [
				"### Fixed Versions",
				"",
				"| Vulnerability ID | Package Name | Fixed Version |",
				"| --- | --- | --- |",
				"| GHSA-jfh8-c2jp-5v3q | org.apache.logging.log4j:log4j-core | 2.15.0 |",
				"",
			])},
		}]}},
		"results": [{
			"ruleId": "CVE-2021-44228",
			"level": "warning",
			"message": {"text": "Package 'org.apache.logging.log4j:log4j-core@2.14.1' is vulnerable to 'CVE-2021-44228' (also known as 'GHSA-jfh8-c2jp-5v3q')."},
		}],
	}],
}

# Each report has one vulnerability, in the same package.
vulnerability_reports := {
	"dependabot": dependabot,
	"gitlab": gitlab,
	"grype": grype,
	"grype_sarif": grype_sarif,
	"osv": osv,
	"osv_sarif": osv_sarif,
	"snyk": snyk,
	"trivy": trivy,
	"trivy_sarif": trivy_sarif,
}

statement(type, predicate) := {
	"_type": "https://in-toto.io/Statement/v1",
	"subject": [{"name": "registry.example/shop", "digest": {"sha256": "8fa6a879"}}],
	"predicateType": type,
	"predicate": predicate,
}

# GitHub's actions/attest-build-provenance 3: workflow/v1 of actions/buildtypes.
github_provenance := statement("https://slsa.dev/provenance/v1", {
	"buildDefinition": {
		"buildType": "https://actions.github.io/buildtypes/workflow/v1",
		"externalParameters": {"workflow": {
			"ref": "refs/tags/v1.4.0",
			"repository": "https://github.com/acme/shop",
			"path": ".github/workflows/release.yml",
		}},
		"internalParameters": {"github": {
			"event_name": "push",
			"repository_id": "1",
			"repository_owner_id": "2",
			"runner_environment": "github-hosted",
		}},
		"resolvedDependencies": [
			{
				"uri": "git+https://github.com/acme/shop@refs/tags/v1.4.0",
				"digest": {"gitCommit": "c27d339ee6075c1f744c5d4b200f7901aad2c369"},
			},
			{"uri": "pkg:docker/debian@12", "digest": {"sha256": "2731"}},
		],
	},
	"runDetails": {
		"builder": {"id": "https://github.com/acme/shop/.github/workflows/release.yml@refs/tags/v1.4.0"},
		"metadata": {"invocationId": "https://github.com/acme/shop/actions/runs/1/attempts/1", "finishedOn": days_ago(1)},
	},
})

# slsa-github-generator 1.x: provenance 0.2 of its container workflow.
generator_provenance := statement("https://slsa.dev/provenance/v0.2", {
	"builder": {"id": "https://github.com/slsa-framework/slsa-github-generator/.github/workflows/generator_container_slsa3.yml@refs/tags/v2.0.0"},
	"buildType": "https://github.com/slsa-framework/slsa-github-generator/container@v1",
	"invocation": {
		"configSource": {
			"uri": "git+https://github.com/acme/shop@refs/heads/main",
			"digest": {"sha1": "c27d339ee6075c1f744c5d4b200f7901aad2c369"},
			"entryPoint": ".github/workflows/release.yml",
		},
		"environment": {"github_event_name": "push", "github_ref": "refs/heads/main"},
	},
	"metadata": {"buildFinishedOn": days_ago(1), "reproducible": false},
	"materials": [{
		"uri": "git+https://github.com/acme/shop@refs/heads/main",
		"digest": {"sha1": "c27d339ee6075c1f744c5d4b200f7901aad2c369"},
	}],
})

# The vendor's client 1.1xx: pkg/attestation/renderer/chainloop.
vendor_attestation := statement("chainloop.dev/attestation/v0.2", {
	"buildType": "chainloop.dev/workflowrun/v0.1",
	"builder": {"id": "chainloop.dev/cli/1.106.1@sha256:1"},
	"metadata": {"name": "build", "project": "shop", "initializedAt": days_ago(1), "finishedAt": days_ago(1)},
	"env": {
		"GITHUB_REPOSITORY": "acme/shop",
		"GITHUB_REF": "refs/heads/main",
		"GITHUB_SHA": "c27d339ee6075c1f744c5d4b200f7901aad2c369",
	},
	"runnerType": "GITHUB_ACTION",
	"runnerEnvironment": "github-hosted",
	"materials": [{"name": "registry.example/shop", "digest": {"sha256": "8fa6a879"}}],
	"policyHasViolations": false,
})

provenances := [github_provenance, generator_provenance, vendor_attestation]

# SLSA's verification summary: the example of its specification, version 1.2.
verification_summary := statement("https://slsa.dev/verification_summary/v1", {
	"verifier": {"id": "https://example.com/publication_verifier"},
	"timeVerified": days_ago(1),
	"resourceUri": "registry.example/shop:v1.4.0",
	"policy": {"uri": "https://example.com/shop.policy"},
	"verificationResult": "PASSED",
	"verifiedLevels": ["SLSA_BUILD_LEVEL_3"],
	"slsaVersion": "1.2",
})

unreadable_provenance := {"message": "`b.json` isn't readable provenance: predicate is required"}

with_unreadable_provenance := files({
	"a.json": github_provenance,
	"b.json": without(github_provenance, "predicate"),
})

not_provenance := [{}, [], null, "", 5, syft, trivy, {"predicateType": "https://example.com/scan/v1"}]

# An image's configuration: image-spec 1.1.1, config.md, as `crane config` prints it.
image_config := {
	"created": days_ago(10),
	"architecture": "amd64",
	"os": "linux",
	"config": {
		"User": "app",
		"ExposedPorts": {"8080/tcp": {}},
		"Env": ["PATH=/usr/bin:/bin", "TOKEN_FILE=/run/secrets/token"],
		"Labels": {
			"org.opencontainers.image.source": "https://github.com/acme/shop",
			"org.opencontainers.image.revision": "c27d339ee6075c1f744c5d4b200f7901aad2c369",
		},
	},
	"rootfs": {"type": "layers", "diff_ids": ["sha256:1"]},
}

# `docker image inspect` 28.
inspected_image := [{
	"Id": "sha256:1",
	"RepoTags": ["shop:v1"],
	"Created": days_ago(10),
	"Config": image_config.config,
	"RootFS": {"Type": "layers", "Layers": ["sha256:1"]},
}]

instruction(stage, command, words) := {
	"Cmd": command,
	"Flags": [],
	"JSON": false,
	"Stage": stage,
	"SubCmd": "",
	"Value": words,
}

# A Dockerfile as the gate reads it, in the shape of conftest's parser.
dockerfile := [
	instruction(0, "from", ["golang:1.24@sha256:1111", "AS", "build"]),
	instruction(0, "run", ["go build -o /shop ."]),
	instruction(1, "from", ["gcr.io/distroless/static@sha256:2222"]),
	instruction(1, "copy", ["/shop", "/shop"]),
	instruction(1, "label", [
		"org.opencontainers.image.source", "https://github.com/acme/shop", "=",
		"org.opencontainers.image.revision", "$REVISION", "=",
	]),
	instruction(1, "expose", ["8080"]),
	instruction(1, "user", ["65532:65532"]),
]

configurations := [image_config, inspected_image, dockerfile]

not_configurations := [{}, [], null, "", 5, syft, github_provenance, [{}], {"config": {}}, [{"Cmd": "run"}]]

unreadable_configuration := {"message": "`b.json` isn't a readable configuration of an image: config.User: Invalid type. Expected: string, given: integer"}

with_unreadable_configuration := files({
	"a.json": image_config,
	"b.json": with_value(image_config, "config/User", 0),
	"Dockerfile": dockerfile,
})

# CodeQL's SARIF, as GitHub's documentation of its support for SARIF describes it.
codeql := {
	"version": "2.1.0",
	"runs": [{
		"tool": {"driver": {"name": "CodeQL", "rules": [
			{"id": "js/sql-injection", "defaultConfiguration": {"level": "error"}},
			{"id": "js/unused-local-variable", "defaultConfiguration": {"level": "note"}},
		]}},
		"results": [{
			"ruleId": "js/unused-local-variable",
			"message": {"text": "Unused variable x."},
			"locations": [{"physicalLocation": {
				"artifactLocation": {"uri": "src/a.js"},
				"region": {"startLine": 7},
			}}],
		}],
	}],
}

with_result(log, result) := json.patch(log, [{"op": "add", "path": "runs/0/results/0", "value": result}])

# GitHub: `gh api repos/OWNER/NAME/code-scanning/alerts` and `secret-scanning/alerts`.
code_alerts := [{
	"number": 850,
	"state": "open",
	"rule": {"id": "js/sql-injection", "severity": "error", "security_severity_level": "high"},
	"tool": {"name": "CodeQL", "version": "2.23.0"},
	"most_recent_instance": {
		"ref": "refs/heads/main",
		"state": "open",
		"message": {"text": "This query depends on a user-provided value."},
		"location": {"path": "src/a.js", "start_line": 3},
	},
}]

secret_alerts := [{
	"number": 8,
	"state": "open",
	"secret_type": "azure_storage_account_key",
	"secret": "REDACTED",
}]

# GitLab: sast-report-format.json and secret-detection-report-format.json 15.
gitlab_sast := {
	"version": "15.2.1",
	"scan": {"type": "sast", "status": "success", "scanner": {"id": "semgrep", "name": "Semgrep"}},
	"vulnerabilities": [{
		"id": "1",
		"name": "SQL injection",
		"severity": "High",
		"identifiers": [{"type": "semgrep_id", "name": "sqli", "value": "sqli"}],
		"location": {"file": "src/a.js", "start_line": 3},
	}],
}

gitlab_secrets := json.patch(gitlab_sast, [
	{"op": "replace", "path": "scan/type", "value": "secret_detection"},
	{"op": "replace", "path": "vulnerabilities/0/name", "value": "AWS access token"},
])

# Gitleaks 8, TruffleHog 3 and Trivy 0.6x.
gitleaks := [{
	"RuleID": "generic-api-key",
	"Description": "Detected a Generic API Key.",
	"StartLine": 7,
	"File": "config/secrets.env",
	"Secret": "REDACTED",
	"Fingerprint": "config/secrets.env:generic-api-key:7",
}]

trufflehog := {
	"SourceMetadata": {"Data": {"Filesystem": {"file": "config/secrets.env", "line": 7}}},
	"DetectorName": "AWS",
	"Verified": true,
	"Raw": "REDACTED",
}

trivy_secrets := {
	"SchemaVersion": 2,
	"ArtifactName": ".",
	"Results": [{"Target": "config/secrets.env", "Class": "secret", "Secrets": [{
		"RuleID": "aws-access-key-id",
		"Severity": "CRITICAL",
		"StartLine": 7,
	}]}],
}

gitleaks_sarif := {
	"version": "2.1.0",
	"runs": [{
		"tool": {"driver": {"name": "gitleaks"}},
		"results": [{
			"ruleId": "generic-api-key",
			"message": {"text": "generic-api-key has detected secret for file config/secrets.env."},
			"locations": [{"physicalLocation": {
				"artifactLocation": {"uri": "config/secrets.env"},
				"region": {"startLine": 7},
			}}],
		}],
	}],
}

secret_reports := [gitlab_secrets, gitleaks, gitleaks_sarif, secret_alerts, trivy_secrets, trufflehog]

# JUnit's XML as Maven Surefire 3 writes it, and the same as the gate's parser reads it.
junit_text := `<?xml version="1.0"?><testsuite name="a" tests="2"><testcase name="b"/><testcase name="c"><skipped/></testcase></testsuite>`

junit := {"testsuites": {"testsuite": [
	{"-name": "a", "testcase": [{"-name": "b"}, {"-name": "c", "skipped": ""}]},
	{"-name": "d", "testcase": {"-name": "e"}},
]}}

# Cobertura's XML as coverage.py 7 writes it, and JaCoCo's 0.8.
cobertura_text := `<?xml version="1.0" ?><coverage version="7.6" lines-valid="10" lines-covered="9" line-rate="0.9"><packages/></coverage>`

cobertura := {"coverage": {"-line-rate": "0.9", "packages": ""}}

jacoco_text := `<report name="a"><package name="b"><counter type="LINE" missed="9" covered="0"/></package><counter type="INSTRUCTION" missed="90" covered="10"/><counter type="LINE" missed="1" covered="9"/></report>`

jacoco := {"report": {"-name": "a", "counter": [
	{"-type": "INSTRUCTION", "-missed": "90", "-covered": "10"},
	{"-type": "LINE", "-missed": "1", "-covered": "9"},
]}}

# The vendor's kinds CHAINLOOP_AI_AGENT_CONFIG and CHAINLOOP_AI_CODING_SESSION, version 0.1: the
# schemas and test data of the vendor's client.
agent_config := {
	"chainloop.material.evidence.id": "CHAINLOOP_AI_AGENT_CONFIG",
	"schema": "https://schemas.chainloop.dev/aiagentconfig/0.1/ai-agent-config.schema.json",
	"data": {
		"agent": {"name": "claude"},
		"config_hash": "abc123",
		"config_files": [{
			"path": "CLAUDE.md",
			"kind": "instruction",
			"sha256": "4c3b",
			"size": 15,
			"content": base64.encode("# Project rules"),
		}],
		"permissions": {"allow": ["Read"], "deny": ["WebFetch"]},
		"mcp_servers": [{"name": "github", "url": "https://mcp.example"}],
	},
}

agent_session := {
	"chainloop.material.evidence.id": "CHAINLOOP_AI_CODING_SESSION",
	"schema": "https://schemas.chainloop.dev/aicodingsession/0.1/ai-coding-session.schema.json",
	"data": {
		"schema_version": "v1",
		"agent": {"name": "claude", "version": "2.1.71"},
		"session": {"id": "abc-123", "started_at": "2026-03-25T15:10:49.161Z", "duration_seconds": 100},
		"tools_used": {"summary": [
			{"tool_name": "Read", "invocation_count": 3},
			{"tool_name": "mcp__github__get_issue", "invocation_count": 1},
		]},
		"raw_session": {"main": [{"type": "assistant", "message": {"content": [{
			"type": "tool_use",
			"name": "Bash",
			"input": {"command": "ls"},
		}]}}]},
	},
}

not_agents := [{}, [], null, "", 5, syft, {"schema": "https://schemas.example/other"}]

# Documents for which no rule of the collection `compliance` is.
not_compliance := [{}, [], null, "", 5, syft, trivy, github_provenance, dockerfile]

# Several files (`--combine`).
files(documents_by_name) := [{"path": name, "contents": contents} | some name, contents in documents_by_name]

not_reports := [{}, [], null, "", 5, syft, {"results": [], "errors": []}, {"version": "2.1.0", "runs": []}]

unreadable_report := {"message": "`b.json` isn't a readable report of vulnerabilities: matches: Invalid type. Expected: array, given: null"}

with_unreadable_report := files({"a.json": trivy, "b.json": {"matches": null, "descriptor": {}}})

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
