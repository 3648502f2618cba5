package compliance.evidence_present_test

import data.compliance.evidence_present
import data.lib.fixtures_test as fixtures

present(kinds) := {"results": [fixtures.row(kind, "a", "sha256:1") | some kind in kinds]}

test_fails if {
	fixtures.messages(evidence_present.result) == {"the release has no evidence of the kind `SARIF`"} with input as fixtures.release
		with platform.evidence as present(["SBOM_CYCLONEDX_JSON", "JUNIT_XML"])
	count(evidence_present.result.violations) == 3 with input as fixtures.release with platform.evidence as present([])
	fixtures.messages(evidence_present.result) == {"the release has no evidence of the kind `OPENVEX`"} with input as fixtures.release
		with platform.evidence as present([])
		with data.parameters as {"required_evidence": ["OPENVEX"]}
}

test_other_projects_and_versions if {
	every member in [{"project_name": "shop2"}, {"project_version_id": "other"}] {
		count(evidence_present.result.violations) == 1 with input as fixtures.release
			with platform.evidence as {"results": [object.union(fixtures.row("SARIF", "a", "sha256:1"), member)]}
			with data.parameters as {"required_evidence": ["SARIF"]}
	}
}

test_passes if {
	evidence_present.result == {"skipped": false, "violations": set()} with input as fixtures.release
		with platform.evidence as present(["SBOM_CYCLONEDX_JSON", "SARIF", "JUNIT_XML"])
}

test_skips_other_documents if {
	every document in fixtures.not_compliance {
		evidence_present.result.skipped with input as document
		evidence_present.result.violations == set() with input as document
	}
}
