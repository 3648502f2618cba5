# METADATA
# title: Every base image is pinned by its digest
# description: >-
#   A tag can be moved, and then the same Dockerfile builds another image.
# custom:
#   severity: medium
#   remediation: >-
#     Add the digest to `FROM`, such as `debian:12@sha256:…`, and let a bot update it.
#   controls:
#     osps: [OSPS-BR-05.01]
#     slsa: ["Build L1"]
#     ssdf: [PW.4.1]
#     nist_800_53: [CM-2, SR-11]
#   input: [dockerfile]
package image_baseline.base_pinned

import data.lib.container

result := container.dockerfile_verdict(deny)

deny contains {"message": message, "image": image} if {
	some dockerfile in container.dockerfiles
	some image in container.bases(dockerfile)
	not contains(image, "@sha256:")
	message := sprintf("the base image `%s` in %s isn't pinned by a digest", [image, dockerfile.label])
}
