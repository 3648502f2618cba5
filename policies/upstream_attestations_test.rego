package upstream_attestations_test

import data.upstream_attestations

# image, build, library, deep: each refers to the next.
graph(deepest) := {
	"image": [{"digest": "build", "kind": "ATTESTATION", "metadata": {"hasPolicyViolations": "false"}}],
	"build": [
		{"digest": "image", "kind": "CONTAINER_IMAGE"},
		{"digest": "library", "kind": "ATTESTATION", "metadata": {"hasPolicyViolations": "false"}},
	],
	"library": [{"digest": "deep", "kind": "ATTESTATION", "metadata": deepest}],
}

clean(digest, _) := {
	"digest": digest,
	"references": graph({"hasPolicyViolations": "false"})[digest],
}

violated(digest, _) := {
	"digest": digest,
	"references": graph({"hasPolicyViolations": "true"})[digest],
}

silent(digest, _) := {
	"digest": digest,
	"references": graph({"name": "deep"})[digest],
}

test_clean_graph_passes if {
	denied := upstream_attestations.deny with platform.discover as clean with input as {"image": "image"}
	denied == set()
}

test_violation_three_steps_up_is_found if {
	denied := upstream_attestations.deny with platform.discover as violated with input as {"image": "image"}
	{denial.message | some denial in denied} == {"attestation `deep` has policy violations"}
}

test_silence_is_no_pass if {
	denied := upstream_attestations.deny with platform.discover as silent with input as {"image": "image"}
	messages := {denial.message | some denial in denied}
	messages == {"attestation `deep` doesn't say whether it has policy violations"}
}
