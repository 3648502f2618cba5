# Reports of vulnerabilities in one form: Trivy, Grype, OSV-Scanner, Snyk, Dependabot alerts, GitLab's
# security reports and SARIF. The same vulnerability of the same package counts once, however many
# reports have it, and under whichever of its names.
package lib.vulnerabilities

import data.lib.documents
import data.lib.parameters
import data.lib.purl
import data.lib.value

# The result of a rule about vulnerabilities. An input without a readable report is skipped. An
# unreadable report next to a readable one is a violation of each rule, since no rule has judged it.
verdict(violations) := {"skipped": true, "skip_reason": "the input has no readable report of vulnerabilities", "violations": violations} if {
	count(reports) == 0
} else := {"skipped": false, "violations": (violations | problems)}

# The result of the rule that requires a report of vulnerabilities. A document of another format is skipped.
presence(violations) := {"skipped": true, "skip_reason": "the document isn't a report of vulnerabilities", "violations": violations} if {
	documents.shape == "document"
	count(candidates) == 0
} else := {"skipped": false, "violations": violations}

# The result of the rule that reports what can't be read.
readability := {"skipped": true, "skip_reason": "the input has no report of vulnerabilities", "violations": set()} if {
	count(candidates) == 0
} else := {"skipped": false, "violations": problems}

# The readable reports. `time` is that of the scan, and `database` the time at which the scanner's
# database was built; each is "" where the report doesn't say.
reports := [{
	"label": candidate.label,
	"digest": candidate.digest,
	"kind": candidate.kind,
	"format": tool,
	"content": candidate.content,
	"time": value.first(array.concat([candidate.time], scanned(tool, candidate.content))),
	"database": value.first([
		value.text(candidate.content, ["descriptor", "db", "status", "built"]),
		value.text(candidate.content, ["descriptor", "db", "built"]),
	]),
} |
	some candidate in candidates
	count(reasons(candidate.content)) == 0
	tool := format(candidate.content)
]

scanned("Trivy", content) := [value.text(content, "CreatedAt")]

scanned("Grype", content) := [value.text(content, ["descriptor", "timestamp"])]

scanned("OSV-Scanner", _) := []

scanned("Snyk", _) := []

scanned("Dependabot", _) := []

scanned("GitLab", content) := [with_zone(value.text(content, ["scan", "end_time"]))]

scanned("SARIF", content) := [value.text(invocation, "endTimeUtc") |
	some run in content.runs
	some invocation in value.objects(run, "invocations")
]

# GitLab's times are in UTC and don't say so.
with_zone(text) := sprintf("%sZ", [text]) if {
	regex.match(`T[0-9:.]+$`, text)
} else := text

problems contains {"message": message} if {
	some candidate in candidates
	some reason in reasons(candidate.content)
	message := sprintf("%s isn't a readable report of vulnerabilities: %s", [candidate.label, reason])
}

candidates := [object.union(candidate, {"content": content}) |
	some candidate in documents.candidates("report")
	some content in parts(candidate.content)
	is_candidate(candidate, content)
]

# Snyk reports several projects as an array; arrays of alerts may be wrapped.
parts(content) := content if {
	is_array(content)
	format(content[0]) == "Snyk"
} else := [content.elements] if {
	format(value.list(content, "elements")) == "Dependabot"
} else := [content]

is_candidate(candidate, _) if candidate.claim == "report"

is_candidate(_, content) if format(content) != ""

reasons(content) := [sprintf("the scan failed: %v", [content.error])] if {
	format(content) == "Snyk"
	value.has(content, "error")
} else := value.mismatches(content, schemas[format(content)]) if {
	schemas[format(content)]
} else := ["expected the JSON of a scanner, or SARIF"]

format(content) := "Trivy" if {
	value.has(content, "SchemaVersion")
	value.has(content, "ArtifactName")
} else := "Grype" if {
	value.has(content, "matches")
	value.has(content, "descriptor")
} else := "SARIF" if {
	value.has(content, "runs")
	startswith(value.text(content, "version"), "2.")
	is_vulnerability_log(content)
} else := "OSV-Scanner" if {
	value.has(content, "results")
	object.keys(content) - osv_members == set()
} else := "GitLab" if {
	value.text(content, ["scan", "type"]) in {"container_scanning", "dependency_scanning"}
} else := "Snyk" if {
	value.has(content, "packageManager")
	value.has(content, "ok")
} else := "Snyk" if {
	value.has(content, "ok")
	value.has(content, "error")
	value.has(content, "path")
} else := "Dependabot" if {
	is_array(content)
	value.has(content[0], "security_advisory")
} else := ""

