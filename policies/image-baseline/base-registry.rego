# METADATA
# title: Every base image is from a trusted registry
# description: >-
#   With a list of registries or repositories, base images from other ones fail.
# custom:
#   severity: high
#   remediation: >-
#     Copy the base image to a trusted registry, or add its registry to `base_registries`.
#   controls:
#     ssdf: [PW.4.1]
#     nist_800_53: [CM-7, SR-11]
#   parameters:
#     - name: base_registries
#       description: Trusted registries or repositories, such as `gcr.io/distroless`.
#       default: []
#   input: [dockerfile]
package image_baseline.base_registry

import data.lib.container
import data.lib.parameters

result := container.dockerfile_verdict(deny)

base_registries := parameters.get("base_registries", [])

deny contains {"message": message, "image": image} if {
	count(base_registries) > 0
	some dockerfile in container.dockerfiles
	some image in container.bases(dockerfile)
	not trusted(image)
	message := sprintf("the base image `%s` in %s isn't from a trusted registry", [image, dockerfile.label])
}

trusted(image) if {
	some registry in base_registries
	startswith(image, concat("", [trim_suffix(registry, "/"), "/"]))
}
