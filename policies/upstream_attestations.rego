# METADATA
# title: Upstream attestations have no policy violations
# description: >-
#   Guards against shipping an image when one of its dependencies violated the policies of its
#   own release. Follows references from the image for three steps and checks every attestation
#   on the way; anything further upstream is left to the upstream's own gate.
# custom:
#   severity: high
package upstream_attestations

# METADATA
# title: Violations
# description: An unattested or unknown dependency is a violation as well.
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

# OPA doesn't allow recursion, so each step is a rule. A step looks up all of its nodes in one
# comprehension: the calls don't depend on each other and can be sent concurrently.
level_0 := {{"digest": input.image, "kind": "CONTAINER_IMAGE"}}

level_1 := references(answers_0)

level_2 := references(answers_1)

level_3 := references(answers_2)

answers_0 := answers(level_0)

answers_1 := answers(level_1)

# Attestations refer back to their image, which needn't be looked up again.
answers_2 := answers(level_2 - level_1)

# `kind` is included because the same bytes may exist with several kinds.
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
