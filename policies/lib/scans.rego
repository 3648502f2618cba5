# Findings of code scanners and of scanners for secrets, in one form: SARIF, GitHub's alerts, GitLab's
# reports, Gitleaks, TruffleHog, and Trivy's secrets.
package lib.scans

import data.lib.documents
import data.lib.value
import data.lib.vulnerabilities

# The result of a rule about code scanning, and of one about secrets.
code_verdict(violations) := outcome(code_scans, code_problems, "the input has no report of a code scanner", violations)

secrets_verdict(violations) := outcome(secret_scans, secret_problems, "the input has no report of a scanner for secrets", violations)

outcome(scans, problems, reason, violations) := {"skipped": true, "skip_reason": reason, "violations": violations} if {
	count(scans) + count(problems) == 0
} else := {"skipped": false, "violations": (violations | problems)}

code_claims := {"scan", "sarif"}

secret_claims := {"secrets"}

code_problems := unreadable("scan", code_claims)

secret_problems := unreadable("secrets", secret_claims)

# Documents that claim to be a report, or have the members of one, and can't be read.
unreadable(kind, claims) := {{"message": message} |
	some candidate in documents.candidates(kind)
	candidate.claim in claims
	format(candidate.content) == ""
	vulnerabilities.format(candidate.content) == ""
	not candidate.content in empty
	message := sprintf("%s isn't a readable report of a scanner", [candidate.label])
} | {{"message": message} |
	some candidate in documents.candidates(kind)
	format(candidate.content) in formats[kind]
	some reason in value.mismatches(candidate.content, schemas[format(candidate.content)])
	message := sprintf("%s isn't a readable report of a scanner: %s", [candidate.label, reason])
}

code_scans := readable("scan", code_claims)

secret_scans := readable("secrets", secret_claims)

readable(kind, claims) := array.concat(
	[{"label": candidate.label, "format": format(candidate.content), "content": candidate.content} |
		some candidate in documents.candidates(kind)
		format(candidate.content) in formats[kind]
		value.mismatches(candidate.content, schemas[format(candidate.content)]) == []
	],
	[{"label": candidate.label, "format": "empty", "content": candidate.content} |
		some candidate in documents.candidates(kind)
		candidate.claim in claims
		candidate.content in empty
	],
)

# What scanners write that found nothing. Only where a report was claimed is it one.
empty := {[], "", null}

formats := {
	"scan": {"code alerts", "GitLab SAST", "SARIF"},
	"secrets": {"GitLab secrets", "Gitleaks", "secret alerts", "secrets in SARIF", "Trivy", "TruffleHog", "TruffleHog line"},
}

format(content) := "secrets in SARIF" if {
	sarif(content)
	lower(value.text(content.runs[0], ["tool", "driver", "name"])) in {"gitleaks", "trufflehog"}
} else := "SARIF" if {
	sarif(content)
	not vulnerabilities.is_vulnerability_log(content)
} else := "GitLab SAST" if {
	value.text(content, ["scan", "type"]) == "sast"
} else := "GitLab secrets" if {
	value.text(content, ["scan", "type"]) == "secret_detection"
} else := "TruffleHog line" if {
	value.has(content, "DetectorName")
} else := "Trivy" if {
	value.has(content, "SchemaVersion")
	some result in value.objects(content, "Results")
	value.text(result, "Class") == "secret"
} else := format_of_list(listed(content))

format_of_list(content) := "code alerts" if {
	value.has(content[0], "most_recent_instance")
} else := "secret alerts" if {
	value.has(content[0], "secret_type")
} else := "Gitleaks" if {
	value.has(content[0], "Fingerprint")
	value.has(content[0], "RuleID")
} else := "TruffleHog" if {
	value.has(content[0], "DetectorName")
} else := ""

sarif(content) if {
	value.has(content, "runs")
	startswith(value.text(content, "version"), "2.")
}

listed(content) := content if {
	is_array(content)
} else := value.list(content, "elements")

# An array of objects, alone or wrapped.
array_of(element) := {"anyOf": [
	{"type": "array", "items": element},
	{"type": "object", "required": ["elements"], "properties": {"elements": {"type": "array", "items": element}}},
]}

requires(names) := {"type": "object", "required": names}

sarif_schema := {
	"type": "object",
	"required": ["runs"],
	"properties": {"runs": {"type": "array", "minItems": 1, "items": {
		"type": "object",
		"required": ["tool", "results"],
		"properties": {
			"tool": {"type": "object", "required": ["driver"], "properties": {"driver": requires(["name"])}},
			"results": {"type": "array", "items": requires(["message"])},
		},
	}}},
}

gitlab_schema := {
	"type": "object",
	"required": ["scan", "vulnerabilities"],
	"properties": {
		"scan": {"type": "object", "properties": {"status": {"enum": ["success"]}}},
		"vulnerabilities": {"type": "array", "items": {"type": "object"}},
	},
}

