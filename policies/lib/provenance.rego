# Statements about builds in one form: SLSA's provenance 0.2 and 1, its verification summaries, and
# the vendor's attestations. The gate, or the service, checked the signatures.
package lib.provenance

import data.lib.documents
import data.lib.value

# The result of a rule about provenance. An input without readable provenance is skipped. An
# unreadable statement next to a readable one is a violation of each rule.
verdict(violations) := outcome("the input has no readable provenance", all, violations)

# The result of a rule about verification summaries.
summary_verdict(violations) := outcome("the input has no readable verification summary", summaries, violations)

outcome(reason, statements, violations) := {"skipped": true, "skip_reason": reason, "violations": violations} if {
	count(statements) == 0
} else := {"skipped": false, "violations": (violations | problems)}

# The result of the rule that requires provenance. A document of another format is skipped.
presence(violations) := {"skipped": true, "skip_reason": "the document isn't provenance", "violations": violations} if {
	documents.shape == "document"
	count(candidates) == 0
} else := {"skipped": false, "violations": violations}

# The result of the rule that reports what can't be read.
readability := {"skipped": true, "skip_reason": "the input has no provenance", "violations": set()} if {
	count(candidates) == 0
} else := {"skipped": false, "violations": problems}

# Statements about a build. Each has `label`, `type`, `subjects`, `builder`, `source` (a repository's
# address), `ref`, `commit`, `trigger`, `runner`, `materials` (`uri` and `digest`), `finished`. What a
# statement doesn't say is "".
all := [object.union({"label": candidate.label, "subjects": subjects(candidate.content)}, build) |
	some candidate in readable
	build := built(kind(candidate.content), candidate.content.predicate)
]

# Verification summaries: `label`, `verifier`, `passed`, `levels`, `time`.
summaries := [{
	"label": candidate.label,
	"verifier": value.text(candidate.content, ["predicate", "verifier", "id"]),
	"passed": value.text(candidate.content, ["predicate", "verificationResult"]) == "PASSED",
	"levels": {level | some level in levels(candidate.content.predicate)},
	"time": value.text(candidate.content, ["predicate", "timeVerified"]),
} |
	some candidate in readable
	kind(candidate.content) == "summary"
]

# The vendor's attestations.
attestations := [object.union({"label": candidate.label}, {"predicate": candidate.content.predicate}) |
	some candidate in readable
	kind(candidate.content) == "attestation"
]

readable := [candidate | some candidate in candidates; count(reasons(candidate.content)) == 0]

problems contains {"message": message} if {
	some candidate in candidates
	some reason in reasons(candidate.content)
	message := sprintf("%s isn't readable provenance: %s", [candidate.label, reason])
}

candidates := [candidate |
	some candidate in documents.candidates("provenance")
	candidate.claim == "provenance"
]

kind(statement) := "v1" if {
	statement.predicateType == "https://slsa.dev/provenance/v1"
} else := "v0.2" if {
	statement.predicateType == "https://slsa.dev/provenance/v0.2"
} else := "summary" if {
	regex.match(`^https://slsa\.dev/verification_summary/v(0\.2|1)$`, statement.predicateType)
} else := "attestation" if {
	regex.match(`^[a-z0-9.-]+/attestation/v0\.2$`, statement.predicateType)
} else := ""

reasons(content) := value.mismatches(content, schemas[kind(content)]) if {
	schemas[kind(content)]
} else := [sprintf("unsupported type `%s`", [value.text(content, "predicateType")])]

name := {"type": "string", "minLength": 1}

schema(predicate) := {
	"type": "object",
	"required": ["subject", "predicate"],
	"properties": {
		"subject": {"type": "array", "minItems": 1, "items": {
			"type": "object",
			"required": ["digest"],
			"properties": {"digest": {"type": "object", "minProperties": 1}},
		}},
		"predicate": predicate,
	},
}

builder := {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}}

materials := {"type": "array", "items": {"type": "object", "properties": {"digest": {"type": "object"}}}}

schemas := {
	# https://slsa.dev/spec/v1.2/build-provenance
	"v1": schema({
		"type": "object",
		"required": ["buildDefinition", "runDetails"],
		"properties": {
			"buildDefinition": {
				"type": "object",
				"required": ["buildType", "externalParameters"],
				"properties": {"buildType": name, "externalParameters": {"type": "object"}, "resolvedDependencies": materials},
			},
			"runDetails": {"type": "object", "required": ["builder"], "properties": {"builder": builder}},
		},
	}),
	# https://slsa.dev/spec/v0.2/provenance
	"v0.2": schema({
		"type": "object",
		"required": ["builder", "buildType"],
		"properties": {"builder": builder, "buildType": name, "materials": materials},
	}),
	# https://slsa.dev/spec/v1.2/verification_summary
	"summary": schema({
		"type": "object",
		"required": ["verifier", "verificationResult"],
		"properties": {
			"verifier": builder,
			"verificationResult": {"enum": ["PASSED", "FAILED"]},
			"verifiedLevels": {"type": "array", "items": {"type": "string"}},
		},
	}),
	# pkg/attestation/renderer/chainloop of the vendor's client
	"attestation": schema({
		"type": "object",
		"required": ["builder", "metadata", "policyHasViolations"],
		"properties": {"builder": builder, "metadata": {"type": "object"}, "policyHasViolations": {"type": "boolean"}},
	}),
}

