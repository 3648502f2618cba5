package document_review_test

import data.document_review

digest := "sha256:b7b4d9068f27c970f6ed3912c3b697aae614ab107405bc644e7764f71715cb1b"

documents := [{"name": "model", "digest": digest}]

denied(approvals, review) := messages if {
	messages := document_review.deny with input as {"documents": documents, "approvals": approvals}
		with platform.evidence_prompt as review
}

reviewed := {"skipped": false, "violations": []}

skipped := {"skipped": true, "violations": []}

approval := {"digest": digest, "by": "security@acme.example"}

test_reviewed if denied([], reviewed) == set()

test_skipped_needs_approval if {
	count(denied([], skipped)) == 1
	denied([approval], skipped) == set()
}

test_approval_is_for_these_bytes_and_from_a_reviewer if {
	count(denied([object.union(approval, {"by": "author@acme.example"})], skipped)) == 1
	count(denied([object.union(approval, {"digest": "sha256:0"})], skipped)) == 1
}

test_approval_does_not_outweigh_a_finding if {
	denied([approval], {"skipped": false, "violations": ["no owner"]}) == {"the document `model`: no owner"}
}

# The function would review these as text.
test_what_is_no_digest_is_not_reviewed if {
	every other in ["", "looks fine", concat("", [" ", digest]), upper(digest)] {
		messages := document_review.deny with input as {"documents": [{"name": "model", "digest": other}]}
			with platform.evidence_prompt as reviewed
		messages == {"the document `model` was not reviewed"}
	}
	messages := document_review.deny with input as {"documents": [{"name": "model"}]}
		with platform.evidence_prompt as reviewed
	messages == {"the document `model` was not reviewed"}
}
