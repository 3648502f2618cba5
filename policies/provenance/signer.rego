# METADATA
# title: Every attestation has a trusted signer
# description: >-
#   The gate counts the attestations that a given key or identity signed. With several, this rule
#   says which of them may sign. Attestations that nobody verified (`--unverified`) fail.
# custom:
#   severity: high
#   remediation: >-
#     Verify with the signer's key or identity, and add it to `trusted_signers`.
#   controls:
#     slsa: ["Build L2"]
#     ssdf: [PS.2.1, PS.3.2]
#     nist_800_53: [SR-4, SR-11]
#   parameters:
#     - name: trusted_signers
#       description: Files of keys, or `ISSUER=IDENTITY`; `*` matches any text.
#       default: ["*"]
#   input: [image]
package provenance.signer

import data.lib.documents
import data.lib.parameters
import data.lib.provenance
import data.lib.value

result := {"skipped": true, "skip_reason": "the input is no image with attestations", "violations": deny} if {
	count(attestations) == 0
} else := {"skipped": false, "violations": deny}

trusted_signers := parameters.get("trusted_signers", ["*"])

deny contains {"message": message} if {
	some attestation in attestations
	not trusted(attestation)
	message := sprintf("the attestation `%s` has no trusted signer: found %s", [
		value.text(attestation, ["statement", "predicateType"]),
		concat(", ", {name | some signer in value.objects(attestation, "signers"); name := named(signer)} | {"none" | count(value.list(attestation, "signers")) == 0}),
	])
}

attestations := value.objects(input, "attestations") if {
	documents.shape == "image"
} else := []

trusted(attestation) if {
	some signer in value.objects(attestation, "signers")
	provenance.matches(trusted_signers, named(signer))
}

# A key by its file, an identity as in `--verify-identity`.
named(signer) := value.text(signer, "key") if {
	value.text(signer, "key") != ""
} else := sprintf("%s=%s", [value.text(signer, "issuer"), value.text(signer, "identity")])
