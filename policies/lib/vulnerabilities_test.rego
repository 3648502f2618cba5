package lib.vulnerabilities_test

import data.lib.fixtures_test as fixtures
import data.lib.vulnerabilities

test_one_vulnerability_in_each_report if {
	every _, report in fixtures.vulnerability_reports {
		found := vulnerabilities.all with input as report
		count(found) == 1
		found[0].id == "CVE-2021-44228"
		found[0].severity == "critical"
		count(found[0].fixed) > 0
		"CVE-2021-44228" in found[0].names
		lower(replace(found[0]["package"], "/", ":")) == "org.apache.logging.log4j:log4j-core"
	}
}

test_versions if {
	every _, report in object.remove(fixtures.vulnerability_reports, ["dependabot"]) {
		vulnerabilities.all[0].version == "2.14.1" with input as report
	}
}

test_all_reports_have_one_vulnerability if {
	found := vulnerabilities.all with input as fixtures.files(fixtures.vulnerability_reports)
	count(found) == 1
	found[0].exploited == true
	found[0].epss == 0.94
	found[0].purl == "pkg:maven/org.apache.logging.log4j/log4j-core@2.14.1"
	count(found[0].labels) == 9
	"2.12.2" in found[0].fixed
	found[0].schemes == {"ghsa", "github:language:java", "CVSS", "Snyk", "GitHub", "GitLab", "Trivy", "grype", "osv-scanner"}
}

test_packages_stay_apart if {
	other := fixtures.with_value(fixtures.trivy, "Results/0/Vulnerabilities/0/PkgIdentifier/PURL", "pkg:maven/org.apache.logging.log4j/log4j-api@2.14.1")
	found := vulnerabilities.all with input as fixtures.files({"a.json": fixtures.grype, "b.json": other})
	{vulnerability["package"] | some vulnerability in found} == {"org.apache.logging.log4j:log4j-core", "org.apache.logging.log4j:log4j-api"}
}

# Only one report gives the alias.
test_names_of_other_reports if {
	unnamed := fixtures.without(fixtures.grype, "matches/0/relatedVulnerabilities")
	alone := vulnerabilities.all with input as unnamed
	alone[0].id == "GHSA-jfh8-c2jp-5v3q"
	both := vulnerabilities.all with input as fixtures.files({"a.json": unnamed, "b.json": fixtures.osv})
	{vulnerability.id | some vulnerability in both} == {"CVE-2021-44228"}
}

test_ranks if {
	every severity, rank in {
		"CRITICAL": 5, "10.0": 5, "9": 5,
		"High": 4, "8.9": 4, "7": 4, "important": 4, "error": 4,
		"moderate": 3, "6.9": 3, "4.0": 3, "warning": 3, "MEDIUM": 3,
		"low": 2, "3.9": 2, "0.1": 2, "note": 2, "minor": 2,
		"Negligible": 1, "info": 1, "none": 1,
		"UNKNOWN": 0, "": 0, "0.0": 0, "x9": 0,
	} {
		vulnerabilities.rank(severity) == rank
	}
	vulnerabilities.at_least("high", "high")
	not vulnerabilities.at_least("medium", "high")
}

test_severity_of_osv_without_a_score if {
	document := fixtures.with_value(fixtures.osv, "results/0/packages/0/groups/0/max_severity", "")
	vulnerabilities.all[0].severity == "critical" with input as document
	unrated := fixtures.without(document, "results/0/packages/0/vulnerabilities/0/database_specific")
	vulnerabilities.all[0].severity == "unknown" with input as unrated
}

test_severity_of_sarif if {
	silent := fixtures.with_value(fixtures.trivy_sarif, "runs/0/results/0/message/text", "Package: a")
	vulnerabilities.all[0].severity == "critical" with input as silent
	numeric := fixtures.with_value(silent, "runs/0/tool/driver/rules/0/properties/security-severity", 5.5)
	vulnerabilities.all[0].severity == "medium" with input as numeric
	unrated := fixtures.without(silent, "runs/0/tool/driver/rules/0/properties")
	vulnerabilities.all[0].severity == "high" with input as unrated
	mistyped := fixtures.with_value(silent, "runs/0/tool/driver/rules/0/properties/security-severity", null)
	vulnerabilities.all[0].severity == "high" with input as mistyped
	levelless := fixtures.without(unrated, "runs/0/results/0/level")
	vulnerabilities.all[0].severity == "unknown" with input as levelless
}

test_sarif_of_osv_scanner if {
	found := vulnerabilities.all with input as fixtures.osv_sarif
	found[0].names == {"CVE-2021-44228", "GHSA-jfh8-c2jp-5v3q"}
	found[0].fixed == {"2.15.0"}
}

