package compliance.upstream_attestations_test

import data.compliance.upstream_attestations
import data.lib.fixtures_test as fixtures

image := {"image": "sha256:8fa6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477"}

reference(digest, kind, violated) := {"digest": digest, "kind": kind, "metadata": {"hasPolicyViolations": violated}}

nodes(violated) := {
	image.image: {"digest": image.image, "kind": "CONTAINER_IMAGE", "references": [reference("sha256:1", "ATTESTATION", violated[0])]},
	"sha256:1": {"digest": "sha256:1", "kind": "ATTESTATION", "references": [
		reference(image.image, "CONTAINER_IMAGE", ""),
		reference("sha256:2", "CONTAINER_IMAGE", ""),
		reference("sha256:3", "ATTESTATION", violated[1]),
	]},
	"sha256:2": {"digest": "sha256:2", "kind": "CONTAINER_IMAGE", "references": [reference("sha256:4", "ATTESTATION", violated[2])]},
}

discovered(digest, _) := nodes(["false", "false", "false"])[digest]

first_violated(digest, _) := nodes(["true", "false", "false"])[digest]

second_violated(digest, _) := nodes(["false", "true", "false"])[digest]

third_violated(digest, _) := json.patch(nodes(["false", "false", "false"]), [{"op": "remove", "path": "sha256:2/references/0/metadata/hasPolicyViolations"}])[digest]

lonely(digest, _) := {"digest": digest, "kind": "CONTAINER_IMAGE", "references": []}

partly_known(digest, _) := object.remove(nodes(["false", "false", "false"]), ["sha256:1"])[digest]

test_passes if {
	upstream_attestations.result == {"skipped": false, "violations": set()} with input as image with platform.discover as discovered
}

test_fails if {
	fixtures.messages(upstream_attestations.result) == {"the attestation `sha256:1` has policy violations: true"} with input as image with platform.discover as first_violated
	fixtures.messages(upstream_attestations.result) == {"the attestation `sha256:3` has policy violations: true"} with input as image with platform.discover as second_violated
	fixtures.messages(upstream_attestations.result) == {"the attestation `sha256:4` has policy violations: unknown"} with input as image with platform.discover as third_violated
	fixtures.messages(upstream_attestations.result) == {"no attestation refers to `sha256:8fa6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477`"} with input as image with platform.discover as lonely
	fixtures.messages(upstream_attestations.result) == {"the service doesn't know `sha256:1`"} with input as image with platform.discover as partly_known
}

test_image if {
	upstream_attestations.result.violations == set() with input as fixtures.image([]) with platform.discover as discovered
}

test_skips_names_of_images if {
	every name in ["shop:v1", "sha256:1", 5, null] {
		upstream_attestations.result.skipped with input as {"image": name}
	}
}

test_skips_other_documents if {
	every document in fixtures.not_compliance {
		upstream_attestations.result.skipped with input as document
		upstream_attestations.result.violations == set() with input as document
	}
}
