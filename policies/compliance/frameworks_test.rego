package compliance.frameworks_test

import data.compliance.frameworks
import data.lib.fixtures_test as fixtures

evaluation := {"framework_id": "f1", "requirement_id": "r1", "status": "pass", "project_version_id": "9b2d"}

test_fails if {
	fixtures.messages(frameworks.result) == {"no framework was evaluated for this release"} with input as fixtures.release
		with platform.project_compliance as {"evaluations": []}
	fixtures.messages(frameworks.result) == {"the framework `f2` wasn't evaluated"} with input as fixtures.release
		with platform.project_compliance as {"evaluations": [evaluation]}
		with data.parameters as {"required_frameworks": ["f1", "f2"]}
}

test_passes if {
	frameworks.result == {"skipped": false, "violations": set()} with input as fixtures.release
		with platform.project_compliance as {"evaluations": [evaluation]}
		with data.parameters as {"required_frameworks": ["f1"]}
}

test_skips_other_documents if {
	every document in fixtures.not_compliance {
		frameworks.result.skipped with input as document
		frameworks.result.violations == set() with input as document
	}
}
