package lib.container_test

import data.lib.container
import data.lib.fixtures_test as fixtures

test_forms if {
	every document in fixtures.configurations {
		count(container.all) == 1 with input as document
		container.all[0].ports == {"8080/tcp"} with input as document
		"org.opencontainers.image.source" in {pair[0] | some pair in container.all[0].labels} with input as document
	}
	container.all[0].env == [["PATH", "/usr/bin:/bin"], ["TOKEN_FILE", "/run/secrets/token"]] with input as fixtures.image_config
	container.all[0].created != "" with input as fixtures.inspected_image
	container.all[0].user == "65532:65532" with input as fixtures.dockerfile
	container.all[0].user == "app" with input as fixtures.trivy
}

test_pairs if {
	instructions := [
		fixtures.instruction(0, "env", ["A", "1", "=", "B", `"c d"`, "="]),
		fixtures.instruction(0, "env", ["A", "2", "="]),
		fixtures.instruction(0, "label", ["C", "3", "="]),
	]
	container.pairs(instructions, "env") == [["A", "1"], ["B", "c d"], ["A", "2"]]
}

test_bases if {
	container.bases(container.dockerfiles[0]) == {"golang:1.24@sha256:1111", "gcr.io/distroless/static@sha256:2222"} with input as fixtures.dockerfile
	container.names(container.dockerfiles[0]) == {"build"} with input as fixtures.dockerfile
}

test_several_images if {
	count(container.all) == 2 with input as array.concat(fixtures.inspected_image, fixtures.inspected_image)
}

test_readability if {
	container.readability == {"skipped": true, "skip_reason": "the input has no configuration of a container image", "violations": set()} with input as {}
	every document in fixtures.configurations {
		container.readability == {"skipped": false, "violations": set()} with input as document
	}
	container.readability.violations == {fixtures.unreadable_configuration} with input as fixtures.with_unreadable_configuration
}

test_verdict if {
	container.verdict({1}) == {"skipped": true, "skip_reason": "the input has no configuration of a container image", "violations": {1}} with input as {}
	container.dockerfile_verdict({1}).skipped with input as fixtures.image_config
	container.dockerfile_verdict({1}) == {"skipped": false, "violations": {1}} with input as fixtures.dockerfile
}
