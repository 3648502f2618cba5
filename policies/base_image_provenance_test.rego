package base_image_provenance_test

import data.base_image_provenance

discover("image", _) := {"references": [{"digest": "build", "kind": "ATTESTATION"}]}

discover("build", _) := {"references": [
	{"digest": "image", "kind": "CONTAINER_IMAGE"},
	{"digest": "sha256:base", "kind": "CONTAINER_IMAGE"},
]}

discover("sha256:base", _) := {"references": [{"digest": "origin", "kind": "ATTESTATION"}]}

statement := {
	"predicateType": "https://slsa.dev/provenance/v1",
	"subject": [{"name": "base", "digest": {"sha256": "base"}}],
	"predicate": {"runDetails": {"builder": {"id": "https://ci.acme.example/hosted-runner"}}},
}

envelope(content) := json.marshal({"payload": base64.encode(content)})

denied(content) := messages if {
	denials := base_image_provenance.deny with input as {"image": "image"}
		with platform.discover as discover
		with platform.download_artifact as content
	messages := {denial.message | some denial in denials}
}

test_pass if denied(envelope(json.marshal(statement))) == set()

test_unreadable if {
	every content in ["", "{}", "[]", `{"payload": "%"}`, envelope("no JSON"), json.marshal(statement)] {
		denied(content) == {"`origin`, provenance of the base image, can't be read"}
	}
}

test_each_claim_is_checked if {
	every path in ["predicateType", "subject", "predicate"] {
		count(denied(envelope(json.marshal(object.remove(statement, [path]))))) == 1
	}
}
