package sbom.present_test

import data.lib.fixtures_test as fixtures
import data.sbom.present

test_fails if {
	every input_document in [fixtures.image([]), [{"path": "a.json", "contents": {}}]] {
		fixtures.messages(present.result) == {"no SBOM is present"} with input as input_document
		not present.result.skipped with input as input_document
	}
}

test_release_without_sbom if {
	fixtures.messages(present.result) == {"no SBOM is present"} with input as fixtures.release
		with platform.evidence as {"results": [fixtures.row("SARIF", "scan", "sha256:1")]}
}

test_passes if {
	every input_document in [
		fixtures.syft,
		fixtures.image([fixtures.syft]),
		fixtures.attested("https://spdx.dev/Document", fixtures.syft_spdx),
		[{"path": "a.json", "contents": fixtures.spdx3}],
		{"sbom": fixtures.syft_spdx},
	] {
		present.result.violations == set() with input as input_document
		present.result.skipped == false with input as input_document
	}
}

test_release_with_sbom if {
	present.result.violations == set() with input as fixtures.release
		with platform.evidence as {"results": [fixtures.row("SBOM_SPDX_JSON", "sbom", "sha256:1")]}
		with platform.download_artifact as json.marshal(fixtures.syft_spdx)
}

test_evidence_of_another_version if {
	row := object.union(fixtures.row("SBOM_SPDX_JSON", "sbom", "sha256:1"), {"project_version_id": "other"})
	fixtures.messages(present.result) == {"no SBOM is present"} with input as fixtures.release
		with platform.evidence as {"results": [row]}
}

test_skips_other_documents if {
	every document in fixtures.not_sboms {
		present.result.skipped with input as document
		present.result.violations == set() with input as document
	}
}
