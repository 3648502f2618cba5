package static_analysis_test

import data.static_analysis

release := {"project": "shop", "version": "v1", "project_version_id": "1"}

evidence := {"results": [{
	"kind": "SARIF",
	"name": "scan",
	"digest": "sha256:1",
	"project_name": "shop",
	"project_version_id": "1",
}]}

problems(content) := found if {
	found := static_analysis.problems with input as release
		with platform.evidence as evidence
		with platform.download_artifact as content
}

sarif(results) := json.marshal({"version": "2.1.0", "runs": [{
	"tool": {"driver": {"rules": [
		{"id": "strict", "defaultConfiguration": {"level": "error"}},
		{"id": "plain"},
	]}},
	"results": results,
}]})

test_tolerated if problems(sarif([{"level": "note"}, {"level": "warning"}, {"ruleId": "plain"}])) == set()

test_rule_decides_where_the_result_does_not if {
	finding := {"ruleId": "strict", "message": {"text": "bad"}}
	problems(sarif([finding])) == {"scan: error: bad (no location)"}
}

test_unheard_of_levels_and_rules_are_refused if {
	count(problems(sarif([{"level": "critical"}]))) == 1
	count(problems(sarif([{"level": null}]))) == 1
	count(problems(sarif([{"ruleId": "elsewhere"}]))) == 1
	count(problems(sarif([{}]))) == 1
}

test_no_report if {
	every content in ["", "{}", `{"version": "2.1.0"}`, `{"version": "2.1.0", "runs": []}`, `{"version": "2.1.0", "runs": "x"}`] {
		problems(content) == {"`scan` isn't a SARIF report with at least one run"}
	}
	problems(`{"version": "2.1.0", "runs": [{}]}`) == {"a run in `scan` has no results"}
}