osv_members := {"results", "experimental_config", "experimental_generic_findings", "image_metadata", "license_summary"}

# SARIF has findings of every kind. A log of a scanner of packages, or one with a vulnerability's
# name for a rule, is about vulnerabilities.
is_vulnerability_log(content) if {
	some run in value.objects(content, "runs")
	lower(value.text(run, ["tool", "driver", "name"])) in {"grype", "osv-scanner", "snyk open source", "snyk container", "trivy"}
}

is_vulnerability_log(content) if {
	some run in value.objects(content, "runs")
	some result in value.objects(run, "results")
	vulnerability_name(value.text(result, "ruleId")) != ""
}

vulnerability_name(text) := concat("", array.slice(found, 0, 1)) if {
	found := regex.find_n(
		`^(CVE-[0-9]{4}-[0-9]+|GHSA(-[0-9a-z]{4}){3}|(GO|PYSEC|RUSTSEC|MAL)-[0-9]{4}-[0-9]+|SNYK-[A-Z0-9]+-[A-Z0-9]+-[0-9]+)`,
		text, 1,
	)
}

string := {"type": "string"}

nullable_strings := {"type": ["array", "null"], "items": {"type": "string"}}

name := {"type": "string", "minLength": 1}

schemas := {
	# https://trivy.dev/docs/latest/configuration/reporting/#json
	"Trivy": {
		"type": "object",
		"required": ["SchemaVersion"],
		"properties": {
			"SchemaVersion": {"enum": [2]},
			"Results": {"type": ["array", "null"], "items": {
				"type": "object",
				"properties": {"Vulnerabilities": {"type": ["array", "null"], "items": {
					"type": "object",
					"required": ["VulnerabilityID", "PkgName"],
					"properties": {
						"VulnerabilityID": name,
						"PkgName": name,
						"InstalledVersion": string,
						"FixedVersion": string,
						"Severity": string,
						"VendorIDs": nullable_strings,
						"PkgIdentifier": {"type": "object", "properties": {"PURL": string}},
					},
				}}},
			}},
		},
	},
	# The JSON of https://github.com/anchore/grype
	"Grype": {
		"type": "object",
		"required": ["matches"],
		"properties": {"matches": {"type": "array", "items": {
			"type": "object",
			"required": ["vulnerability", "artifact"],
			"properties": {
				"vulnerability": {
					"type": "object",
					"required": ["id"],
					"properties": {
						"id": name,
						"severity": string,
						"fix": {"type": "object", "properties": {"versions": nullable_strings}},
						"epss": {"type": ["array", "null"], "items": {"type": "object", "properties": {"epss": {"type": "number"}}}},
						"knownExploited": {"type": ["array", "null"]},
					},
				},
				"relatedVulnerabilities": {"type": ["array", "null"], "items": {
					"type": "object",
					"required": ["id"],
					"properties": {"id": name},
				}},
				"artifact": {
					"type": "object",
					"required": ["name"],
					"properties": {"name": name, "version": string, "purl": string},
				},
			},
		}}},
	},
	# https://google.github.io/osv-scanner/output/#json
	"OSV-Scanner": {
		"type": "object",
		"properties": {"results": {"type": ["array", "null"], "items": {
			"type": "object",
			"properties": {"packages": {"type": ["array", "null"], "items": {
				"type": "object",
				"required": ["package"],
				"properties": {
					"package": {
						"type": "object",
						"required": ["name"],
						"properties": {"name": string, "version": string, "ecosystem": string},
					},
					"groups": {"type": ["array", "null"], "items": {
						"type": "object",
						"required": ["ids"],
						"properties": {
							"ids": {"type": "array", "minItems": 1, "items": string},
							"aliases": nullable_strings,
							"max_severity": string,
						},
					}},
					"vulnerabilities": {"type": ["array", "null"], "items": {
						"type": "object",
						"required": ["id"],
						"properties": {"id": name},
					}},
				},
			}}},
		}}},
	},
	# https://docs.snyk.io/snyk-cli/commands/test
	"Snyk": {
		"type": "object",
		"required": ["vulnerabilities"],
		"properties": {"vulnerabilities": {"type": "array", "items": {
			"type": "object",
			"required": ["id", "packageName", "severity"],
			"properties": {
				"id": name,
				"packageName": name,
				"version": string,
				"severity": string,
				"fixedIn": nullable_strings,
				"identifiers": {"type": "object", "additionalProperties": nullable_strings},
			},
		}}},
	},
	# https://docs.github.com/rest/dependabot/alerts
	"Dependabot": {"type": "array", "items": {
		"type": "object",
		"required": ["state", "dependency", "security_advisory", "security_vulnerability"],
		"properties": {
			"state": string,
			"dependency": {
				"type": "object",
				"required": ["package"],
				"properties": {"package": {"type": "object", "required": ["name"], "properties": {"name": name}}},
			},
			"security_advisory": {
				"type": "object",
				"required": ["ghsa_id", "severity"],
				"properties": {"ghsa_id": name, "cve_id": {"type": ["string", "null"]}, "severity": string},
			},
		},
	}},
	# https://gitlab.com/gitlab-org/security-products/security-report-schemas
	"GitLab": {
		"type": "object",
		"required": ["scan", "vulnerabilities"],
		"properties": {
			"scan": {"type": "object", "required": ["type"], "properties": {"status": {"enum": ["success"]}}},
			"vulnerabilities": {"type": "array", "items": {
				"type": "object",
				"required": ["identifiers", "location"],
				"properties": {
					"severity": string,
					"solution": string,
					"identifiers": {"type": "array", "minItems": 1, "items": {
						"type": "object",
						"required": ["value"],
						"properties": {"value": name},
					}},
					"location": {"type": "object"},
				},
			}},
		},
	},
	# https://docs.oasis-open.org/sarif/sarif/v2.1.0/
	"SARIF": {
		"type": "object",
		"properties": {"runs": {"type": "array", "minItems": 1, "items": {
			"type": "object",
			"required": ["tool", "results"],
			"properties": {
				"results": {"type": "array", "items": {
					"type": "object",
					"required": ["message"],
					"properties": {"message": {"type": "object", "properties": {"text": string}}},
				}},
				"tool": {"type": "object", "required": ["driver"], "properties": {"driver": {
					"type": "object",
					"required": ["name"],
					"properties": {"rules": {"type": "array", "items": {
						"type": "object",
						"required": ["id"],
						"properties": {"id": string, "help": {"type": "object", "properties": {"text": string}}},
					}}},
				}}},
			},
		}}},
	},
}

