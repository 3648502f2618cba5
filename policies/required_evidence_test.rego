package required_evidence_test

import data.required_evidence

release := {"project": "shop", "version": "v1", "project_version_id": "1"}

row(kind, workflow) := {
	"kind": kind,
	"name": lower(kind),
	"workflow_name": workflow,
	"project_name": "shop",
	"project_version_id": "1",
}

complete := [
	row("JUNIT_XML", "build"),
	row("SARIF", "security-scan"),
	row("SBOM_CYCLONEDX_JSON", "build"),
]

denied(rows) := messages if {
	messages := required_evidence.deny with input as release with platform.evidence as {"results": rows}
}

test_complete_evidence_passes if denied(complete) == set()

test_other_kinds_may_come_from_anywhere if denied(array.concat(complete, [row("EVIDENCE", "manual-upload")])) == set()

test_nothing_is_no_pass if count(denied([])) == 3

# A filter by name that matches more than the name.
test_evidence_of_other_projects_is_no_evidence if {
	others := [object.union(one, {"project_name": "shop-frontend"}) | some one in complete]
	count(denied(others)) == 3
}

test_evidence_of_other_versions_is_no_evidence if {
	others := [object.union(one, {"project_version_id": "2"}) | some one in complete]
	count(denied(others)) == 3
}

test_upload_beside_the_right_one_is_refused if {
	rows := array.concat(complete, [row("SARIF", "manual-upload")])
	denied(rows) == {"SARIF `sarif` comes from the workflow `manual-upload`, not from `security-scan`"}
}
