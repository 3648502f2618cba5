# METADATA
# title: Upstream attestations have no policy violations
# description: >-
#   Guards against shipping an image when something that it was built from broke the policies of
#   its own release. Follows references from the image for three steps and looks at every
#   attestation on the way; what lies further up is the business of the upstream's own gate.
# custom:
#   severity: high
package upstream_attestations

# METADATA
# title: Violations
# description: What nobody has attested, or nobody knows, is a violation as well.
# entrypoint: true
deny contains {"message": "the input has no `image`"} if not input.image

deny contains {"message": message, "digest": image.digest} if {
	some image in level_0
	not attested
	message := sprintf("no attestation refers to `%s`", [image.digest])
}

deny contains {"message": message, "digest": node.digest} if {
	some node in union({level_0, level_1, level_2})
	not node.digest in known
	message := sprintf("the platform doesn't know `%s`", [node.digest])
}

deny contains {"message": message, "digest": attestation.digest} if {
	some attestation in attestations
	violated(attestation) in {true, "true"}
	message := sprintf("attestation `%s` has policy violations", [label(attestation)])
}

deny contains {"message": message, "digest": attestation.digest} if {
	some attestation in attestations
	not violated(attestation) in {true, "true", false, "false"}
	message := sprintf("attestation `%s` doesn't say whether it has policy violations", [label(attestation)])
}

# OPA refuses recursion, so each step is a rule. A step asks about all of its nodes in one
# comprehension: nothing depends on a neighbour's answer, and the calls can travel together.
level_0 := {{"digest": input.image, "kind": "CONTAINER_IMAGE"}}

level_1 := references(answers_0)

level_2 := references(answers_1)

level_3 := references(answers_2)

answers_0 := answers(level_0)

answers_1 := answers(level_1)

# Attestations refer back to their image: what was asked needn't be asked again.
answers_2 := answers(level_2 - level_1)

# `kind` goes along because the same bytes may be known under several kinds.
answers(nodes) := {answer |
	some node in nodes
	answer := platform.discover(node.digest, node.kind)
}

references(nodes) := {reference |
	some node in nodes
	some reference in node.references
}

known := {answer.digest | some answer in union({answers_0, answers_1, answers_2})}

attestations := {reference |
	some reference in union({level_1, level_2, level_3})
	reference.kind == "ATTESTATION"
}

attested if {
	some reference in level_1
	reference.kind == "ATTESTATION"
}

violated(attestation) := object.get(attestation, ["metadata", "hasPolicyViolations"], null)

label(attestation) := object.get(attestation, ["metadata", "name"], attestation.digest)
