# METADATA
# title: The source is a protected ref
# description: >-
#   A build from a branch that anyone can push to bypasses the review. Name the branches and tags
#   that your repository protects.
# custom:
#   severity: high
#   remediation: >-
#     Build from a protected branch or tag, or add the ref to `protected_refs`.
#   controls:
#     osps: [OSPS-AC-03.01]
#     ssdf: [PS.1.1]
#     nist_800_53: [CM-3, SR-4]
#   parameters:
#     - name: protected_refs
#       description: Protected branches and tags; `*` matches any text.
#       default: [refs/heads/main, refs/heads/master, refs/tags/*]
#   input: [slsa-provenance, verification-summary, attestation, image, release]
#   functions: [evidence, download_artifact]
package provenance.ref

import data.lib.parameters
import data.lib.provenance

result := provenance.verdict(deny)

protected_refs := parameters.get("protected_refs", ["refs/heads/main", "refs/heads/master", "refs/tags/*"])

deny contains {"message": message, "ref": statement.ref} if {
	some statement in provenance.all
	not provenance.matches(protected_refs, statement.ref)
	message := sprintf("%s is from the ref `%s`, which isn't protected", [statement.label, statement.ref])
}
