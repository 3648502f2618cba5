# METADATA
# title: Static analysis ran and found no error
# description: >-
#   Guards against releasing with findings that the scanner calls errors. Suppressed findings count
#   too: the author of the source decides about those.
# custom:
#   severity: high
package static_analysis

# Levels that may pass; SARIF also has `error`.
tolerated := {"none", "note", "warning"}

# METADATA
# title: Verdict
# description: In the format of the platform's own command.
# entrypoint: true
result := {
	"skipped": false,
	"skip_reason": "",
	"ignore": false,
	"violations": problems,
}

problems contains message if {
	some field in ["project", "version", "project_version_id"]
	not input[field]
	message := sprintf("the input has no `%s`", [field])
}

problems contains "the release has no SARIF report" if count(reports) == 0

problems contains message if {
	some report in reports
	not logs[report.digest]
	message := sprintf("`%s` isn't a SARIF report with at least one run", [report.name])
}

problems contains message if {
	some report in reports
	some run in logs[report.digest].runs
	not has_results(run)
	message := sprintf("a run in `%s` has no results", [report.name])
}

problems contains message if {
	some report in reports
	some run in logs[report.digest].runs
	some finding in run.results
	grade := level(run, finding)
	not grade in tolerated
	message := sprintf("%s: %s: %s (%s)", [report.name, grade, text(finding), place(finding)])
}

reports := {row |
	some row in evidence.results
	row.project_name == input.project
	row.project_version_id == input.project_version_id
	row.kind == "SARIF"
}

evidence := platform.evidence({
	"project_name": input.project,
	"project_version_name": input.version,
	"kind": ["SARIF"],
	"latest": true,
})

contents[report.digest] := content if {
	some report in reports
	content := platform.download_artifact(report.digest)
}

logs[digest] := log if {
	some digest, content in contents
	json.is_valid(content)
	log := json.unmarshal(content)
	startswith(log.version, "2.")
	is_array(log.runs)
	count(log.runs) > 0
}

has_results(run) if is_array(run.results)

# A result without a level has its rule's default, which is `warning` where the rule has none.
level(run, finding) := finding.level if {
	finding.level
} else := "warning" if {
	rule := rules(run)[finding.ruleId]
	not rule.defaultConfiguration.level
} else := level_of_rule if {
	level_of_rule := rules(run)[finding.ruleId].defaultConfiguration.level
} else := "unknown"

rules(run) := {rule.id: rule | some rule in run.tool.driver.rules}

text(finding) := object.get(finding, ["message", "text"], object.get(finding, "ruleId", "?"))

place(finding) := sprintf("%s:%d", [location.artifactLocation.uri, location.region.startLine]) if {
	location := finding.locations[0].physicalLocation
} else := "no location"
