# METADATA
# title: The builder is trusted
# description: >-
#   Provenance is worth as much as its builder. With a list of trusted builders, each other
#   builder fails. Without a list, any builder passes that is named.
# custom:
#   severity: high
#   remediation: >-
#     Build with a trusted builder, or add its identifier to `trusted_builders`.
#   controls:
#     slsa: ["Build L2"]
#     ssdf: [PS.2.1, PS.3.2]
#     nist_800_53: [SR-4, SR-11]
#   parameters:
#     - name: trusted_builders
#       description: Identifiers of trusted builders; `*` matches any text.
#       default: []
#   input: [slsa-provenance, verification-summary, attestation, image, release]
#   functions: [evidence, download_artifact]
package provenance.builder

import data.lib.parameters
import data.lib.provenance

result := provenance.verdict(deny)

trusted_builders := parameters.get("trusted_builders", [])

deny contains {"message": message} if {
	some statement in provenance.all
	statement.builder == ""
	message := sprintf("%s names no builder", [statement.label])
}

deny contains {"message": message, "builder": statement.builder} if {
	count(trusted_builders) > 0
	some statement in provenance.all
	statement.builder != ""
	not provenance.matches(trusted_builders, statement.builder)
	message := sprintf("%s is from the builder `%s`, which isn't trusted", [statement.label, statement.builder])
}