# Findings of one report: `names` (its identifier and its aliases), `package`, `version`, `purl`,
# `severity` as reported or a score, `scheme` (who rated it), `fixed` (versions), `exploited` and
# `epss`.
findings_in("Trivy", content) := [{
	"names": ({found.VulnerabilityID} | set_of(object.get(found, "VendorIDs", null))),
	"package": found.PkgName,
	"version": object.get(found, "InstalledVersion", ""),
	"purl": object.get(found, ["PkgIdentifier", "PURL"], ""),
	"severity": object.get(found, "Severity", ""),
	"scheme": object.get(found, "SeveritySource", "Trivy"),
	"fixed": {version | some version in split(object.get(found, "FixedVersion", ""), ", "); version != ""},
	"exploited": false,
	"epss": 0,
} |
	some result in object.get(content, "Results", [])
	some found in object.get(result, "Vulnerabilities", [])
]

findings_in("Grype", content) := [{
	"names": ({found.id} | {related.id | some related in object.get(match, "relatedVulnerabilities", [])}),
	"package": match.artifact.name,
	"version": object.get(match.artifact, "version", ""),
	"purl": object.get(match.artifact, "purl", ""),
	"severity": object.get(found, "severity", ""),
	"scheme": object.get(found, "namespace", "Grype"),
	"fixed": set_of(object.get(found, ["fix", "versions"], null)),
	"exploited": set_of(object.get(found, "knownExploited", null)) != set(),
	"epss": max({0} | {object.get(entry, "epss", 0) | some entry in object.get(found, "epss", [])}),
} |
	some match in content.matches
	found := match.vulnerability
]

findings_in("OSV-Scanner", content) := [{
	"names": (set_of(group.ids) | set_of(object.get(group, "aliases", null))),
	"package": entry["package"].name,
	"version": object.get(entry, ["package", "version"], ""),
	"purl": "",
	"severity": value.first(array.concat([object.get(group, "max_severity", "")], [severity |
		some advisory in object.get(entry, "vulnerabilities", [])
		advisory.id in group.ids
		severity := value.text(advisory, ["database_specific", "severity"])
	])),
	"scheme": "CVSS",
	"fixed": {version |
		some advisory in object.get(entry, "vulnerabilities", [])
		advisory.id in group.ids
		some affected in value.objects(advisory, "affected")
		value.text(affected, ["package", "name"]) == entry["package"].name
		some range in value.objects(affected, "ranges")
		some event in value.objects(range, "events")
		version := value.text(event, "fixed")
		version != ""
	},
	"exploited": false,
	"epss": 0,
} |
	some result in object.get(content, "results", [])
	some entry in object.get(result, "packages", [])
	some group in object.get(entry, "groups", [])
]

