# METADATA
# title: The image was built recently
# description: >-
#   An old image lacks the fixes of its base image. Dockerfiles have no time. A time in the
#   future, by more than a day, fails as well.
# custom:
#   severity: medium
#   remediation: >-
#     Build the image again on a current base image.
#   controls:
#     ssdf: [RV.2.2]
#     nist_800_53: [SI-2]
#   parameters:
#     - name: max_image_age_days
#       description: The greatest age of an image, in days.
#       default: 90
#   input: [dockerfile, image-config, docker-inspect, trivy]
package image_baseline.fresh

import data.lib.container
import data.lib.parameters
import data.lib.time

result := container.verdict(deny)

max_age := parameters.get("max_image_age_days", 90)

deny contains {"message": message} if {
	some configuration in container.all
	configuration.created != ""
	not time.within(configuration.created, max_age)
	message := sprintf("%s was created at %s: expected at most %v days ago", [configuration.label, configuration.created, max_age])
}
