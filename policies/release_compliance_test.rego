package release_compliance_test

import data.release_compliance

evaluation(framework, status, version) := {
	"framework_id": framework,
	"display_name": "Signed",
	"requirement_id": "1",
	"status": status,
	"project_version_id": version,
}

violations(status, version) := found if {
	evaluations := [evaluation(id, status, version) | some id, _ in release_compliance.required_frameworks]
	found := release_compliance.violations with input as {"project_version_id": "1"}
		with platform.project_compliance as {"evaluations": evaluations}
}

test_pass if violations("pass", "1") == set()

test_every_other_status_is_a_violation if {
	every status in ["", "PASS", "passed", "partial", "pending", "unknown", "not_applicable"] {
		count(violations(status, "1")) == 2
	}
}

test_evaluations_of_another_version_are_refused if count(violations("pass", "2")) == 1

test_nothing_evaluated if {
	found := release_compliance.violations with input as {"project_version_id": "1"}
		with platform.project_compliance as {"evaluations": []}
	count(found) == 2
}
