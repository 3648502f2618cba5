# SBOMs in one form: CycloneDX 1.2 to 1.7 and SPDX 2.2, 2.3 and 3.0 in JSON. Each document is checked
# against a small schema first, so that the rest reads members without looking at their types. Calls
# of functions are avoided for each component, since there may be many thousands.
package lib.sbom

import data.lib.documents
import data.lib.value

# The result of a rule about SBOMs. An input without a readable SBOM is skipped. An unreadable SBOM
# next to a readable one is a violation of each rule, since no rule has judged it.
verdict(violations) := {"skipped": true, "skip_reason": "the input has no readable SBOM", "violations": violations} if {
	count(all) == 0
} else := {"skipped": false, "violations": (violations | problems)}

# The result of the rule that requires an SBOM. A document of another format is skipped.
presence(violations) := {"skipped": true, "skip_reason": "the document isn't an SBOM", "violations": violations} if {
	documents.shape == "document"
	count(candidates) == 0
} else := {"skipped": false, "violations": violations}

# The result of the rule that reports what can't be read.
readability := {"skipped": true, "skip_reason": "the input has no SBOM", "violations": set()} if {
	count(candidates) == 0
} else := {"skipped": false, "violations": problems}

# The readable SBOMs. Each has these members:
# - `label` for messages, `format` and `version` of the format;
# - `created`, and the sets `authors` and `tools`;
# - `subject`: an object with `name`, or {};
# - `components`: `id`, `name`, `version`, `purl`, `suppliers`, `licenses` (expressions or names),
#   `identified` (it has a package URL, a CPE or a SWID tag), `package` (not a file or a system);
# - `linked`, the identifiers in its dependencies, and `known`, those that it defines.
all := [document |
	some candidate in candidates
	count(reasons(candidate.content)) == 0
	document := object.union({"label": candidate.label}, normalized(format(candidate.content), candidate.content))
]

problems contains {"message": message} if {
	some candidate in candidates
	some reason in reasons(candidate.content)
	message := sprintf("%s isn't a readable SBOM: %s", [candidate.label, reason])
}

candidates := [candidate |
	some candidate in documents.candidates("sbom")
	is_candidate(candidate)
]

is_candidate(candidate) if candidate.claim == "sbom"

is_candidate(candidate) if format(candidate.content) != ""

format(content) := "CycloneDX" if {
	value.has(content, "bomFormat")
} else := "SPDX 2" if {
	value.has(content, "spdxVersion")
} else := "SPDX 3" if {
	startswith(value.text(content, "@context"), "https://spdx.org/rdf/3.")
} else := ""

# Reasons why content can't be read as the SBOM that it claims to be: at most three.
reasons(content) := value.mismatches(content, schemas[format(content)]) if {
	schemas[format(content)]
} else := ["expected CycloneDX or SPDX in JSON"]

normalized("CycloneDX", content) := cyclonedx(content)

normalized("SPDX 2", content) := spdx2(content)

normalized("SPDX 3", content) := spdx3(content)

# Kinds of components that may have no version, supplier or license of their own.
other_kinds := {
	"application", "container", "cryptographic-asset", "data", "device", "device-driver", "file",
	"machine-learning-model", "operating-system", "platform", "archive", "operatingsystem",
	"APPLICATION", "ARCHIVE", "CONTAINER", "DEVICE", "FILE", "OPERATING_SYSTEM", "OPERATING-SYSTEM",
}

# The licenses in all SBOMs: there are far fewer than components.
licenses := {license |
	some document in all
	some component in document.components
	some license in component.licenses
}

# The names by which a list may name a component, in lower case.
names(component) := {lower(name) |
	some name in [component.name, concat("@", [component.name, component.version]), component.purl]
	name != ""
}

# How a message names a component.
name(component) := component.name if {
	component.version == ""
} else := concat("@", [component.name, component.version])

string := {"type": "string"}

strings := {"type": "array", "items": {"type": "string"}}

