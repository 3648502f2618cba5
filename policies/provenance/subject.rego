# METADATA
# title: Every subject has a strong digest
# description: >-
#   A statement is about the artifact with its digest. SHA-1 and MD5 don't identify an artifact.
# custom:
#   severity: high
#   remediation: >-
#     Use a builder that states the SHA-256 of what it built.
#   controls:
#     osps: [OSPS-BR-06.01]
#     slsa: ["Build L1"]
#     ssdf: [PS.3.2]
#     nist_800_53: [SR-4]
#   input: [slsa-provenance, verification-summary, attestation, image, release]
#   functions: [evidence, download_artifact]
package provenance.subject

import data.lib.provenance

result := provenance.verdict(deny)

deny contains {"message": message} if {
	some statement in provenance.all
	some subject in statement.subjects
	count(object.filter(subject.digest, ["sha256", "sha384", "sha512"])) == 0
	not is_commit(subject)
	message := sprintf("the subject `%s` of %s has no SHA-256, SHA-384 or SHA-512", [subject.name, statement.label])
}

# The vendor's attestations are about a commit as well.
is_commit(subject) if subject.name == "git.head"
