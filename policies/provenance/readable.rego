# METADATA
# title: All provenance can be read
# description: >-
#   A statement with the type of provenance has to be provenance, in a version that the rules
#   know: SLSA 0.2 and 1, verification summaries, and the vendor's attestations 0.2.
# custom:
#   severity: high
#   remediation: >-
#     Generate the provenance again with a current version of its tool.
#   controls:
#     osps: [OSPS-BR-06.01]
#     slsa: ["Build L1"]
#     ssdf: [PS.3.2]
#     nist_800_53: [SR-4]
#   input: [slsa-provenance, verification-summary, attestation, image, release]
#   functions: [evidence, download_artifact]
package provenance.readable

import data.lib.provenance

result := provenance.readability
