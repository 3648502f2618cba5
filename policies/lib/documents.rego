# The documents of an input, whatever its shape: a document; an image with its attestations; a
# release, whose evidence the service has; or several files (`--combine`).
package lib.documents

import data.lib.value

# How the input supplies documents.
shape := "image" if {
	is_object(input)
	is_array(object.get(input, "attestations", null))
	is_string(object.get(input, "image", null))
} else := "release" if {
	is_object(input)
	every field in ["project", "version", "project_version_id"] {
		is_string(object.get(input, field, null))
	}
} else := "files" if {
	is_array(input)
	count(input) > 0
	every file in input {
		value.has(file, "path")
		value.has(file, "contents")
	}
} else := "document"

# The documents that may have a claim: `sbom`, `report` or `provenance`. Each has a label for
# messages, its content, the claim that its source makes, its time, and its digest and kind in the
# service; the last four may be "". Content that isn't JSON is a string. Only a release's documents are
# selected by the claim, since each is downloaded.
candidates(claim) := downloaded(claim) if {
	shape == "release"
} else := local

local := array.concat(attested, unsigned) if {
	shape == "image"
} else := [document(sprintf("`%v`", [file.path]), claimed(file.contents), content) |
	some file in input
	some content in opened(file.contents)
] if {
	shape == "files"
} else := [document("the document", claimed(input), content) | some content in opened(input)] if {
	shape == "document"
}

document(label, claim, content) := {"label": label, "claim": claim, "content": content, "time": "", "digest": "", "kind": ""}

# A statement's predicate is a document, if its type names the format. A scan of cosign's form has
# the report within the predicate. `gh api` puts an SBOM into an object.
opened(content) := [object.get(content, "predicate", null)] if {
	format(value.text(content, "predicateType")) == "sbom"
} else := [object.get(content, ["predicate", "scanner", "result"], null)] if {
	format(value.text(content, "predicateType")) == "report"
	value.has(value.members(content, ["predicate", "scanner"]), "result")
} else := [content.sbom] if {
	is_object(content)
	object.keys(content) == {"sbom"}
} else := [content]

claimed(content) := format(value.text(content, "predicateType"))

# The format that a type of predicate names.
format(type) := "sbom" if {
	startswith(type, "https://cyclonedx.org/")
} else := "sbom" if {
	startswith(type, "https://spdx.dev/")
} else := "report" if {
	startswith(type, "https://cosign.sigstore.dev/attestation/vuln/")
} else := "provenance" if {
	regex.match(`^https://slsa\.dev/(provenance|verification_summary)/|^[a-z0-9.-]+/attestation/v[0-9.]+$`, type)
} else := ""

attested := [object.union(
	document(sprintf("the attestation `%s`", [type]), format(type), content),
	{"time": value.text(statement, ["predicate", "metadata", "scanFinishedOn"])},
) |
	some attestation in value.objects(input, "attestations")
	statement := value.members(attestation, "statement")
	type := value.text(statement, "predicateType")
	some content in opened(statement)
]

unsigned := [document(sprintf("SBOM %d of the image", [number + 1]), "sbom", content) |
	some number, sbom in value.list(input, "sboms")
	content := object.get(sbom, "document", null)
]

# The kinds of evidence that have the documents of each claim.
kinds := {
	"sbom": {"SBOM_CYCLONEDX_JSON", "SBOM_SPDX_JSON"},
	"report": {"GHAS_DEPENDENCY_SCAN", "GITLAB_SECURITY_REPORT", "SARIF"},
	"provenance": {"SLSA_PROVENANCE"},
	"scan": {"GHAS_CODE_SCAN", "GITLAB_SECURITY_REPORT", "SARIF"},
	"secrets": {"GHAS_SECRET_SCAN", "GITLAB_SECURITY_REPORT", "GITLEAKS_JSON", "SARIF", "TRUFFLEHOG_JSON"},
	"tests": {"JUNIT_XML"},
	"coverage": {"COBERTURA_XML", "JACOCO_XML"},
	"agent": {"CHAINLOOP_AI_AGENT_CONFIG", "CHAINLOOP_AI_CODING_SESSION"},
	"configuration": set(),
}

# These kinds have documents of several claims: what such a document is, is in its content.
shared_kinds := {"GITLAB_SECURITY_REPORT", "SARIF"}

# The evidence of a release. All SBOMs count, since two parts of a release may send one of the same
# name. Of anything else, the latest of each name counts.
evidence(latest) := [row |
	some row in platform.evidence({
		"project_name": input.project,
		"project_version_name": input.version,
		"hide_attestation": true,
		"latest": latest,
	}).results
	row.project_name == input.project
	row.project_version_id == input.project_version_id
]

downloaded(claim) := [object.union(
	document(sprintf("`%s`", [row.name]), claim_of(claim, row.kind), content),
	{"digest": row.digest, "kind": row.kind},
) |
	some row in evidence(claim != "sbom")
	row.kind in kinds[claim]
	text := platform.download_artifact(row.digest)
	some content in decoded(text)
]

claim_of(claim, kind) := lower(kind) if {
	kind in shared_kinds
} else := claim

# An attestation in the service is in its envelope, whose signature the service checked.
decoded(text) := opened(json.unmarshal(base64.decode(payload(json.unmarshal(text))))) if {
	json.is_valid(text)
	base64.is_valid(payload(json.unmarshal(text)))
	json.is_valid(base64.decode(payload(json.unmarshal(text))))
} else := opened(json.unmarshal(text)) if {
	json.is_valid(text)
} else := [[json.unmarshal(line) | some line in lines]] if {
	lines := [line | some line in split(text, "\n"); trim_space(line) != ""]
	count(lines) > 1
	every line in lines {
		json.is_valid(line)
	}
} else := [text]

payload(envelope) := found if {
	found := value.first([value.text(envelope, "payload"), value.text(envelope, ["dsseEnvelope", "payload"])])
	found != ""
}
