package lib.graph_test

import data.lib.fixtures_test as fixtures
import data.lib.graph

digest := "sha256:8fa6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477"

reference(name, kind) := {"digest": name, "kind": kind}

nodes := {
	digest: {"digest": digest, "kind": "CONTAINER_IMAGE", "references": [
		reference("sha256:1", "ATTESTATION"),
		reference("sha256:5", "SBOM_SPDX_JSON"),
	]},
	"sha256:1": {"digest": "sha256:1", "kind": "ATTESTATION", "references": [
		reference(digest, "CONTAINER_IMAGE"),
		reference("sha256:2", "CONTAINER_IMAGE"),
		reference("sha256:3", "ATTESTATION"),
	]},
	"sha256:5": {"digest": "sha256:5", "kind": "SBOM_SPDX_JSON", "references": [reference("sha256:6", "CONTAINER_IMAGE")]},
	"sha256:2": {"digest": "sha256:2", "kind": "CONTAINER_IMAGE", "references": [
		reference("sha256:4", "ATTESTATION"),
		reference("sha256:7", "SBOM_SPDX_JSON"),
	]},
}

discovered(name, kind) := nodes[name] if nodes[name].kind == kind

test_image if {
	graph.image == digest with input as {"image": digest}
	graph.image == digest with input as fixtures.image([])
	every other in [{}, [], null, {"image": 5}, {"image": "shop:v1"}, {"image": "sha256:1"}, {"image": sprintf("%s0", [digest])}, {"image": sprintf("x%s", [digest])}] {
		not graph.image with input as other
		graph.verdict({1}) == {"skipped": true, "skip_reason": "the input names no image by its digest: `image`", "violations": {1}} with input as other
		graph.first == {"references": []} with input as other
	}
	graph.verdict({1}) == {"skipped": false, "violations": {1}} with input as {"image": digest}
}

test_steps if {
	found := {
		"attestations": {node.digest | some node in graph.attestations},
		"unknown": graph.unknown,
		"base_images": graph.base_images,
		"base_attestations": graph.base_attestations,
		"upstream": {node.digest | some node in graph.upstream},
	} with input as {"image": digest} with platform.discover as discovered
	found == {
		"attestations": {"sha256:1"},
		"unknown": set(),
		"base_images": {"sha256:2"},
		"base_attestations": {"sha256:2": {"sha256:4"}},
		"upstream": {"sha256:1", "sha256:3", "sha256:4"},
	}
}

test_statement if {
	envelope := json.marshal({"payload": base64.encode(json.marshal(fixtures.github_provenance))})
	graph.statement("sha256:1") == fixtures.github_provenance with platform.download_artifact as envelope
	every text in ["text", "{}", "[]", "5"] {
		not graph.statement("sha256:1") with platform.download_artifact as text
	}
}