findings_in("Snyk", content) := [{
	"names": ({found.id} | {name |
		some kind in ["CVE", "GHSA"]
		some name in object.get(found, ["identifiers", kind], [])
	}),
	"package": found.packageName,
	"version": object.get(found, "version", ""),
	"purl": "",
	"severity": found.severity,
	"scheme": "Snyk",
	"fixed": set_of(object.get(found, "fixedIn", null)),
	"exploited": false,
	"epss": probability(value.text(found, ["epssDetails", "probability"])),
} |
	some found in content.vulnerabilities
]

findings_in("Dependabot", content) := [{
	"names": {alert.security_advisory.ghsa_id, value.text(alert, ["security_advisory", "cve_id"])} - {""},
	"package": alert.dependency["package"].name,
	"version": "",
	"purl": "",
	"severity": alert.security_advisory.severity,
	"scheme": "GitHub",
	"fixed": {value.text(alert, ["security_vulnerability", "first_patched_version", "identifier"])} - {""},
	"exploited": false,
	"epss": value.number(alert, ["security_advisory", "epss", "percentage"], 0),
} |
	some alert in content
	alert.state == "open"
]

findings_in("GitLab", content) := [{
	"names": {identifier.value | some identifier in found.identifiers},
	"package": value.text(found, ["location", "dependency", "package", "name"]),
	"version": value.text(found, ["location", "dependency", "version"]),
	"purl": "",
	"severity": object.get(found, "severity", ""),
	"scheme": "GitLab",
	"fixed": {object.get(found, "solution", "")} - {""},
	"exploited": false,
	"epss": 0,
} |
	some found in content.vulnerabilities
]

findings_in("SARIF", content) := [{
	"names": ({name} | aliases(text)),
	"package": value.first(array.concat(lines(text, `(?m)^Package: (.+)$`), array.concat(
		lines(text, `Package '(.+)@[^@']*'`),
		lines(text, `vulnerable (\S+) package`),
	))),
	"version": value.first(array.concat(
		lines(text, `(?m)^(?:Installed )?Version: (.+)$`),
		lines(text, `Package '.+@([^@']*)'`),
	)),
	"purl": value.first(value.texts(rule, ["properties", "purls"])),
	"severity": value.first(array.concat(lines(text, `(?m)^Severity: (.+)$`), [
		score(object.get(rule, ["properties", "security-severity"], "")),
		value.text(result, "level"),
	])),
	"scheme": run.tool.driver.name,
	"fixed": {version |
		some version in array.concat(split(value.first(lines(text, `(?m)^Fix(?:ed)? Version: (.+)$`)), ","), fixed_rows(text))
		version != ""
	},
	"exploited": false,
	"epss": 0,
} |
	some run in content.runs
	rules := {rule.id: rule | some rule in value.objects(run, ["tool", "driver", "rules"])}
	some result in run.results
	name := vulnerability_name(value.text(result, "ruleId"))
	name != ""
	rule := object.get(rules, value.text(result, "ruleId"), {})
	text := concat("\n", [value.text(result, ["message", "text"]), value.text(rule, ["help", "text"])])
]

# Other names that OSV-Scanner's message gives, and the fixed versions in the table of its help.
aliases(text) := {alias |
	some list in lines(text, `\(also known as ([^)]*)\)`)
	some quoted in split(list, ", ")
	alias := trim(quoted, "'")
}

fixed_rows(text) := [match[1] |
	some table in array.slice(split(text, "### Fixed Versions"), 1, 2)
	some match in regex.find_all_string_submatch_n(`(?m)^\| [A-Z][^|\n]* \| [^|\n]+ \| ([0-9v][^|\n]*) \|$`, table, -1)
]

# What a pattern's group matches in a text: at most one string.
lines(text, pattern) := [trim_space(match[1]) | some match in regex.find_all_string_submatch_n(pattern, text, 1)]

score(found) := sprintf("%v", [found]) if {
	is_number(found)
} else := found if {
	is_string(found)
} else := ""

probability(text) := to_number(text) if {
	regex.match(`^[0-9]+(\.[0-9]+)?$`, text)
} else := 0

