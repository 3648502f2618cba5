# METADATA
# title: No denied port is exposed
# description: >-
#   Remote shells and desktops have no place in an image.
# custom:
#   severity: medium
#   remediation: >-
#     Remove the port from `EXPOSE`, and the server behind it.
#   controls:
#     ssdf: [PW.9.1]
#     cra: ["Annex I, Part I, 2(b)"]
#     nist_800_53: [CM-6, CM-7]
#   parameters:
#     - name: denied_ports
#       description: Ports that no image may expose, such as `22/tcp`.
#       default: [22/tcp, 23/tcp, 3389/tcp, 5900/tcp]
#   input: [dockerfile, image-config, docker-inspect, trivy]
package image_baseline.exposed_ports

import data.lib.container
import data.lib.parameters

result := container.verdict(deny)

denied_ports := parameters.get("denied_ports", ["22/tcp", "23/tcp", "3389/tcp", "5900/tcp"])

deny contains {"message": message, "port": port} if {
	some configuration in container.all
	some port in configuration.ports
	some denied in denied_ports
	container.protocol(port) == container.protocol(denied)
	message := sprintf("%s exposes the port `%s`", [configuration.label, port])
}
