package release_gate_test

asked := {"product_id": "p", "product_version_id": "v", "environment": "live"}

environments := {"environments": [
	{"name": "live", "type": "ENVIRONMENT_TYPE_PRODUCTION"},
	{"name": "live-like", "type": "ENVIRONMENT_TYPE_STAGING"},
]}

version := {"id": "v", "project_versions": [{"project": {"name": "api"}, "version": {"id": "pv"}}]}

good := {
	"requirement_id": "r",
	"display_name": "Signed",
	"overall_status": "pass",
	"product_version_id": "v",
	"expired_tests": [],
	"project_evaluations": [{
		"project_name": "api",
		"project_version_id": "pv",
		"status": "pass",
		"not_applicable": false,
		"expired_tests": [],
	}],
}

project := good.project_evaluations[0]

frameworks(rows) := {"frameworks": [framework(id, rows) |
	some id, _ in data.release_gate.required_frameworks
]}

framework(id, rows) := {"framework_id": id, "evaluations": rows}

found(asks, of, rows) := {violation.message |
	compliance := frameworks(rows)
	some violation in data.release_gate.deny with input as asks
		with platform.product_version as of
		with platform.product_compliance as compliance
		with platform.environments as environments
}

row(change) := found(asked, version, [object.union(good, change)])

in_project(change) := row({"project_evaluations": [object.union(project, change)]})

test_pass if found(asked, version, [good]) == set()

test_every_other_status_is_a_violation if {
	every status in ["", "PASS", "passed", "partial", "pending", "inactive", "fail"] {
		row({"overall_status": status}) == {sprintf("`Signed` has the status `%s`", [status])}
	}
}

test_the_failing_project_is_named if {
	change := {"overall_status": "fail", "project_evaluations": [object.union(project, {"status": "fail"})]}
	row(change) == {"`Signed` has the status `fail` because of `api`"}
}

test_nothing_evaluated if {
	found(asked, version, []) == {
		"the framework `product-security` was not evaluated",
		"the framework `secure-supply-chain` was not evaluated",
		"the project `api` was not evaluated",
	}
}

test_a_project_that_was_not_evaluated if in_project({"project_version_id": "old"}) == {"the project `api` was not evaluated"}

test_evaluations_of_another_version_are_refused if count(row({"product_version_id": "w"})) == 1

test_overrides_need_somebody_else if {
	refused := {"`Signed` is overridden without independent approval"}
	every override in [{}, {"user": {"id": "a"}}, {"user": {"id": "a"}, "approved_by": {"id": "a"}}] {
		row({"override": override}) == refused
		in_project({"override": override}) == refused
	}
	approved := {"user": {"id": "a"}, "approved_by": {"id": "b"}}
	row({"override": approved}) == set()
}

test_expired_tests if {
	expired := {"expired_tests": [{"test_name": "restore"}]}
	row(expired) == {"`Signed` depends on the test `restore`, which has expired"}
	in_project(expired) == row(expired)
}

test_only_where_releases_go if {
	every name in ["live-like", "test", ""] {
		asks := object.union(asked, {"environment": name})
		found(asks, version, [good]) == {sprintf("`%s` isn't an environment for releases", [name])}
	}
}

test_the_input_is_needed if {
	every key in ["product_id", "product_version_id", "environment"] {
		message := sprintf("the input has no `%s`", [key])
		message in found(object.remove(asked, [key]), version, [good])
		message in found(object.union(asked, {key: null}), version, [good])
	}
}
