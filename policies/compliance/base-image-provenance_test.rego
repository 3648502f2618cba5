package compliance.base_image_provenance_test

import data.compliance.base_image_provenance
import data.lib.fixtures_test as fixtures

image := {"image": "sha256:8fa6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477"}

base := "sha256:2a6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477f"

reference(digest, kind) := {"digest": digest, "kind": kind, "metadata": {}}

nodes := {
	image.image: {"digest": image.image, "kind": "CONTAINER_IMAGE", "references": [reference("sha256:1", "ATTESTATION")]},
	"sha256:1": {"digest": "sha256:1", "kind": "ATTESTATION", "references": [
		reference(image.image, "CONTAINER_IMAGE"),
		reference(base, "CONTAINER_IMAGE"),
	]},
	base: {"digest": base, "kind": "CONTAINER_IMAGE", "references": [reference("sha256:4", "ATTESTATION")]},
}

discovered(digest, _) := nodes[digest]

baseless(digest, _) := object.union(nodes, {"sha256:1": {"digest": "sha256:1", "kind": "ATTESTATION", "references": []}})[digest]

envelope(statement) := json.marshal({"payload": base64.encode(json.marshal(statement))})

described := fixtures.with_value(fixtures.github_provenance, "subject/0/digest/sha256", trim_prefix(base, "sha256:"))

test_passes if {
	base_image_provenance.result == {"skipped": false, "violations": set()} with input as image
		with platform.discover as discovered
		with platform.download_artifact as envelope(described)
		with data.parameters as {"trusted_base_builders": ["https://github.com/acme/*"]}
	older := fixtures.with_value(fixtures.generator_provenance, "subject/0/digest/sha256", trim_prefix(base, "sha256:"))
	base_image_provenance.result.violations == set() with input as image
		with platform.discover as discovered
		with platform.download_artifact as envelope(older)
}

test_fails if {
	fixtures.messages(base_image_provenance.result) == {"no attestation names the base image of `sha256:8fa6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477`"} with input as image
		with platform.discover as baseless
	every content in [envelope({"predicateType": "https://example.com/scan/v1"}), "{}", "text", envelope([])] {
		fixtures.messages(base_image_provenance.result) == {sprintf("the base image `%s` has no provenance", [base])} with input as image
			with platform.discover as discovered
			with platform.download_artifact as content
	}
	fixtures.messages(base_image_provenance.result) == {sprintf("the provenance of the base image `%s` isn't from a trusted builder: found `%s`", [base, fixtures.github_provenance.predicate.runDetails.builder.id])} with input as image
		with platform.discover as discovered
		with platform.download_artifact as envelope(described)
		with data.parameters as {"trusted_base_builders": ["https://github.com/other/*"]}
	fixtures.messages(base_image_provenance.result) == {sprintf("the provenance of the base image `%s` isn't from a trusted builder: found ``", [base])} with input as image
		with platform.discover as discovered
		with platform.download_artifact as envelope(fixtures.without(described, "predicate/runDetails"))
	fixtures.messages(base_image_provenance.result) == {sprintf("the provenance of the base image `%s` describes another artifact", [base])} with input as image
		with platform.discover as discovered
		with platform.download_artifact as envelope(fixtures.github_provenance)
}

test_skips_other_documents if {
	every document in fixtures.not_compliance {
		base_image_provenance.result.skipped with input as document
		base_image_provenance.result.violations == set() with input as document
	}
}
