package provenance_test

released := {
	"files": {"SHA256SUMS": "0a", "rego-platform.tar.gz": "0b"},
	"repository": "https://github.com/acme/app",
	"ref": "refs/tags/v1",
	"commit": "c0ffee",
}

statement := {
	"predicateType": "https://slsa.dev/provenance/v1",
	"subject": [
		{"name": "SHA256SUMS", "digest": {"sha256": "0a"}},
		{"name": "rego-platform.tar.gz", "digest": {"sha256": "0b"}},
	],
	"predicate": {"buildDefinition": {
		"externalParameters": {"workflow": {"repository": "https://github.com/acme/app", "ref": "refs/tags/v1"}},
		"resolvedDependencies": [{"digest": {"gitCommit": "c0ffee"}}],
	}},
}

denied(changes) := messages if {
	changed := json.patch(statement, changes)
	messages := data.provenance.deny with input as changed with data.released as released
}

test_provenance_of_the_tag_passes if denied([]) == set()

test_changed_file_is_denied if {
	changes := [{"op": "replace", "path": "/subject/1/digest/sha256", "value": "0c"}]
	denied(changes) == {"rego-platform.tar.gz isn't attested"}
}

test_build_of_a_fork_is_denied if {
	path := "/predicate/buildDefinition/externalParameters/workflow/repository"
	changes := [{"op": "replace", "path": path, "value": "https://github.com/fork/app"}]
	denied(changes) == {"built in https://github.com/fork/app"}
}

test_build_of_a_branch_is_denied if {
	path := "/predicate/buildDefinition/externalParameters/workflow/ref"
	changes := [{"op": "replace", "path": path, "value": "refs/heads/main"}]
	denied(changes) == {"built for refs/heads/main"}
}

test_different_commit_is_denied if {
	path := "/predicate/buildDefinition/resolvedDependencies/0/digest/gitCommit"
	changes := [{"op": "replace", "path": path, "value": "f00"}]
	denied(changes) == {"not built from commit c0ffee"}
}

test_different_predicate_is_denied if {
	changes := [{"op": "replace", "path": "/predicateType", "value": "https://example.com/v1"}]
	denied(changes) == {"the statement isn't SLSA provenance"}
}
