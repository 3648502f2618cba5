# METADATA
# title: Required evidence exists and comes from the right workflow
# description: >-
#   Guards against a release that skipped a step, and against evidence that was uploaded
#   manually instead of by the workflow that should have created it.
# custom:
#   severity: high
package required_evidence

# The workflow that creates each kind of evidence.
required := {
	"JUNIT_XML": "build",
	"SARIF": "security-scan",
	"SBOM_CYCLONEDX_JSON": "build",
}

# METADATA
# title: Violations
# entrypoint: true
deny contains message if {
	some field in ["project", "version", "project_version_id"]
	not input[field]
	message := sprintf("the input has no `%s`", [field])
}

deny contains message if {
	some kind, workflow in required
	not kind in present
	message := sprintf("missing %s from the workflow `%s`", [kind, workflow])
}

deny contains message if {
	some row in rows
	required[row.kind] != row.workflow_name
	message := sprintf(
		"%s `%s` comes from the workflow `%s`, not from `%s`",
		[row.kind, row.name, row.workflow_name, required[row.kind]],
	)
}

present contains row.kind if {
	some row in rows
	required[row.kind] == row.workflow_name
}

# The service filters, and this policy compares exactly: evidence of a project with a similar name,
# or of another version, doesn't count.
rows := {row |
	some row in evidence.results
	row.project_name == input.project
	row.project_version_id == input.project_version_id
}

evidence := platform.evidence({
	"project_name": input.project,
	"project_version_name": input.version,
	"latest": true,
	"hide_attestation": true,
})
