# METADATA
# title: The base image is trusted
# description: >-
#   A base image is a material of the kinds `pkg:docker`, `pkg:oci` or `docker-image://`. With a
#   list of base images, each other one fails.
# custom:
#   severity: high
#   remediation: >-
#     Use a trusted base image, or add it to `base_images`.
#   controls:
#     ssdf: [PW.4.1]
#     nist_800_53: [CM-7, SR-11]
#   parameters:
#     - name: base_images
#       description: Trusted base images, such as `gcr.io/distroless/*`.
#       default: []
#   input: [slsa-provenance, verification-summary, attestation, image, release]
#   functions: [evidence, download_artifact]
package provenance.base_image

import data.lib.parameters
import data.lib.provenance

result := provenance.verdict(deny)

base_images := parameters.get("base_images", [])

deny contains {"message": message, "image": material.uri} if {
	count(base_images) > 0
	some statement in provenance.all
	some material in statement.materials
	regex.match(`^(pkg:(docker|oci)/|docker-image://)`, material.uri)
	not provenance.matches(base_images, regex.replace(material.uri, `^(pkg:(docker|oci)/|docker-image://)`, ""))
	message := sprintf("the base image `%s` in %s isn't trusted", [material.uri, statement.label])
}