schemas := {
	# https://cyclonedx.org/docs/1.7/json/
	"CycloneDX": {
		"definitions": {
			"name": {"properties": {"name": string}},
			"component": {
				"type": "object",
				"required": ["name"],
				"properties": {
					"name": {"type": "string", "minLength": 1},
					"group": string,
					"version": string,
					"purl": string,
					"bom-ref": string,
					"licenses": {"type": "array", "items": {"type": "object"}},
					"components": {"type": "array", "items": {"$ref": "#/definitions/component"}},
				},
			},
		},
		"type": "object",
		"required": ["bomFormat", "specVersion"],
		"properties": {
			"bomFormat": {"enum": ["CycloneDX"]},
			"specVersion": {"enum": ["1.2", "1.3", "1.4", "1.5", "1.6", "1.7"]},
			"metadata": {"type": "object", "properties": {"component": {"$ref": "#/definitions/component"}}},
			"components": {"type": "array", "items": {"$ref": "#/definitions/component"}},
			"dependencies": {"type": "array", "items": {
				"type": "object",
				"required": ["ref"],
				"properties": {"ref": string, "dependsOn": strings},
			}},
		},
	},
	# https://spdx.github.io/spdx-spec/v2.3/
	"SPDX 2": {
		"type": "object",
		"required": ["spdxVersion"],
		"properties": {
			"spdxVersion": {"enum": ["SPDX-2.2", "SPDX-2.3"]},
			"documentDescribes": strings,
			"packages": {"type": "array", "items": {
				"type": "object",
				"required": ["name", "SPDXID"],
				"properties": {
					"name": {"type": "string", "minLength": 1},
					"SPDXID": {"type": "string", "minLength": 1},
					"versionInfo": string,
					"supplier": string,
					"originator": string,
					"licenseConcluded": string,
					"licenseDeclared": string,
					"externalRefs": {"type": "array", "items": {
						"type": "object",
						"required": ["referenceType", "referenceLocator"],
						"properties": {"referenceType": string, "referenceLocator": string},
					}},
				},
			}},
			"relationships": {"type": "array", "items": {
				"type": "object",
				"required": ["spdxElementId", "relatedSpdxElement", "relationshipType"],
				"properties": {"spdxElementId": string, "relatedSpdxElement": string, "relationshipType": string},
			}},
		},
	},
	# https://spdx.github.io/spdx-spec/v3.0.1/
	"SPDX 3": {
		"type": "object",
		"required": ["@graph"],
		"properties": {"@graph": {"type": "array", "minItems": 1, "items": {
			"type": "object",
			"required": ["type"],
			"properties": {
				"type": string,
				"spdxId": string,
				"name": string,
				"specVersion": {"type": "string", "pattern": `^3\.0(\.|$)`},
				"from": string,
				"to": strings,
				"software_packageVersion": string,
				"software_packageUrl": string,
				"externalIdentifier": {"type": "array", "items": {"type": "object", "properties": {"identifier": string}}},
				"suppliedBy": string,
				"originatedBy": strings,
			},
		}}},
	},
}

cyclonedx(content) := {
	"format": "CycloneDX",
	"version": content.specVersion,
	"created": value.text(content, ["metadata", "timestamp"]),
	"authors": ({value.text(content, ["metadata", field, "name"]) |
		some field in ["manufacturer", "manufacture", "supplier"]
	} | {value.text(author, "name") | some author in value.objects(content, ["metadata", "authors"])}),
	"tools": {value.text(tool, "name") |
		some path in [["metadata", "tools"], ["metadata", "tools", "components"], ["metadata", "tools", "services"]]
		some tool in value.objects(content, path)
	},
	"subject": subject,
	"components": [{
		"id": object.get(component, "bom-ref", ""),
		"name": trim_left(concat("/", [object.get(component, "group", ""), component.name]), "/"),
		"version": object.get(component, "version", ""),
		"purl": purl,
		"suppliers": {
			object.get(component, ["supplier", "name"], ""),
			object.get(component, ["manufacturer", "name"], ""),
			object.get(component, "publisher", ""),
			object.get(component, "author", ""),
		} - {""},
		"licenses": [license |
			some entry in object.get(component, "licenses", [])
			license := max({
				object.get(entry, "expression", ""),
				object.get(entry, ["license", "id"], ""),
				object.get(entry, ["license", "name"], ""),
				"(unreadable)",
			})
		],
		"identified": {purl, object.get(component, "cpe", ""), object.get(component, ["swid", "tagId"], "")} != {""},
		"package": [object.get(component, "type", "") in other_kinds, purl] != [true, ""],
	} |
		some component in components
		purl := object.get(component, "purl", "")
	],
	"linked": {id |
		some dependency in object.get(content, "dependencies", [])
		some id in array.concat([dependency.ref], object.get(dependency, "dependsOn", []))
	},
	"known": {object.get(element, "bom-ref", "") |
		some element in array.concat(array.concat(components, value.objects(content, "services")), [subject])
	},
} if {
	subject := object.get(content, ["metadata", "component"], {})
	components := flattened(array.concat(object.get(content, "components", []), object.get(subject, "components", [])))
}

