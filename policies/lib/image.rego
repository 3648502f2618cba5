# The platforms of an image (`--image`), and what is attached to them.
package lib.image

import data.lib.time as times

# The platforms whose own image has no attestation of a predicate type.
platforms_without(predicate_type) := {own.platform |
	some own in input.platforms
	count(statements(own, predicate_type)) == 0
}

# Whether each platform has an attestation of a predicate type.
each_platform_has(predicate_type) if {
	count(input.platforms) > 0
	count(platforms_without(predicate_type)) == 0
}

# Whether the index has an attestation of a predicate type, or each platform has.
index_or_each_platform_has(predicate_type) if count(statements(input, predicate_type)) > 0

else := each_platform_has(predicate_type)

# The statements of a predicate type that are attached to an index, or to a platform's image.
statements(own, predicate_type) := [attestation.statement |
	some attestation in own.attestations
	attestation.statement.predicateType == predicate_type
]

# Whether an attestation was signed at most so many days ago. A key states no time.
signed_within(attestation, days) if {
	some signer in attestation.signers
	times.within(object.get(signer, "signed_at", ""), days)
}

# Whether a signer of an attestation has each of some claims, such as `{"trigger": "push"}`.
has_claims(attestation, wanted) if {
	some signer in attestation.signers
	claims := object.get(signer, "claims", {})
	object.union(claims, wanted) == claims
}
