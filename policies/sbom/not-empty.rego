# METADATA
# title: The SBOM lists components
# description: >-
#   An SBOM without components passes every check of its components.
# custom:
#   severity: high
#   remediation: >-
#     Run the SBOM's tool where it finds the packages: on the built image, or next to the lock
#     files.
#   controls:
#     osps: [OSPS-QA-02.02]
#     ssdf: [PS.3.2]
#     cra: ["Annex I, Part II, 1"]
#     nist_800_53: [CM-8]
#   input: [cyclonedx, spdx, image, release]
#   functions: [evidence, download_artifact]
package sbom.not_empty

import data.lib.sbom

result := sbom.verdict(deny)

deny contains {"message": message} if {
	some document in sbom.all
	count(document.components) == 0
	message := sprintf("%s lists no components", [document.label])
}
