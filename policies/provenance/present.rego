# METADATA
# title: Provenance is present
# description: >-
#   An image, a release or a set of files without provenance could have been built anywhere, from
#   anything.
# custom:
#   severity: high
#   remediation: >-
#     Generate provenance in the build, such as with `actions/attest-build-provenance` or
#     BuildKit, and sign it.
#   controls:
#     osps: [OSPS-BR-06.01]
#     slsa: ["Build L1"]
#     ssdf: [PS.3.2]
#     nist_800_53: [SR-4]
#   input: [slsa-provenance, verification-summary, attestation, image, release]
#   functions: [evidence, download_artifact]
package provenance.present

import data.lib.documents
import data.lib.provenance

result := provenance.presence(deny)

deny contains {"message": "no provenance is present"} if {
	documents.shape != "document"
	count(provenance.candidates) == 0
}
