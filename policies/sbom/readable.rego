# METADATA
# title: Every SBOM can be read
# description: >-
#   A document that claims to be an SBOM has to be one, in a version that the rules know:
#   CycloneDX 1.2 to 1.7, SPDX 2.2, 2.3 or 3.0, as JSON.
# custom:
#   severity: high
#   remediation: >-
#     Generate the SBOM again, in CycloneDX or SPDX as JSON, with a current version of its tool.
#   controls:
#     osps: [OSPS-QA-02.02]
#     ssdf: [PS.3.2]
#     cra: ["Annex I, Part II, 1"]
#     nist_800_53: [CM-8]
#   input: [cyclonedx, spdx, image, release]
#   functions: [evidence, download_artifact]
package sbom.readable

import data.lib.sbom

result := sbom.readability
