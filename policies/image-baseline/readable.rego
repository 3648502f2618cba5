# METADATA
# title: The configuration of the image can be read
# description: >-
#   A configuration with members of other types than the image specification's is judged by no
#   rule.
# custom:
#   severity: high
#   remediation: >-
#     Export the configuration again, such as with `crane config` or `docker image inspect`.
#   controls:
#     ssdf: [PW.9.1]
#     nist_800_53: [CM-6]
#   input: [dockerfile, image-config, docker-inspect, trivy]
package image_baseline.readable

import data.lib.container

result := container.readability