# Components with the components within them.
flattened(components) := array.concat(components, [inner |
	some component in components
	walk(component.components, [path, inner])
	is_object(inner)
	is_number(path[count(path) - 1])
	{step | some step in path; is_string(step)} - {"components"} == set()
])

spdx2(content) := {
	"format": "SPDX",
	"version": trim_prefix(content.spdxVersion, "SPDX-"),
	"created": value.text(content, ["creationInfo", "created"]),
	"authors": {name |
		some creator in creators
		some prefix in ["Person:", "Organization:"]
		startswith(creator, prefix)
		name := trim_space(trim_prefix(creator, prefix))
	},
	"tools": {trim_space(trim_prefix(creator, "Tool:")) | some creator in creators; startswith(creator, "Tool:")},
	"subject": value.first_object([found | some found in packages; found.SPDXID in described]),
	"components": [{
		"id": found.SPDXID,
		"name": found.name,
		"version": object.get(unstated, version, version),
		"purl": concat("", array.slice(purls, 0, 1)),
		"suppliers": {object.get(found, "supplier", ""), object.get(found, "originator", "")} - unstated_words,
		"licenses": array.slice(stated, 0, 1),
		"identified": ({reference.referenceType | some reference in references} & identifier_types) != set(),
		"package": [object.get(found, "primaryPackagePurpose", "") in other_kinds, purls] != [true, []],
	} |
		some found in packages
		not found.SPDXID in described
		version := object.get(found, "versionInfo", "")
		references := object.get(found, "externalRefs", [])
		purls := [reference.referenceLocator | some reference in references; reference.referenceType == "purl"]
		stated := [license |
			some license in [object.get(found, "licenseConcluded", ""), object.get(found, "licenseDeclared", "")]
			not license in unstated_words
		]
	],
	"linked": {id |
		some relationship in relationships
		relationship.relationshipType in dependency_types
		some id in [relationship.spdxElementId, relationship.relatedSpdxElement]
		not startswith(id, "DocumentRef-")
		not id in unstated_words
	},
	"known": {object.get(element, "SPDXID", "") |
		some element in array.concat(
			array.concat(packages, [content]),
			array.concat(value.objects(content, "files"), value.objects(content, "snippets")),
		)
	},
} if {
	packages := object.get(content, "packages", [])
	relationships := object.get(content, "relationships", [])
	creators := value.texts(content, ["creationInfo", "creators"])
	described := {id | some id in object.get(content, "documentDescribes", [])} | {relationship.relatedSpdxElement |
		some relationship in relationships
		relationship.relationshipType == "DESCRIBES"
		relationship.spdxElementId == "SPDXRef-DOCUMENT"
	}
}

# SPDX's words for a missing value.
unstated := {"NOASSERTION": "", "NONE": ""}

unstated_words := {"", "NOASSERTION", "NONE"}

identifier_types := {"purl", "cpe22Type", "cpe23Type", "swid", "swh", "gitoid"}

