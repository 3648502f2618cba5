# METADATA
# title: The source is a trusted repository
# description: >-
#   Provenance has to name the repository. With a list of repositories, each other repository
#   fails.
# custom:
#   severity: high
#   remediation: >-
#     Build from a trusted repository, or add its address to `source_repositories`.
#   controls:
#     osps: [OSPS-BR-06.01]
#     slsa: ["Build L1"]
#     ssdf: [PS.3.2]
#     nist_800_53: [SR-4]
#   parameters:
#     - name: source_repositories
#       description: Addresses of trusted repositories; `*` matches any text.
#       default: []
#   input: [slsa-provenance, verification-summary, attestation, image, release]
#   functions: [evidence, download_artifact]
package provenance.source

import data.lib.parameters
import data.lib.provenance

result := provenance.verdict(deny)

source_repositories := parameters.get("source_repositories", [])

deny contains {"message": message} if {
	some statement in provenance.all
	statement.source == ""
	message := sprintf("%s names no repository", [statement.label])
}

deny contains {"message": message, "source": statement.source} if {
	count(source_repositories) > 0
	some statement in provenance.all
	statement.source != ""
	not provenance.matches(source_repositories, statement.source)
	message := sprintf("%s is from the repository `%s`, which isn't trusted", [statement.label, statement.source])
}
