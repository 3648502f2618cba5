package sbom.identifiers_test

import data.lib.fixtures_test as fixtures
import data.sbom.identifiers

test_passes if {
	every document in [fixtures.syft, fixtures.syft_spdx, fixtures.spdx3] {
		identifiers.result == {"skipped": false, "violations": set()} with input as document
	}
}

test_fails if {
	fixtures.messages(identifiers.result) == {"1 of 2 packages in the document have no package URL, CPE or SWID tag: `libssl3@3.0.15`"} with input as fixtures.without(fixtures.syft, "components/1/purl")
}

test_fails_with_spdx if {
	fixtures.messages(identifiers.result) == {"1 of 1 packages in the document have no package URL, CPE or SWID tag: `requests@2.32.3`"} with input as fixtures.with_value(fixtures.syft_spdx, "packages/0/externalRefs", [])
}

test_fails_with_spdx_3 if {
	fixtures.messages(identifiers.result) == {"1 of 1 packages in the document have no package URL, CPE or SWID tag: `requests@2.32.3`"} with input as fixtures.without(fixtures.spdx3, "@graph/6/software_packageUrl")
}

test_each_identifier_counts if {
	nameless := fixtures.without(fixtures.syft, "components/1/purl")
	every member, found in {"purl": "pkg:deb/libssl3", "cpe": "cpe:2.3:a:openssl:openssl:3:*:*:*:*:*:*:*", "swid": {"tagId": "a", "name": "b"}} {
		identifiers.result.violations == set() with input as fixtures.with_value(nameless, concat("/", ["components/1", member]), found)
	}
	every type in ["purl", "cpe22Type", "cpe23Type", "swid", "swh", "gitoid"] {
		reference := {"referenceCategory": "OTHER", "referenceType": type, "referenceLocator": "x"}
		identifiers.result.violations == set() with input as fixtures.with_value(fixtures.syft_spdx, "packages/0/externalRefs", [reference])
	}
	identifier := {"type": "ExternalIdentifier", "externalIdentifierType": "packageUrl", "identifier": "pkg:pypi/requests"}
	document := fixtures.with_value(fixtures.without(fixtures.spdx3, "@graph/6/software_packageUrl"), "@graph/6/externalIdentifier", [identifier])
	identifiers.result.violations == set() with input as document
}

test_skips_other_documents if {
	every document in fixtures.not_sboms {
		identifiers.result.skipped with input as document
		identifiers.result.violations == set() with input as document
	}
}

test_unreadable_sbom_next_to_a_readable_one if {
	fixtures.unreadable in identifiers.result.violations with input as fixtures.image([fixtures.syft, {"bomFormat": "CycloneDX"}])
}
