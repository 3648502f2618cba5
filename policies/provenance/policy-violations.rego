# METADATA
# title: No attestation has violations of its policies
# description: >-
#   The vendor's attestations record which policies were violated when they were made. A release
#   on top of such an attestation takes the violation over.
# custom:
#   severity: high
#   remediation: >-
#     Fix what the attestation's policies found, and attest again.
#   controls:
#     ssdf: [PO.4.2]
#     nist_800_53: [CM-3, SA-11]
#   input: [slsa-provenance, verification-summary, attestation, image, release]
#   functions: [evidence, download_artifact]
package provenance.policy_violations

import data.lib.provenance
import data.lib.value

result := provenance.outcome("the input has no readable attestation of the vendor's", provenance.attestations, deny)

deny contains {"message": message} if {
	some attestation in provenance.attestations
	attestation.predicate.policyHasViolations
	message := sprintf("%s has %v violations of its policies", [
		attestation.label,
		value.number(attestation.predicate, "policyViolationsCount", "some"),
	])
}