set_of(elements) := {element | some element in elements}

# Severities, from the least. Each scheme's words, and scores of CVSS, have a place among them.
ranks := ["unknown", "info", "low", "medium", "high", "critical"]

words := {
	"critical": 5,
	"error": 4,
	"high": 4,
	"important": 4,
	"medium": 3,
	"moderate": 3,
	"warning": 3,
	"low": 2,
	"note": 2,
	"minor": 2,
	"info": 1,
	"negligible": 1,
	"none": 1,
}

rank(severity) := words[lower(severity)] if {
	words[lower(severity)]
} else := 5 if {
	points(severity) >= 9
} else := 4 if {
	points(severity) >= 7
} else := 3 if {
	points(severity) >= 4
} else := 2 if {
	points(severity) > 0
} else := 0

points(severity) := to_number(severity) if regex.match(`^[0-9]+(\.[0-9]+)?$`, severity)

# Whether a severity is at least as high as another.
at_least(severity, threshold) if rank(severity) >= rank(threshold)

found := [object.union(finding, {"label": report.label}) |
	some report in reports
	some finding in findings_in(report.format, report.content)
]

# The CVE of each other name, wherever a report gives both.
cve_of[name] contains cve if {
	some finding in found
	count(finding.names) > 1
	some cve in finding.names
	startswith(cve, "CVE-")
	some name in finding.names
	not startswith(name, "CVE-")
}

# The name under which a vulnerability is reported: its CVE if it has one.
canonical(names) := min(cves) if {
	cves := {name | some name in names; startswith(name, "CVE-")}
	count(cves) > 0
} else := min(cves) if {
	cves := {cve | some name in names; some cve in cve_of[name]}
	count(cves) > 0
} else := min(names)

# The name of the package of a finding. GitLab separates a group of Maven with a slash: where names
# are compared, both are equal.
package_name(finding) := purl.name(purl.parse(finding.purl)) if {
	finding.purl != ""
} else := finding["package"]

grouped[[canonical(finding.names), replace(lower(package_name(finding)), ":", "/")]] contains finding if some finding in found

# Each vulnerability of each package, once: `id`, `names`, `package`, `version`, `purl`, `severity`
# (the highest that a report gives), `schemes`, `fixed`, `exploited`, `epss`, `labels`.
all := [{
	"id": key[0],
	"names": union({finding.names | some finding in findings_of}),
	"package": package_name(any_finding(findings_of)),
	"version": value.first(sort([finding.version | some finding in findings_of; finding.version != ""])),
	"purl": value.first(sort([finding.purl | some finding in findings_of; finding.purl != ""])),
	"severity": ranks[max({rank(finding.severity) | some finding in findings_of})],
	"schemes": {finding.scheme | some finding in findings_of},
	"fixed": union({finding.fixed | some finding in findings_of}),
	"exploited": true in {finding.exploited | some finding in findings_of},
	"epss": max({finding.epss | some finding in findings_of}),
	"labels": {finding.label | some finding in findings_of},
} |
	some key, findings_of in grouped
]

any_finding(findings_of) := [finding | some finding in findings_of][0]

# Vulnerabilities without an exception, by any of their names.
relevant := [vulnerability |
	some vulnerability in all
	not excepted(vulnerability)
]

exceptions := parameters.get("vulnerability_exceptions", [])

excepted(vulnerability) if {
	some exception in exceptions
	matches(vulnerability, exception)
}

# An exception is a name, or a name and a package: `CVE-2024-1` or `CVE-2024-1@openssl`.
matches(vulnerability, exception) if exception in vulnerability.names

matches(vulnerability, exception) if exception == vulnerability.id

matches(vulnerability, exception) if {
	some name in (vulnerability.names | {vulnerability.id})
	exception == concat("@", [name, vulnerability["package"]])
}

# An item of a verdict, with the members that waivers and VEX match.
item(vulnerability, message) := {
	"message": message,
	"id": vulnerability.id,
	"package": vulnerability["package"],
	"package_purl": vulnerability.purl,
	"severity": severity,
	"fixed": vulnerability.fixed,
} if {
	severity := object.get({"unknown": "medium"}, vulnerability.severity, vulnerability.severity)
}

# How a message names a vulnerability and its package.
title(vulnerability) := sprintf("%s (%s) in `%s`", [vulnerability.id, vulnerability.severity, concat("@", [part |
	some part in [vulnerability["package"], vulnerability.version]
	part != ""
])])