# GitHub's provenance names the workflow. Other builders name their source in `configSource`, or as
# the first dependency from a repository.
built("v1", predicate) := {
	"type": "SLSA 1",
	"builder": predicate.runDetails.builder.id,
	"source": value.first([value.text(definition, ["externalParameters", "workflow", "repository"]), origin.repository]),
	"ref": value.first([value.text(definition, ["externalParameters", "workflow", "ref"]), origin.ref]),
	"commit": commit(dependencies),
	"trigger": value.first([
		value.text(definition, ["internalParameters", "github", "event_name"]),
		value.text(definition, ["internalParameters", "GITHUB_EVENT_NAME"]),
	]),
	"runner": value.text(definition, ["internalParameters", "github", "runner_environment"]),
	"materials": [material(dependency) | some dependency in dependencies],
	"finished": value.text(predicate, ["runDetails", "metadata", "finishedOn"]),
} if {
	definition := predicate.buildDefinition
	dependencies := value.objects(definition, "resolvedDependencies")
	origin := located(value.first(array.concat(
		[value.text(definition, ["externalParameters", "configSource", "uri"])],
		[value.text(dependency, "uri") | some dependency in dependencies; startswith(value.text(dependency, "uri"), "git+")],
	)))
}

built("v0.2", predicate) := {
	"type": "SLSA 0.2",
	"builder": predicate.builder.id,
	"source": origin.repository,
	"ref": value.first([origin.ref, value.text(predicate, ["invocation", "environment", "github_ref"])]),
	"commit": commit(array.concat([value.members(predicate, ["invocation", "configSource"])], dependencies)),
	"trigger": value.text(predicate, ["invocation", "environment", "github_event_name"]),
	"runner": value.text(predicate, ["invocation", "environment", "runner_environment"]),
	"materials": [material(dependency) | some dependency in dependencies],
	"finished": value.text(predicate, ["metadata", "buildFinishedOn"]),
} if {
	dependencies := value.objects(predicate, "materials")
	origin := located(value.text(predicate, ["invocation", "configSource", "uri"]))
}

# The vendor's attestation has the variables of its CI.
built("attestation", predicate) := {
	"type": "attestation",
	"builder": predicate.builder.id,
	"source": value.first(array.concat(
		[sprintf("https://github.com/%s", [name]) | name := value.text(predicate, ["env", "GITHUB_REPOSITORY"]); name != ""],
		[value.text(predicate, ["env", "CI_PROJECT_URL"])],
	)),
	"ref": value.first(array.concat(
		[value.text(predicate, ["env", "GITHUB_REF"])],
		[sprintf("refs/heads/%s", [name]) | name := value.text(predicate, ["env", "CI_COMMIT_REF_NAME"]); name != ""],
	)),
	"commit": value.first([value.text(predicate, ["env", "GITHUB_SHA"]), value.text(predicate, ["env", "CI_COMMIT_SHA"])]),
	"trigger": value.text(predicate, ["env", "GITHUB_EVENT_NAME"]),
	"runner": value.text(predicate, "runnerEnvironment"),
	"materials": [material(dependency) | some dependency in value.objects(predicate, "materials")],
	"finished": value.text(predicate, ["metadata", "finishedAt"]),
}

material(dependency) := {
	"uri": value.first([value.text(dependency, "uri"), value.text(dependency, "name")]),
	"digest": value.members(dependency, "digest"),
}

# The repository and the ref of an address such as `git+https://github.com/acme/shop@refs/heads/main`.
located(uri) := {"repository": parts[0], "ref": concat("@", array.slice(parts, 1, count(parts)))} if {
	parts := split(trim_prefix(uri, "git+"), "@")
}

commit(dependencies) := value.first([value.text(dependency, ["digest", kind]) |
	some dependency in dependencies
	some kind in ["gitCommit", "sha1"]
])

levels(predicate) := predicate.verifiedLevels if {
	is_array(predicate.verifiedLevels)
} else := [value.text(predicate, "policy_level")]

subjects(statement) := [{"name": value.text(subject, "name"), "digest": value.members(subject, "digest")} |
	some subject in value.objects(statement, "subject")
]

# Whether one of the patterns matches; `*` matches any text.
matches(patterns, text) if {
	some pattern in patterns
	glob.match(pattern, null, text)
}
