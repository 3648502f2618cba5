# METADATA
# title: The base image has provenance from a trusted builder
# description: >-
#   The rule follows the service's references from the image to its attestations, from there to
#   the base image, and reads the provenance of that.
# custom:
#   severity: high
#   remediation: >-
#     Use a base image with SLSA provenance from a trusted builder.
#   controls:
#     slsa: ["Build L2"]
#     ssdf: [PW.4.1, PW.4.4]
#     nist_800_53: [SR-4, SR-11]
#   parameters:
#     - name: trusted_base_builders
#       description: Identifiers of trusted builders; `*` matches any text.
#       default: ["*"]
#   input: [image]
#   functions: [discover, download_artifact]
package compliance.base_image_provenance

import data.lib.graph
import data.lib.parameters
import data.lib.provenance
import data.lib.value

result := graph.verdict(deny)

trusted_builders := parameters.get("trusted_base_builders", ["*"])

deny contains {"message": message} if {
	graph.image
	count(graph.base_images) == 0
	message := sprintf("no attestation names the base image of `%s`", [graph.image])
}

deny contains {"message": message, "digest": base} if {
	some base in graph.base_images
	count(statements[base]) == 0
	message := sprintf("the base image `%s` has no provenance", [base])
}

deny contains {"message": message, "digest": base} if {
	some base in graph.base_images
	some statement in statements[base]
	not trusted(statement)
	message := sprintf("the provenance of the base image `%s` isn't from a trusted builder: found `%s`", [base, builder(statement)])
}

deny contains {"message": message, "digest": base} if {
	some base in graph.base_images
	some statement in statements[base]
	not base in {sprintf("sha256:%s", [digest]) |
		some subject in value.objects(statement, "subject")
		digest := value.text(subject, ["digest", "sha256"])
	}
	message := sprintf("the provenance of the base image `%s` describes another artifact", [base])
}

# Provenance of each base image.
statements[base] := [statement |
	some digest in graph.base_attestations[base]
	statement := graph.statement(digest)
	startswith(value.text(statement, "predicateType"), "https://slsa.dev/provenance/")
] if {
	some base in graph.base_images
}

builder(statement) := value.first([
	value.text(statement, ["predicate", "runDetails", "builder", "id"]),
	value.text(statement, ["predicate", "builder", "id"]),
])

trusted(statement) if {
	builder(statement) != ""
	provenance.matches(trusted_builders, builder(statement))
}
