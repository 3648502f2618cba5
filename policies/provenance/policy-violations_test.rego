package provenance.policy_violations_test

import data.lib.fixtures_test as fixtures
import data.provenance.policy_violations

violated := fixtures.with_value(fixtures.vendor_attestation, "predicate/policyHasViolations", true)

test_fails if {
	fixtures.messages(policy_violations.result) == {"the document has some violations of its policies"} with input as violated
	fixtures.messages(policy_violations.result) == {"the document has 3 violations of its policies"} with input as fixtures.with_value(violated, "predicate/policyViolationsCount", 3)
}

test_passes if {
	policy_violations.result == {"skipped": false, "violations": set()} with input as fixtures.vendor_attestation
}

test_skips_other_documents if {
	every document in array.concat(fixtures.not_provenance, [fixtures.github_provenance]) {
		policy_violations.result.skipped with input as document
		policy_violations.result.violations == set() with input as document
	}
}
