# METADATA
# title: Each platform of an image has an attestation
# description: >-
#   An image for several platforms is built several times. Provenance of one platform says nothing
#   about the others, unless it is about the index that holds them all.
# custom:
#   severity: high
#   remediation: >-
#     Attest to the index, or to the image of each platform.
#   controls:
#     slsa: ["Build L1"]
#   parameters:
#     - name: platform_attestations
#       description: The predicate types, one of which the index or each platform has.
#       default: ["https://slsa.dev/provenance/v1", "https://slsa.dev/provenance/v0.2"]
#   input: [image]
package provenance.platforms

import data.lib.documents
import data.lib.image
import data.lib.parameters

default_types := ["https://slsa.dev/provenance/v1", "https://slsa.dev/provenance/v0.2"]

result := {"skipped": true, "skip_reason": "the input is no image", "violations": deny} if {
	documents.shape != "image"
} else := {"skipped": false, "violations": deny}

types := parameters.get("platform_attestations", default_types)

deny contains {"message": message} if {
	documents.shape == "image"
	not has_index
	missing := {platform | some own in platforms; platform := own.platform; not has(own)}
	some platform in missing
	message := sprintf("no provenance of the platform `%s`", [platform])
}

platforms := object.get(input, "platforms", [])

has_index if has(input)

has(own) if {
	some predicate_type in types
	count(image.statements(own, predicate_type)) > 0
}
