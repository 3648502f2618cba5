# METADATA
# title: The image is signed
# description: >-
#   Without a signature or a signed attestation, nobody vouches for the image. The gate counts
#   what the given keys and identities signed.
# custom:
#   severity: high
#   remediation: >-
#     Sign the image, such as with `cosign sign`, or attest its provenance.
#   controls:
#     osps: [OSPS-BR-06.01]
#     slsa: ["Build L2"]
#     ssdf: [PS.2.1]
#     nist_800_53: [CM-14, SI-7]
#   input: [image]
package image_baseline.signed

import data.lib.documents
import data.lib.value

result := {"skipped": true, "skip_reason": "the input is no image: `--image`", "violations": deny} if {
	documents.shape != "image"
} else := {"skipped": false, "violations": deny}

deny contains {"message": message} if {
	documents.shape == "image"
	count(signed) == 0
	message := sprintf("nobody signed `%s`", [object.get(input, "reference", "")])
}

signed := [artifact |
	some artifact in array.concat(value.objects(input, "attestations"), value.objects(input, "signatures"))
	count(value.list(artifact, "signers")) > 0
]
