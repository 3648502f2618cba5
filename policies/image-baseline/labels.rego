# METADATA
# title: The image has the required labels
# description: >-
#   Labels lead from an image to its source.
# custom:
#   severity: low
#   remediation: >-
#     Add the labels in the build, such as with `docker build --label` or
#     `docker/metadata-action`.
#   controls:
#     osps: [OSPS-BR-02.02]
#     ssdf: [PS.3.1]
#     nist_800_53: [CM-8]
#   parameters:
#     - name: required_labels
#       description: Labels that each image has to have.
#       default: [org.opencontainers.image.source, org.opencontainers.image.revision]
#   input: [dockerfile, image-config, docker-inspect, trivy]
package image_baseline.labels

import data.lib.container
import data.lib.parameters

result := container.verdict(deny)

required_labels := parameters.get("required_labels", ["org.opencontainers.image.source", "org.opencontainers.image.revision"])

deny contains {"message": message} if {
	some configuration in container.all
	some label in required_labels
	not label in {name | some [name, text] in configuration.labels; text != ""}
	message := sprintf("%s has no label `%s`", [configuration.label, label])
}