schemas := {
	"SARIF": sarif_schema,
	"secrets in SARIF": sarif_schema,
	"GitLab SAST": gitlab_schema,
	"GitLab secrets": gitlab_schema,
	"code alerts": array_of(requires(["state", "rule"])),
	"secret alerts": array_of(requires(["state", "secret_type"])),
	"Gitleaks": array_of(requires(["RuleID", "File"])),
	"TruffleHog": array_of(requires(["DetectorName"])),
	"TruffleHog line": requires(["DetectorName"]),
	"Trivy": {"type": "object", "properties": {"Results": {"type": "array", "items": {
		"type": "object",
		"properties": {"Secrets": {"type": ["array", "null"], "items": requires(["RuleID"])}},
	}}}},
}

# Findings of code scanners: `label`, `tool`, `rule`, `severity` (one of `vulnerabilities.ranks`),
# `message`, `place`.
code := [object.union(finding, {"label": scan.label, "severity": vulnerabilities.ranks[vulnerabilities.rank(finding.level)]}) |
	some scan in code_scans
	some finding in code_in(scan.format, scan.content)
]

# A result without a level has its rule's, which is `warning` where the rule has none. What the source
# suppresses counts, since the author of the source decides about that.
code_in("SARIF", content) := [{
	"tool": run.tool.driver.name,
	"rule": value.text(result, "ruleId"),
	"level": value.first([
		value.text(result, "level"),
		value.text(rules, [value.text(result, "ruleId"), "defaultConfiguration", "level"]),
		"warning",
	]),
	"message": value.text(result, ["message", "text"]),
	"place": place(value.first_object(value.objects(result, "locations"))),
} |
	some run in content.runs
	rules := {value.text(rule, "id"): rule | some rule in value.objects(run, ["tool", "driver", "rules"])}
	some result in value.objects(run, "results")
]

code_in("empty", _) := []

code_in("code alerts", content) := [{
	"tool": value.text(alert, ["tool", "name"]),
	"rule": value.text(alert, ["rule", "id"]),
	"level": value.first([value.text(alert, ["rule", "security_severity_level"]), value.text(alert, ["rule", "severity"])]),
	"message": value.text(alert, ["most_recent_instance", "message", "text"]),
	"place": value.text(alert, ["most_recent_instance", "location", "path"]),
} |
	some alert in listed(content)
	alert.state == "open"
]

code_in("GitLab SAST", content) := [{
	"tool": value.text(content, ["scan", "scanner", "name"]),
	"rule": value.text(value.first_object(value.objects(found, "identifiers")), "value"),
	"level": value.text(found, "severity"),
	"message": value.first([value.text(found, "name"), value.text(found, "description")]),
	"place": value.text(found, ["location", "file"]),
} |
	some found in content.vulnerabilities
]

place(location) := sprintf("%s:%v", [uri, value.number(location, ["physicalLocation", "region", "startLine"], 1)]) if {
	uri := value.text(location, ["physicalLocation", "artifactLocation", "uri"])
	uri != ""
} else := "no place"

# Secrets that were found: `label`, `rule`, `place`. Never the secret itself.
secrets := [object.union(finding, {"label": scan.label}) |
	some scan in secret_scans
	some finding in secrets_in(scan.format, scan.content)
]

secrets_in("secrets in SARIF", content) := [{
	"rule": value.text(result, "ruleId"),
	"place": place(value.first_object(value.objects(result, "locations"))),
} |
	some run in content.runs
	some result in value.objects(run, "results")
]

secrets_in("GitLab secrets", content) := [{
	"rule": value.first([value.text(found, "name"), value.text(found, "category")]),
	"place": value.text(found, ["location", "file"]),
} |
	some found in content.vulnerabilities
]

secrets_in("empty", _) := []

secrets_in("secret alerts", content) := [{
	"rule": value.text(alert, "secret_type"),
	"place": sprintf("alert %v", [value.number(alert, "number", 0)]),
} |
	some alert in listed(content)
	alert.state == "open"
]

secrets_in("Gitleaks", content) := [{
	"rule": value.text(found, "RuleID"),
	"place": sprintf("%s:%v", [value.text(found, "File"), value.number(found, "StartLine", 1)]),
} |
	some found in listed(content)
]

secrets_in("TruffleHog", content) := [finding |
	some line in listed(content)
	some finding in secrets_in_line(line)
]

secrets_in("TruffleHog line", content) := secrets_in_line(content)

secrets_in("Trivy", content) := [{
	"rule": value.text(found, "RuleID"),
	"place": sprintf("%s:%v", [value.text(result, "Target"), value.number(found, "StartLine", 1)]),
} |
	some result in value.objects(content, "Results")
	some found in value.objects(result, "Secrets")
]

secrets_in_line(line) := [{
	"rule": value.text(line, "DetectorName"),
	"place": value.first(array.concat(
		[file |
			some source in value.members(line, ["SourceMetadata", "Data"])
			file := value.text(source, "file")
			file != ""
		],
		["no place"],
	)),
}]
