# METADATA
# title: The release was tested and no test failed
# description: >-
#   Guards against releasing without tests, or with tests that fail. Reads JUnit reports; Rego has no
#   XML parser, so this counts elements, including prefixed ones, and may count too many.
# custom:
#   severity: high
package test_reports

# METADATA
# title: Violations
# entrypoint: true
deny contains message if {
	some field in ["project", "version", "project_version_id"]
	not input[field]
	message := sprintf("the input has no `%s`", [field])
}

deny contains "the release has no test report" if count(reports) == 0

deny contains message if {
	some report in reports
	not tested(report.digest)
	message := sprintf("`%s` reports no test", [report.name])
}

deny contains message if {
	some report in reports
	some outcome in ["error", "failure"]
	found := elements(report.digest, outcome)
	found > 0
	message := sprintf("`%s` reports %d with the outcome `%s`", [report.name, found, outcome])
}

# METADATA
# title: Skipped tests
# entrypoint: true
warn contains message if {
	some report in reports
	found := elements(report.digest, "skipped")
	found > 0
	message := sprintf("`%s` reports %d skipped", [report.name, found])
}

reports := {row |
	some row in evidence.results
	row.project_name == input.project
	row.project_version_id == input.project_version_id
	row.kind == "JUNIT_XML"
}

# Only the latest: a report replaces an earlier one of the same name.
evidence := platform.evidence({
	"project_name": input.project,
	"project_version_name": input.version,
	"kind": ["JUNIT_XML"],
	"latest": true,
})

contents[report.digest] := content if {
	some report in reports
	content := platform.download_artifact(report.digest)
}

tested(digest) if elements(digest, "testcase") > 0

elements(digest, name) := count(regex.find_n(sprintf(`<([A-Za-z_][\w.-]*:)?%s[\s/>]`, [name]), contents[digest], -1))
