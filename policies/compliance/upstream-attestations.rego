# METADATA
# title: No attestation upstream has policy violations
# description: >-
#   An image takes over what its base images violated. The rule follows the service's references
#   from the image for three steps.
# custom:
#   severity: high
#   remediation: >-
#     Release the base image again without the violation, or use another one.
#   controls:
#     ssdf: [PW.4.1, PO.4.2]
#     nist_800_53: [SR-4, CA-7]
#   input: [image]
#   functions: [discover]
package compliance.upstream_attestations

import data.lib.graph

result := graph.verdict(deny)

deny contains {"message": message} if {
	graph.image
	count(graph.attestations) == 0
	message := sprintf("no attestation refers to `%s`", [graph.image])
}

deny contains {"message": message, "digest": digest} if {
	some digest in graph.unknown
	message := sprintf("the service doesn't know `%s`", [digest])
}

deny contains {"message": message, "digest": attestation.digest} if {
	some attestation in graph.upstream
	verdict := object.get(attestation.metadata, "hasPolicyViolations", "unknown")
	verdict != "false"
	message := sprintf("the attestation `%s` has policy violations: %s", [attestation.digest, verdict])
}
