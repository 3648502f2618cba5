# METADATA
# title: The release meets every requirement of its frameworks
# description: >-
#   Guards against releasing before compliance is evaluated, and against results other than
#   a pass. A framework that isn't required here but is evaluated has to pass too.
# custom:
#   severity: high
package release_compliance

# Frameworks that must have been evaluated, by id. They are listed here and not in the input, whose
# author could leave one out.
required_frameworks := {
	"05bb449f-aba1-5eee-918b-786ed8b8839a": "product-security",
	"ed7889a0-4842-5a66-b59c-6a1d1017500d": "secure-supply-chain",
}

# Any other status, including a new one, is a violation.
passing := {"pass"}

# METADATA
# title: Violations
# entrypoint: true
violations contains {"message": "the input has no `project_version_id`"} if not input.project_version_id

violations contains {"message": message, "framework_id": id} if {
	some id, name in required_frameworks
	not id in evaluated
	message := sprintf("the framework `%s` was not evaluated", [name])
}

violations contains {"message": message, "framework_id": id, "requirement_id": row.requirement_id} if {
	some row in compliance.evaluations
	not passes(row)
	id := row.framework_id
	message := sprintf(
		"`%s` of the framework `%s` has the status `%s`",
		[row.display_name, object.get(required_frameworks, id, id), row.status],
	)
}

violations contains {"message": message} if {
	some row in compliance.evaluations
	not about_this_version(row)
	message := sprintf("`%s` was evaluated for another version, `%s`", [row.display_name, row.project_version_id])
}

passes(row) if row.status in passing

about_this_version(row) if row.project_version_id == input.project_version_id

evaluated := {row.framework_id | some row in compliance.evaluations}

compliance := platform.project_compliance({"project_version_id": input.project_version_id})
