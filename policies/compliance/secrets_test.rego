package compliance.secrets_test

import data.compliance.secrets
import data.lib.fixtures_test as fixtures

test_fails if {
	every document in fixtures.secret_reports {
		count(secrets.result.violations) == 1 with input as document
	}
	every expected in [
		{"document": fixtures.gitleaks, "message": "a secret was found: generic-api-key at config/secrets.env:7"},
		{"document": fixtures.gitleaks_sarif, "message": "a secret was found: generic-api-key at config/secrets.env:7"},
		{"document": fixtures.trufflehog, "message": "a secret was found: AWS at config/secrets.env"},
		{"document": [fixtures.trufflehog], "message": "a secret was found: AWS at config/secrets.env"},
		{"document": fixtures.trivy_secrets, "message": "a secret was found: aws-access-key-id at config/secrets.env:7"},
		{"document": fixtures.secret_alerts, "message": "a secret was found: azure_storage_account_key at alert 8"},
		{"document": fixtures.gitlab_secrets, "message": "a secret was found: AWS access token at src/a.js"},
		{"document": fixtures.without(fixtures.trufflehog, "SourceMetadata"), "message": "a secret was found: AWS at no place"},
	] {
		fixtures.messages(secrets.result) == {expected.message} with input as expected.document
	}
}

test_passes if {
	every document in [
		fixtures.with_value(fixtures.secret_alerts, "0/state", "resolved"),
		fixtures.with_value(fixtures.gitlab_secrets, "vulnerabilities", []),
		fixtures.with_value(fixtures.gitleaks_sarif, "runs/0/results", []),
		fixtures.with_value(fixtures.trivy_secrets, "Results/0/Secrets", null),
	] {
		secrets.result == {"skipped": false, "violations": set()} with input as document
	}
}

test_unreadable if {
	fixtures.messages(secrets.result) == {"the document isn't a readable report of a scanner: runs.0: results is required"} with input as fixtures.without(fixtures.gitleaks_sarif, "runs/0/results")
}

released(kind, text) := found if {
	found := secrets.result with input as fixtures.release
		with platform.evidence as {"results": [fixtures.row(kind, "scan", "sha256:1")]}
		with platform.download_artifact as text
}

test_release if {
	every text in ["[]", "null"] {
		released("GITLEAKS_JSON", text) == {"skipped": false, "violations": set()}
	}
	released("TRUFFLEHOG_JSON", "") == {"skipped": false, "violations": set()}
	lines := concat("\n", [json.marshal(fixtures.trufflehog), json.marshal(fixtures.with_value(fixtures.trufflehog, "DetectorName", "Slack")), ""])
	count(released("TRUFFLEHOG_JSON", lines).violations) == 2
	fixtures.messages(released("GITLEAKS_JSON", "{}")) == {"`scan` isn't a readable report of a scanner"}
	released("SARIF", json.marshal(fixtures.codeql)).skipped
	count(released("SARIF", json.marshal(fixtures.gitleaks_sarif)).violations) == 1
}

test_skips_other_documents if {
	every document in [{}, [], null, "", 5, fixtures.syft, fixtures.trivy, fixtures.grype_sarif, fixtures.github_provenance, fixtures.dockerfile] {
		secrets.result.skipped with input as document
		secrets.result.violations == set() with input as document
	}
}
