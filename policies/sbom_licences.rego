# METADATA
# title: Every component in every SBOM of a release has an approved licence
# description: >-
#   Guards against shipping code under unacceptable terms, and against SBOMs without licences.
#   Reads CycloneDX and SPDX as JSON; an SBOM in any other form is a violation.
# custom:
#   severity: medium
package sbom_licences

# SPDX identifiers, exactly as in the SPDX list.
approved := {
	"0BSD",
	"Apache-2.0",
	"BSD-2-Clause",
	"BSD-3-Clause",
	"ISC",
	"MIT",
	"Unicode-3.0",
	"Zlib",
}

# METADATA
# title: Violations
# entrypoint: true
deny contains {"message": message} if {
	some field in ["project", "version", "project_version_id"]
	not input[field]
	message := sprintf("the input has no `%s`", [field])
}

deny contains {"message": "the release has no SBOM"} if count(sboms) == 0

deny contains {"message": message, "digest": sbom.digest} if {
	some sbom in sboms
	not parts[sbom.digest]
	message := sprintf("SBOM `%s` is neither CycloneDX nor SPDX with a list of components", [sbom.name])
}

deny contains {"message": message, "digest": sbom.digest} if {
	some sbom in sboms
	some part in parts[sbom.digest]
	count(part.licences) == 0
	message := sprintf("`%s` in SBOM `%s` has no licence", [part.name, sbom.name])
}

deny contains {"message": message, "digest": sbom.digest} if {
	some sbom in sboms
	some part in parts[sbom.digest]
	some licence in part.licences
	not acceptable(licence)
	message := sprintf("`%s` in SBOM `%s` has the licence `%s`, which is not approved", [part.name, sbom.name, licence])
}

# Not only the latest: two parts of a release may send SBOMs with the same name, and `latest`
# would hide one of them.
sboms := {row |
	some row in evidence.results
	row.project_name == input.project
	row.project_version_id == input.project_version_id
	startswith(row.kind, "SBOM_")
}

evidence := platform.evidence({
	"project_name": input.project,
	"project_version_name": input.version,
	"hide_attestation": true,
})

contents[sbom.digest] := content if {
	some sbom in sboms
	content := platform.download_artifact(sbom.digest)
}

documents[digest] := document if {
	some digest, content in contents
	json.is_valid(content)
	document := json.unmarshal(content)
}

# The components of a document, by digest; undefined where it lists none.
parts[digest] := components if {
	some digest, document in documents
	document.bomFormat == "CycloneDX"
	components := {part |
		# components can have nested components
		walk({"components": document.components}, [path, component])
		path[count(path) - 2] == "components"
		part := {
			"name": label(component, "version"),
			"licences": cyclonedx_licences(component),
		}
	}
	count(components) > 0
}

parts[digest] := packages if {
	some digest, document in documents
	startswith(document.spdxVersion, "SPDX-2.")
	packages := {part |
		some described in document.packages
		part := {
			"name": label(described, "versionInfo"),
			"licences": spdx_licences(described),
		}
	}
	count(packages) > 0
}

cyclonedx_licences(component) := {licence |
	some entry in object.get(component, "licenses", [])
	some licence in stated(entry)
}

stated(entry) := licences if {
	licences := {licence |
		some path in [["expression"], ["license", "id"], ["license", "name"]]
		licence := object.get(entry, path, "")
		licence != ""
	}
	count(licences) > 0
} else := {"(unreadable)"}

# The conclusion of the SBOM's author takes precedence over the package's own declaration.
spdx_licences(described) := {licence |
	answers := [answer |
		some field in ["licenseConcluded", "licenseDeclared"]
		answer := object.get(described, field, "NOASSERTION")
		not answer in {"", "NOASSERTION", "NONE"}
	]
	licence := answers[0]
}

# SPDX expressions: `AND` binds tighter than `OR`, one approved alternative is enough.
acceptable(expression) if {
	not contains(expression, "(")
	some alternative in split(expression, " OR ")
	terms := {trim_space(term) | some term in split(alternative, " AND ")}
	count(terms - approved) == 0
}

# With parentheses every licence in the expression has to be approved, with any operator.
acceptable(expression) if {
	contains(expression, "(")
	spaced := replace(replace(expression, "(", " "), ")", " ")
	terms := {term | some term in split(spaced, " ")} - {"", "AND", "OR"}
	count(terms) > 0
	count(terms - approved) == 0
}

label(part, version_field) := concat("@", [object.get(part, "name", "?"), object.get(part, version_field, "?")])
