package lib.scans_test

import data.lib.fixtures_test as fixtures
import data.lib.scans

test_formats if {
	every expected in [
		{"document": fixtures.codeql, "format": "SARIF"},
		{"document": fixtures.trivy_sarif, "format": ""},
		{"document": fixtures.gitleaks_sarif, "format": "secrets in SARIF"},
		{"document": json.patch(fixtures.gitleaks_sarif, [{"op": "replace", "path": "runs/0/tool/driver/name", "value": "TruffleHog"}]), "format": "secrets in SARIF"},
		{"document": object.union(fixtures.codeql, {"version": "1.0.0"}), "format": ""},
		{"document": fixtures.code_alerts, "format": "code alerts"},
		{"document": {"elements": fixtures.code_alerts}, "format": "code alerts"},
		{"document": fixtures.secret_alerts, "format": "secret alerts"},
		{"document": fixtures.gitlab_sast, "format": "GitLab SAST"},
		{"document": fixtures.gitlab_secrets, "format": "GitLab secrets"},
		{"document": fixtures.gitleaks, "format": "Gitleaks"},
		{"document": [{"Fingerprint": "a"}], "format": ""},
		{"document": [{"RuleID": "a"}], "format": ""},
		{"document": fixtures.trufflehog, "format": "TruffleHog line"},
		{"document": [fixtures.trufflehog], "format": "TruffleHog"},
		{"document": fixtures.trivy_secrets, "format": "Trivy"},
		{"document": fixtures.trivy, "format": ""},
		{"document": object.remove(fixtures.trivy_secrets, ["SchemaVersion"]), "format": ""},
		{"document": fixtures.syft, "format": ""},
		{"document": [], "format": ""},
		{"document": null, "format": ""},
	] {
		scans.format(expected.document) == expected.format
	}
}

mismatched(document) := found if {
	found := fixtures.messages(scans.code_verdict(set())) | fixtures.messages(scans.secrets_verdict(set())) with input as document
}

test_schemas if {
	every expected in [
		{"document": fixtures.without(fixtures.codeql, "runs/0/tool"), "reason": "runs.0: tool is required"},
		{"document": fixtures.without(fixtures.codeql, "runs/0/tool/driver"), "reason": "runs.0.tool: driver is required"},
		{"document": fixtures.without(fixtures.codeql, "runs/0/tool/driver/name"), "reason": "runs.0.tool.driver: name is required"},
		{"document": fixtures.without(fixtures.codeql, "runs/0/results/0/message"), "reason": "runs.0.results.0: message is required"},
		{"document": fixtures.without(fixtures.gitlab_sast, "vulnerabilities"), "reason": "vulnerabilities is required"},
		{"document": fixtures.with_value(fixtures.gitlab_secrets, "vulnerabilities/0", 5), "reason": "vulnerabilities.0: Invalid type. Expected: object, given: integer"},
		{"document": fixtures.with_value(fixtures.trivy_secrets, "Results/0/Secrets", [{}]), "reason": "Results.0.Secrets.0: RuleID is required"},
	] {
		mismatched(expected.document) == {sprintf("the document isn't a readable report of a scanner: %s", [expected.reason])}
	}
	every document in [[object.remove(fixtures.code_alerts[0], ["state"])], [object.remove(fixtures.code_alerts[0], ["rule"])]] {
		count(scans.code_verdict(set()).violations) > 0 with input as document
	}
	every document in [[object.remove(fixtures.secret_alerts[0], ["state"])], [object.remove(fixtures.gitleaks[0], ["File"])]] {
		count(scans.secrets_verdict(set()).violations) > 0 with input as document
	}
}

test_places if {
	scans.place({}) == "no place"
	scans.place({"physicalLocation": {"artifactLocation": {"uri": "a"}}}) == "a:1"
	scans.place({"physicalLocation": {"artifactLocation": {"uri": "a"}, "region": {"startLine": 7}}}) == "a:7"
}

test_code if {
	scans.code == [{
		"label": "the document",
		"tool": "CodeQL",
		"rule": "js/unused-local-variable",
		"level": "note",
		"severity": "low",
		"message": "Unused variable x.",
		"place": "src/a.js:7",
	}] with input as fixtures.codeql
	scans.code[0].severity == "high" with input as fixtures.code_alerts
	scans.code[0].level == "error" with input as fixtures.without(fixtures.code_alerts, "0/rule/security_severity_level")
	scans.code[0].tool == "Semgrep" with input as fixtures.gitlab_sast
	scans.code[0].message == "x" with input as fixtures.with_value(fixtures.without(fixtures.gitlab_sast, "vulnerabilities/0/name"), "vulnerabilities/0/description", "x")
}

test_secrets if {
	scans.secrets == [{"label": "the document", "rule": "generic-api-key", "place": "config/secrets.env:7"}] with input as fixtures.gitleaks
	scans.secrets[0].rule == "x" with input as fixtures.with_value(fixtures.without(fixtures.gitlab_secrets, "vulnerabilities/0/name"), "vulnerabilities/0/category", "x")
	scans.secrets[0].place == "alert 0" with input as fixtures.without(fixtures.secret_alerts, "0/number")
	scans.secrets[0].place == "config/secrets.env:1" with input as fixtures.without(fixtures.gitleaks, "0/StartLine")
	scans.secrets[0].place == "config/secrets.env:1" with input as fixtures.without(fixtures.trivy_secrets, "Results/0/Secrets/0/StartLine")
}

test_verdicts if {
	scans.code_verdict({1}) == {"skipped": true, "skip_reason": "the input has no report of a code scanner", "violations": {1}} with input as fixtures.gitleaks
	scans.secrets_verdict({1}) == {"skipped": true, "skip_reason": "the input has no report of a scanner for secrets", "violations": {1}} with input as fixtures.codeql
	scans.code_verdict({1}) == {"skipped": false, "violations": {1}} with input as fixtures.codeql
	scans.secrets_verdict({1}) == {"skipped": false, "violations": {1}} with input as fixtures.gitleaks
}

released(kind, text) := found if {
	found := {"code": scans.code_verdict(set()), "secrets": scans.secrets_verdict(set())} with input as fixtures.release
		with platform.evidence as {"results": [fixtures.row(kind, "a", "sha256:1")]}
		with platform.download_artifact as text
}

test_evidence if {
	every text in ["[]", "null", ""] {
		released("GHAS_CODE_SCAN", text).code == {"skipped": false, "violations": set()}
		released("GITLEAKS_JSON", text).secrets == {"skipped": false, "violations": set()}
		released("SARIF", text).secrets.skipped
	}
	every kind in ["GHAS_CODE_SCAN", "SARIF"] {
		fixtures.messages(released(kind, "{}").code) == {"`a` isn't a readable report of a scanner"}
	}
	every kind in ["GHAS_SECRET_SCAN", "GITLEAKS_JSON", "TRUFFLEHOG_JSON"] {
		fixtures.messages(released(kind, "{}").secrets) == {"`a` isn't a readable report of a scanner"}
	}
	released("GITLAB_SECURITY_REPORT", "{}").code.skipped
	released("SARIF", json.marshal(fixtures.grype_sarif)).code.skipped
}
