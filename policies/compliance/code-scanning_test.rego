package compliance.code_scanning_test

import data.compliance.code_scanning
import data.lib.fixtures_test as fixtures

injection := {"ruleId": "js/sql-injection", "message": {"text": "This query is bad."}, "locations": []}

test_passes if {
	code_scanning.result == {"skipped": false, "violations": set()} with input as fixtures.codeql
	code_scanning.result.violations == set() with input as fixtures.with_value(fixtures.code_alerts, "0/state", "dismissed")
	code_scanning.result.violations == set() with input as fixtures.with_value(fixtures.gitlab_sast, "vulnerabilities/0/severity", "Medium")
}

test_fails if {
	code_scanning.result.violations == {{"message": "CodeQL: js/sql-injection at no place: This query is bad.", "id": "js/sql-injection", "severity": "high"}} with input as fixtures.with_result(fixtures.codeql, injection)
	fixtures.messages(code_scanning.result) == {"CodeQL: js/sql-injection at src/a.js: This query depends on a user-provided value."} with input as fixtures.code_alerts
	count(code_scanning.result.violations) == 1 with input as {"elements": fixtures.code_alerts}
	fixtures.messages(code_scanning.result) == {"Semgrep: sqli at src/a.js: SQL injection"} with input as fixtures.gitlab_sast
}

level(result) := severities if {
	severities := {violation.severity | some violation in code_scanning.result.violations} with input as fixtures.with_value(fixtures.codeql, "runs/0/results", [result])
		with data.parameters as {"code_severity": "unknown"}
}

test_levels if {
	level({"ruleId": "js/sql-injection", "message": {}}) == {"high"}
	level({"ruleId": "js/sql-injection", "level": "note", "message": {}}) == {"low"}
	level({"ruleId": "other", "message": {}}) == {"medium"}
	level({"ruleId": "js/sql-injection", "message": {}, "suppressions": [{"kind": "inSource"}]}) == {"high"}
}

test_threshold if {
	fixtures.messages(code_scanning.result) == {"CodeQL: js/unused-local-variable at src/a.js:7: Unused variable x."} with input as fixtures.codeql with data.parameters as {"code_severity": "low"}
	code_scanning.result.violations == set() with input as fixtures.code_alerts with data.parameters as {"code_severity": "critical"}
}

test_unreadable if {
	fixtures.messages(code_scanning.result) == {"the document isn't a readable report of a scanner: runs.0: results is required"} with input as fixtures.without(fixtures.codeql, "runs/0/results")
	code_scanning.result.skipped == false with input as fixtures.without(fixtures.codeql, "runs/0/results")
	fixtures.messages(code_scanning.result) == {"the document isn't a readable report of a scanner: runs: Array must have at least 1 items"} with input as {"version": "2.1.0", "runs": []}
	fixtures.messages(code_scanning.result) == {"the document isn't a readable report of a scanner: scan.status: scan.status must be one of the following: \"success\""} with input as fixtures.with_value(fixtures.gitlab_sast, "scan/status", "failure")
}

released(kind, text) := found if {
	found := fixtures.messages(code_scanning.result) with input as fixtures.release
		with platform.evidence as {"results": [fixtures.row(kind, "scan", "sha256:1")]}
		with platform.download_artifact as text
}

test_release if {
	released("SARIF", json.marshal(fixtures.codeql)) == set()
	released("SARIF", json.marshal(fixtures.trivy_sarif)) == set()
	released("SARIF", "{}") == {"`scan` isn't a readable report of a scanner"}
	released("SARIF", "text") == {"`scan` isn't a readable report of a scanner"}
	released("GHAS_CODE_SCAN", "[]") == set()
	released("GHAS_CODE_SCAN", "{}") == {"`scan` isn't a readable report of a scanner"}
	count(released("GHAS_CODE_SCAN", json.marshal(fixtures.code_alerts))) == 1
}

test_skips_other_documents if {
	every document in [{}, [], null, "", 5, fixtures.syft, fixtures.trivy, fixtures.grype_sarif, fixtures.github_provenance, fixtures.dockerfile] {
		code_scanning.result.skipped with input as document
		code_scanning.result.violations == set() with input as document
	}
}