dependency_types := {
	"BUILD_DEPENDENCY_OF", "CONTAINED_BY", "CONTAINS", "DEPENDENCY_OF", "DEPENDS_ON", "DESCRIBED_BY", "DESCRIBES",
	"DEV_DEPENDENCY_OF", "OPTIONAL_DEPENDENCY_OF", "PROVIDED_DEPENDENCY_OF", "RUNTIME_DEPENDENCY_OF",
	"TEST_DEPENDENCY_OF",
}

spdx3(content) := {
	"format": "SPDX",
	"version": value.text(creation, "specVersion"),
	"created": value.text(creation, "created"),
	"authors": {object.get(by_id, [id, "name"], "") | some id in value.texts(creation, "createdBy")},
	"tools": {object.get(by_id, [id, "name"], "") | some id in value.texts(creation, "createdUsing")},
	"subject": value.first_object([found | some found in packages; object.get(found, "spdxId", "") in roots]),
	"components": [{
		"id": id,
		"name": object.get(found, "name", ""),
		"version": object.get(found, "software_packageVersion", ""),
		"purl": concat("", array.slice(purls, 0, 1)),
		"suppliers": {object.get(by_id, [agent, "name"], "") |
			some agent in array.concat([object.get(found, "suppliedBy", "")], object.get(found, "originatedBy", []))
		} - {""},
		"licenses": array.slice(stated, 0, 1),
		"identified": (count(identifiers) + count(purls)) > 0,
		"package": [object.get(found, "software_primaryPurpose", "") in other_kinds, purls] != [true, []],
	} |
		some found in packages
		id := object.get(found, "spdxId", "")
		not id in roots
		identifiers := object.get(found, "externalIdentifier", [])
		purls := [purl |
			some purl in array.concat([object.get(found, "software_packageUrl", "")], [object.get(identifier, "identifier", "") |
				some identifier in identifiers
				object.get(identifier, "externalIdentifierType", "") == "packageUrl"
			])
			purl != ""
		]
		stated := [license |
			some kind in ["hasConcludedLicense", "hasDeclaredLicense"]
			license := object.get(licensed, [kind, id], "")
			not license in unstated_words
		]
	],
	"linked": {id |
		some relationship in relationships
		object.get(relationship, "relationshipType", "") in {"dependsOn", "contains", "describes"}
		some id in array.concat([object.get(relationship, "from", "")], object.get(relationship, "to", []))
		not regex.match(`/Core/(NoneElement|NoAssertionElement)$`, id)
	},
	"known": ({id | some id, _ in by_id} | {object.get(external, "externalSpdxId", "") |
		some document in elements(content, {"SpdxDocument"})
		some external in value.objects(document, "import")
	}),
} if {
	creation := value.first_object(elements(content, {"CreationInfo"}))
	by_id := {element.spdxId: element | some element in content["@graph"]}
	packages := elements(content, {"software_Package", "ai_AIPackage", "dataset_DatasetPackage"})
	relationships := elements(content, {"Relationship", "LifecycleScopedRelationship"})
	licensed := {kind: {from: license |
		some relationship in relationships
		object.get(relationship, "relationshipType", "") == kind
		from := object.get(relationship, "from", "")
		license := spdx3_license(by_id, object.get(relationship, ["to", 0], ""))
	} |
		some kind in ["hasConcludedLicense", "hasDeclaredLicense"]
	}
	roots := {id |
		some element in elements(content, {"SpdxDocument", "Bom", "software_Sbom"})
		some id in value.texts(element, "rootElement")
	} | {id |
		some relationship in relationships
		object.get(relationship, "relationshipType", "") == "describes"
		some id in object.get(relationship, "to", [])
	}
}

elements(content, types) := [element | some element in content["@graph"]; element.type in types]

# The license that a relationship names: an expression, a listed license, or the model's words for
# a missing one.
spdx3_license(by_id, id) := "NOASSERTION" if {
	regex.match(`/terms/[A-Za-z]*Licensing/(NoAssertion|None)(License)?$`, id)
} else := trim_prefix(id, "https://spdx.org/licenses/") if {
	startswith(id, "https://spdx.org/licenses/")
} else := value.first([
	value.text(by_id, [id, "simplelicensing_licenseExpression"]),
	value.text(by_id, [id, "name"]),
	"(unreadable)",
])
