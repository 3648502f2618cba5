# The service's graph around an image: its attestations, what they refer to, and their content.
package lib.graph

import data.lib.documents

# The image that the input names: `--image`, or an input with the member `image`.
image := object.get(input, "image", null) if {
	is_object(input)
	is_string(object.get(input, "image", null))
	regex.match(`^sha256:[0-9a-f]{64}$`, object.get(input, "image", null))
}

verdict(violations) := {"skipped": false, "violations": violations} if {
	image
} else := {"skipped": true, "skip_reason": "the input names no image by its digest: `image`", "violations": violations}

# Each step looks up what the step before it refers to.
first := platform.discover(image, "CONTAINER_IMAGE") if {
	image
} else := {"references": []}

second := [platform.discover(reference.digest, reference.kind) | some reference in first.references]

# What the image refers to and the service doesn't know.
unknown := {reference.digest | some reference in first.references} - {node.digest | some node in second}

attestations := {reference | some reference in first.references; reference.kind == "ATTESTATION"}

# The images that the attestations name, except the one that they are about.
base_images := {reference.digest |
	some node in second
	node.kind == "ATTESTATION"
	some reference in node.references
	reference.kind == "CONTAINER_IMAGE"
	reference.digest != image
}

# The attestations of each base image.
base_attestations[digest] := {reference.digest |
	some reference in platform.discover(digest, "CONTAINER_IMAGE").references
	reference.kind == "ATTESTATION"
} if {
	some digest in base_images
}

# All attestations within three steps of the image.
upstream := (attestations | {reference |
	some node in second
	some reference in node.references
	reference.kind == "ATTESTATION"
}) | {reference |
	some digest in base_images
	some reference in platform.discover(digest, "CONTAINER_IMAGE").references
	reference.kind == "ATTESTATION"
}

# The statement in an attestation; undefined if it can't be read.
statement(digest) := content if {
	some content in documents.decoded(platform.download_artifact(digest))
	is_object(content)
	content.predicateType
}
