# METADATA
# title: The build ran on a hosted runner
# description: >-
#   A self-hosted runner may keep what an earlier build left on it. GitHub's provenance and the
#   vendor's attestations say where a build ran.
# custom:
#   severity: medium
#   remediation: >-
#     Run the release's build on a hosted runner.
#   controls:
#     slsa: ["Build L3"]
#     ssdf: [PS.3.2, PO.3.2]
#     nist_800_53: [SR-4]
#   input: [slsa-provenance, verification-summary, attestation, image, release]
#   functions: [evidence, download_artifact]
package provenance.hosted_runner

import data.lib.provenance

result := provenance.verdict(deny)

deny contains {"message": message} if {
	some statement in provenance.all
	statement.runner == "self-hosted"
	message := sprintf("%s is of a build on a self-hosted runner", [statement.label])
}
