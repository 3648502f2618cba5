package vulnerabilities.present_test

import data.lib.fixtures_test as fixtures
import data.vulnerabilities.present

test_fails if {
	every document in [fixtures.image([fixtures.syft]), fixtures.files({"a.json": {}})] {
		fixtures.messages(present.result) == {"no report of vulnerabilities is present"} with input as document
		not present.result.skipped with input as document
	}
}

test_release if {
	fixtures.messages(present.result) == {"no report of vulnerabilities is present"} with input as fixtures.release
		with platform.evidence as {"results": [fixtures.row("SBOM_SPDX_JSON", "sbom", "sha256:1")]}
	present.result.violations == set() with input as fixtures.release
		with platform.evidence as {"results": [fixtures.row("SARIF", "scan", "sha256:1")]}
		with platform.download_artifact as json.marshal(fixtures.trivy_sarif)
}

test_passes if {
	every _, report in fixtures.vulnerability_reports {
		present.result.violations == set() with input as report
		present.result.skipped == false with input as report
	}
}

test_skips_other_documents if {
	every document in fixtures.not_reports {
		present.result.skipped with input as document
		present.result.violations == set() with input as document
	}
}
