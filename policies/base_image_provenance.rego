# METADATA
# title: The base image has provenance from a trusted builder
# description: >-
#   Guards against an image with a base image of unknown origin. Follows the references from the
#   image to its attestations, from there to the base image, and reads the provenance of that. The
#   service checks the signatures when it receives an attestation; this policy checks the signed
#   content.
# custom:
#   severity: high
package base_image_provenance

trusted_builders := {"https://ci.acme.example/hosted-runner"}

slsa_provenance := "https://slsa.dev/provenance/v1"

# METADATA
# title: Violations
# entrypoint: true
deny contains {"message": "the input has no `image`"} if not input.image

deny contains {"message": message} if {
	count(attestations) == 0
	message := sprintf("no attestation describes how `%s` was built", [input.image])
}

deny contains {"message": message, "digest": digest} if {
	some digest in attestations
	not attestation_nodes[digest]
	message := sprintf("the platform doesn't know the attestation `%s`", [digest])
}

deny contains {"message": message} if {
	count(attestations) > 0
	count(base_images) == 0
	message := sprintf("no attestation names the base image of `%s`", [input.image])
}

deny contains {"message": message, "digest": base} if {
	some base in base_images
	count(provenance(base)) == 0
	message := sprintf("the base image `%s` has no provenance", [base])
}

deny contains {"message": message, "digest": digest} if {
	some base in base_images
	some digest in provenance(base)
	not statements[digest]
	message := sprintf("`%s`, provenance of the base image, can't be read", [digest])
}

deny contains {"message": message, "digest": digest} if {
	some digest, statement in statements
	type := object.get(statement, "predicateType", "")
	type != slsa_provenance
	message := sprintf("`%s`, provenance of the base image, has the type `%s`", [digest, type])
}

deny contains {"message": message, "digest": digest} if {
	some digest, statement in statements
	builder := object.get(statement, ["predicate", "runDetails", "builder", "id"], "")
	not builder in trusted_builders
	message := sprintf("`%s`, provenance of the base image, comes from the builder `%s`", [digest, builder])
}

deny contains {"message": message, "digest": digest} if {
	some base in base_images
	some digest in provenance(base)
	statement := statements[digest]
	not base in subjects(statement)
	message := sprintf("`%s`, provenance of the base image, describes another image", [digest])
}

# First step: the image's attestations.
attestations := {reference.digest |
	some reference in platform.discover(input.image, "CONTAINER_IMAGE").references
	reference.kind == "ATTESTATION"
}

attestation_nodes[digest] := node if {
	some digest in attestations
	node := platform.discover(digest, "ATTESTATION")
}

# Second step: the images that they name, except the one they describe.
base_images := {reference.digest |
	some node in attestation_nodes
	some reference in node.references
	reference.kind == "CONTAINER_IMAGE"
	reference.digest != input.image
}

base_nodes[digest] := node if {
	some digest in base_images
	node := platform.discover(digest, "CONTAINER_IMAGE")
}

provenance(base) := {reference.digest |
	some reference in base_nodes[base].references
	reference.kind == "ATTESTATION"
}

envelopes[digest] := envelope if {
	some base in base_images
	some digest in provenance(base)
	envelope := platform.download_artifact(digest)
}

# An attestation is a DSSE envelope: JSON that carries the statement as base64.
statements[digest] := statement if {
	some digest, envelope in envelopes
	json.is_valid(envelope)
	encoded := json.unmarshal(envelope).payload
	base64.is_valid(encoded)
	decoded := base64.decode(encoded)
	json.is_valid(decoded)
	statement := json.unmarshal(decoded)
}

subjects(statement) := {sprintf("sha256:%s", [subject.digest.sha256]) | some subject in statement.subject}