test_sarif_of_snyk if {
	document := {"version": "2.1.0", "runs": [{
		"tool": {"driver": {"name": "Snyk Open Source", "rules": []}},
		"results": [
			{"ruleId": "SNYK-JS-LODASH-567746", "level": "error", "message": {"text": "This file introduces a vulnerable lodash package with a high severity vulnerability."}},
			{"ruleId": "javascript/NoHardcodedPasswords", "level": "error", "message": {"text": "x"}},
		],
	}]}
	found := vulnerabilities.all with input as document
	count(found) == 1
	found[0].id == "SNYK-JS-LODASH-567746"
	found[0]["package"] == "lodash"
}

test_vulnerability_names if {
	every text, name in {
		"CVE-2024-1234": "CVE-2024-1234",
		"CVE-2024-1234-libssl3": "CVE-2024-1234",
		"GHSA-jfh8-c2jp-5v3q-log4j": "GHSA-jfh8-c2jp-5v3q",
		"GO-2024-2687": "GO-2024-2687",
		"RUSTSEC-2022-0013": "RUSTSEC-2022-0013",
		"js/sql-injection": "",
		"XCVE-2024-1234": "",
		"": "",
	} {
		vulnerabilities.vulnerability_name(text) == name
	}
}

test_formats if {
	every document, format in {
		{"SchemaVersion": 2, "ArtifactName": "a"}: "Trivy",
		{"results": []}: "OSV-Scanner",
		{"results": [], "errors": []}: "",
		{"ok": false, "error": "no token", "path": "."}: "Snyk",
		{"scan": {"type": "sast"}, "vulnerabilities": []}: "",
		{"scan": {"type": "container_scanning"}, "vulnerabilities": []}: "GitLab",
		{"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "CodeQL"}}, "results": []}]}: "",
		{"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "Trivy"}}, "results": []}]}: "SARIF",
		{"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "Other"}}, "results": [{"ruleId": "CVE-2024-1234"}]}]}: "SARIF",
		{"version": "1.0.0", "runs": [{"tool": {"driver": {"name": "Trivy"}}, "results": []}]}: "",
	} {
		vulnerabilities.format(document) == format
	}
}

test_reasons if {
	every _, expected in {
		"trivy": {"document": fixtures.with_value(fixtures.trivy, "SchemaVersion", 1), "reasons": ["SchemaVersion: SchemaVersion must be one of the following: 2"]},
		"trivy_name": {"document": fixtures.without(fixtures.trivy, "Results/0/Vulnerabilities/0/PkgName"), "reasons": ["Results.0.Vulnerabilities.0: PkgName is required"]},
		"grype": {"document": fixtures.without(fixtures.grype, "matches/0/artifact/name"), "reasons": ["matches.0.artifact: name is required"]},
		"osv": {"document": fixtures.with_value(fixtures.osv, "results/0/packages/0/groups/0/ids", []), "reasons": ["results.0.packages.0.groups.0.ids: Array must have at least 1 items"]},
		"snyk": {"document": fixtures.without(fixtures.snyk, "vulnerabilities"), "reasons": ["vulnerabilities is required"]},
		"snyk_error": {"document": {"ok": false, "error": "no token", "path": "."}, "reasons": ["the scan failed: no token"]},
		"dependabot": {"document": fixtures.without(fixtures.dependabot, "0/state"), "reasons": ["0: state is required"]},
		"gitlab": {"document": fixtures.with_value(fixtures.gitlab, "scan/status", "failure"), "reasons": ["scan.status: scan.status must be one of the following: \"success\""]},
		"gitlab_identifiers": {"document": fixtures.with_value(fixtures.gitlab, "vulnerabilities/0/identifiers", []), "reasons": ["vulnerabilities.0.identifiers: Array must have at least 1 items"]},
		"sarif": {"document": fixtures.without(fixtures.trivy_sarif, "runs/0/results"), "reasons": ["runs.0: results is required"]},
		"none": {"document": {}, "reasons": ["expected the JSON of a scanner, or SARIF"]},
	} {
		vulnerabilities.reasons(expected.document) == expected.reasons
	}
}

test_nothing_found if {
	every document in [
		fixtures.with_value(fixtures.trivy, "Results", null),
		fixtures.without(fixtures.trivy, "Results"),
		fixtures.with_value(fixtures.trivy, "Results/0/Vulnerabilities", null),
		fixtures.with_value(fixtures.grype, "matches", []),
		fixtures.with_value(fixtures.osv, "results", null),
		fixtures.with_value(fixtures.snyk, "vulnerabilities", []),
		fixtures.with_value(fixtures.dependabot, "0/state", "fixed"),
		fixtures.with_value(fixtures.gitlab, "vulnerabilities", []),
		fixtures.with_value(fixtures.trivy_sarif, "runs/0/results", []),
	] {
		vulnerabilities.all == [] with input as document
		count(vulnerabilities.reports) == 1 with input as document
	}
}

test_several_projects_of_snyk if {
	other := fixtures.with_value(fixtures.snyk, "vulnerabilities/0/packageName", "other")
	count(vulnerabilities.all) == 2 with input as [fixtures.snyk, other]
}

test_wrapped_alerts if {
	count(vulnerabilities.all) == 1 with input as {"elements": fixtures.dependabot}
}

test_attestation_of_a_scan if {
	predicate := {"scanner": {"uri": "pkg:github/aquasecurity/trivy@0.66.0", "result": fixtures.without(fixtures.trivy, "CreatedAt")}, "metadata": {"scanFinishedOn": "2026-01-01T00:00:00Z"}}
	attestation := fixtures.attested("https://cosign.sigstore.dev/attestation/vuln/v1", predicate)
	count(vulnerabilities.all) == 1 with input as attestation
	vulnerabilities.reports[0].time == "2026-01-01T00:00:00Z" with input as attestation
}

test_exceptions if {
	every exception in ["CVE-2021-44228", "GHSA-jfh8-c2jp-5v3q", "CVE-2021-44228@org.apache.logging.log4j:log4j-core"] {
		vulnerabilities.relevant == [] with input as fixtures.trivy with data.parameters as {"vulnerability_exceptions": [exception]}
	}
	every exception in ["CVE-2021-4422", "CVE-2021-44228@other", ""] {
		count(vulnerabilities.relevant) == 1 with input as fixtures.trivy with data.parameters as {"vulnerability_exceptions": [exception]}
	}
}

# The CVE is known from another package's finding only.
test_exception_by_the_name_in_messages if {
	unnamed := fixtures.with_value(fixtures.without(fixtures.grype, "matches/0/relatedVulnerabilities"), "matches/0/artifact", {"name": "other"})
	reports := fixtures.files({"a.json": unnamed, "b.json": fixtures.osv})
	{vulnerability["package"] | some vulnerability in vulnerabilities.relevant} == {"org.apache.logging.log4j:log4j-core"} with input as reports
		with data.parameters as {"vulnerability_exceptions": ["CVE-2021-44228@other"]}
	vulnerabilities.relevant == [] with input as reports
		with data.parameters as {"vulnerability_exceptions": ["CVE-2021-44228"]}
}

test_times if {
	vulnerabilities.with_zone("2026-01-01T00:00:00") == "2026-01-01T00:00:00Z"
	vulnerabilities.with_zone("2026-01-01T00:00:00Z") == "2026-01-01T00:00:00Z"
	every name in ["gitlab", "grype", "trivy", "trivy_sarif"] {
		vulnerabilities.reports[0].time != "" with input as fixtures.vulnerability_reports[name]
	}
	every name in ["dependabot", "grype_sarif", "osv", "snyk"] {
		vulnerabilities.reports[0].time == "" with input as fixtures.vulnerability_reports[name]
	}
	older := fixtures.with_value(fixtures.grype, "descriptor/db", {"built": "2026-01-02T00:00:00Z", "schemaVersion": 5})
	vulnerabilities.reports[0].database == "2026-01-02T00:00:00Z" with input as older
}

test_presence if {
	vulnerabilities.presence({1}) == {"skipped": true, "skip_reason": "the document isn't a report of vulnerabilities", "violations": {1}} with input as {}
	vulnerabilities.presence({1}) == {"skipped": false, "violations": {1}} with input as fixtures.image([])
	vulnerabilities.presence({1}) == {"skipped": false, "violations": {1}} with input as fixtures.trivy
}

test_readability if {
	vulnerabilities.readability == {"skipped": true, "skip_reason": "the input has no report of vulnerabilities", "violations": set()} with input as fixtures.image([])
	vulnerabilities.readability == {"skipped": false, "violations": set()} with input as fixtures.trivy
	vulnerabilities.readability.violations == {fixtures.unreadable_report} with input as fixtures.with_unreadable_report
}

test_verdict if {
	vulnerabilities.verdict({1}) == {"skipped": true, "skip_reason": "the input has no readable report of vulnerabilities", "violations": {1}} with input as {}
	vulnerabilities.verdict({1}) == {"skipped": false, "violations": {1}} with input as fixtures.trivy
	vulnerabilities.verdict({1}) == {"skipped": false, "violations": {1, fixtures.unreadable_report}} with input as fixtures.with_unreadable_report
}
