package compliance.review_test

import data.compliance.review
import data.lib.fixtures_test as fixtures

parameters := {"reviewed_evidence": ["threat-model"]}

reviewed(response) := found if {
	found := review.result with input as fixtures.release
		with platform.evidence as {"results": [fixtures.row("EVIDENCE", "threat-model", "sha256:1"), fixtures.row("EVIDENCE", "other", "sha256:2")]}
		with platform.evidence_prompt as response
		with data.parameters as parameters
}

test_passes if {
	reviewed({"skipped": false, "violations": []}) == {"skipped": false, "violations": set()}
}

test_fails if {
	fixtures.messages(reviewed({"skipped": false, "violations": ["no owner"]})) == {"the review of `threat-model`: no owner"}
	fixtures.messages(reviewed({"skipped": true, "violations": []})) == {"the review of `threat-model` was skipped"}
	fixtures.messages(review.result) == {"the release has no evidence with the name `threat-model`"} with input as fixtures.release
		with platform.evidence as {"results": [fixtures.row("EVIDENCE", "other", "sha256:2")]}
		with data.parameters as parameters
}

test_skips if {
	review.result.skipped with input as fixtures.release
		with platform.evidence as {"results": [fixtures.row("EVIDENCE", "threat-model", "sha256:1")]}
	review.result.skipped with input as {} with data.parameters as parameters
}

test_skips_other_documents if {
	every document in fixtures.not_compliance {
		review.result.skipped with input as document
		review.result.violations == set() with input as document
	}
}
