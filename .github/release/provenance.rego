# METADATA
# title: Published files were built by the release workflow, from the tagged commit
package provenance

build := input.predicate.buildDefinition

deny contains sprintf("%s isn't attested", [name]) if {
	some name, digest in data.released.files
	not is_subject(name, digest)
}

deny contains "the statement isn't SLSA provenance" if input.predicateType != "https://slsa.dev/provenance/v1"

deny contains sprintf("built in %s", [build.externalParameters.workflow.repository]) if {
	build.externalParameters.workflow.repository != data.released.repository
}

deny contains sprintf("built for %s", [build.externalParameters.workflow.ref]) if {
	build.externalParameters.workflow.ref != data.released.ref
}

deny contains sprintf("not built from commit %s", [data.released.commit]) if not is_from_commit

is_subject(name, digest) if {
	some subject in input.subject
	subject.name == name
	subject.digest.sha256 == digest
}

is_from_commit if {
	some source in build.resolvedDependencies
	source.digest.gitCommit == data.released.commit
}
