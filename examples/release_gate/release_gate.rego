# METADATA
# title: The version of the product may be released
# description: >-
#   Guards against releasing a product with a project that fails, wasn't evaluated or passes only
#   by an override without independent approval, and against releasing it to an unknown environment.
#   Calls functions that are off by default: `--functions all`.
# custom:
#   severity: high
package release_gate

# Frameworks that must have been evaluated, by id. They are listed here and not in the input, whose
# author could leave one out.
required_frameworks := {
	"05bb449f-aba1-5eee-918b-786ed8b8839a": "product-security",
	"ed7889a0-4842-5a66-b59c-6a1d1017500d": "secure-supply-chain",
}

# Any other status, including a new one, is a violation.
passing := {"pass"}

# Types of environments for releases: the organization's own, since the interface defines none.
release_types := {"ENVIRONMENT_TYPE_PRODUCTION"}

# METADATA
# title: Violations
# entrypoint: true
deny contains {"message": sprintf("the input has no `%s`", [key])} if {
	some key in {"product_id", "product_version_id", "environment"}
	not given(key)
}

deny contains {"message": message} if {
	given("product_id")
	given("product_version_id")
	not version
	message := sprintf("the product `%s` has no version `%s`", [input.product_id, input.product_version_id])
}

deny contains {"message": sprintf("`%s` isn't an environment for releases", [input.environment])} if {
	given("environment")
	not is_release_environment
}

deny contains {"message": message, "framework_id": id} if {
	some id, name in required_frameworks
	not id in evaluated
	message := sprintf("the framework `%s` was not evaluated", [name])
}

deny contains {"message": message, "requirement_id": row.requirement_id} if {
	some row in requirements
	not passes(row)
	message := sprintf("`%s` has the status `%s`%s", [row.display_name, row.overall_status, failing(row)])
}

deny contains {"message": message, "requirement_id": row.requirement_id} if {
	some row in requirements
	some override in overrides(row)
	not is_approved(override)
	message := sprintf("`%s` is overridden without independent approval", [row.display_name])
}

deny contains {"message": message, "requirement_id": row.requirement_id} if {
	some row in requirements
	some expired in expired_tests(row)
	message := sprintf("`%s` depends on the test `%s`, which has expired", [row.display_name, expired.test_name])
}

deny contains {"message": message} if {
	some link in version.project_versions
	not is_evaluated(link)
	message := sprintf("the project `%s` was not evaluated", [object.get(link, ["project", "name"], "?")])
}

deny contains {"message": message} if {
	some row in requirements
	not is_about_this_version(row)
	message := sprintf("`%s` was evaluated for another version, `%s`", [row.display_name, row.product_version_id])
}

given(key) if is_string(input[key])

passes(row) if row.overall_status in passing

is_about_this_version(row) if row.product_version_id == input.product_version_id

# Approved by a person other than the requester.
is_approved(override) if {
	override.approved_by.id != ""
	override.user.id != override.approved_by.id
}

is_evaluated(link) if link.version.id in evaluated_versions

# A search also matches parts of names and descriptions.
is_release_environment if {
	some environment in platform.environments({"query": input.environment}).environments
	environment.name == input.environment
	environment.type in release_types
}

# The projects in which a requirement fails, for the message.
failing(row) := "" if count(failing_projects(row)) == 0

failing(row) := sprintf(" because of %s", [concat(", ", failing_projects(row))]) if {
	count(failing_projects(row)) > 0
}

failing_projects(row) := {sprintf("`%s`", [project.project_name]) |
	some project in row.project_evaluations
	project.not_applicable == false
	not project.status in passing
}

overrides(row) := {place.override | some place in array.concat([row], row.project_evaluations)}

expired_tests(row) := {test |
	some place in array.concat([row], row.project_evaluations)
	some test in place.expired_tests
}

requirements := [row | some framework in compliance.frameworks; some row in framework.evaluations]

evaluated := {framework.framework_id |
	some framework in compliance.frameworks
	count(framework.evaluations) > 0
}

evaluated_versions := {project.project_version_id |
	some row in requirements
	some project in row.project_evaluations
}

version := platform.product_version(input.product_id, input.product_version_id)

compliance := platform.product_compliance({"product_version_id": input.product_version_id})
