package compliance.requirements_test

import data.compliance.requirements
import data.lib.fixtures_test as fixtures

evaluation(status) := {
	"framework_id": "f1",
	"requirement_id": "r1",
	"display_name": "SBOM",
	"status": status,
	"project_version_id": "9b2d",
}

test_fails if {
	every status in ["fail", "pending", "partial", "inactive", "new", ""] {
		requirements.result.violations == {{"message": sprintf("the requirement `SBOM` has the status `%s`", [status]), "id": "r1", "framework_id": "f1"}} with input as fixtures.release
			with platform.project_compliance as {"evaluations": [evaluation(status)]}
	}
}

test_another_version if {
	fixtures.messages(requirements.result) == {"the requirement `SBOM` was evaluated for the version `other`"} with input as fixtures.release
		with platform.project_compliance as {"evaluations": [object.union(evaluation("pass"), {"project_version_id": "other"})]}
}

test_passes if {
	requirements.result == {"skipped": false, "violations": set()} with input as fixtures.release
		with platform.project_compliance as {"evaluations": [evaluation("pass")]}
	requirements.result.violations == set() with input as fixtures.release
		with platform.project_compliance as {"evaluations": [evaluation("inactive")]}
		with data.parameters as {"passing_statuses": ["pass", "inactive"]}
}

test_skips_other_documents if {
	every document in fixtures.not_compliance {
		requirements.result.skipped with input as document
		requirements.result.violations == set() with input as document
	}
}
