package compliance.evidence_workflow_test

import data.compliance.evidence_workflow
import data.lib.fixtures_test as fixtures

test_fails if {
	fixtures.messages(evidence_workflow.result) == {"the evidence `scan` (SARIF) comes from the workflow `build`"} with input as fixtures.release
		with platform.evidence as {"results": [fixtures.row("SARIF", "scan", "sha256:1")]}
		with data.parameters as {"evidence_workflows": ["SARIF=security-scan", "JUNIT_XML=build"]}
}

test_passes if {
	evidence_workflow.result == {"skipped": false, "violations": set()} with input as fixtures.release
		with platform.evidence as {"results": [fixtures.row("SARIF", "scan", "sha256:1"), fixtures.row("OPENVEX", "vex", "sha256:2")]}
		with data.parameters as {"evidence_workflows": ["SARIF=security-scan", "SARIF=build"]}
	evidence_workflow.result.violations == set() with input as fixtures.release
		with platform.evidence as {"results": [fixtures.row("SARIF", "scan", "sha256:1")]}
}

test_skips_other_documents if {
	every document in fixtures.not_compliance {
		evidence_workflow.result.skipped with input as document
		evidence_workflow.result.violations == set() with input as document
	}
}
