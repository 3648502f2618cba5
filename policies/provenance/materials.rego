# METADATA
# title: Every material has a digest
# description: >-
#   A material without a digest, such as an image by its tag, may have changed since the build.
# custom:
#   severity: medium
#   remediation: >-
#     Pin the material by its digest in the build, or use a builder that records it.
#   controls:
#     osps: [OSPS-BR-06.01]
#     slsa: ["Build L1"]
#     ssdf: [PS.3.2]
#     nist_800_53: [SR-4]
#   input: [slsa-provenance, verification-summary, attestation, image, release]
#   functions: [evidence, download_artifact]
package provenance.materials

import data.lib.provenance

result := provenance.verdict(deny)

deny contains {"message": message, "material": material.uri} if {
	some statement in provenance.all
	some material in statement.materials
	count(material.digest) == 0
	message := sprintf("the material `%s` in %s has no digest", [material.uri, statement.label])
}
