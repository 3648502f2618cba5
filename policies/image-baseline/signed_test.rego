package image_baseline.signed_test

import data.image_baseline.signed
import data.lib.fixtures_test as fixtures

test_fails if {
	fixtures.messages(signed.result) == {"nobody signed `registry.example/shop:v1`"} with input as fixtures.image([])
	unverified := json.patch(fixtures.attested("https://example.com/scan/v1", {}), [{"op": "replace", "path": "attestations/0/signers", "value": []}])
	fixtures.messages(signed.result) == {"nobody signed `registry.example/shop:v1`"} with input as unverified
}

test_passes if {
	signed.result == {"skipped": false, "violations": set()} with input as fixtures.attested("https://example.com/scan/v1", {})
	signature := {"payload": {}, "signers": [{"key": "cosign.pub", "fingerprint": "sha256:1"}]}
	signed.result.violations == set() with input as object.union(fixtures.image([]), {"signatures": [signature]})
}

test_skips_other_documents if {
	every document in fixtures.not_configurations {
		signed.result == {"skipped": true, "skip_reason": "the input is no image: `--image`", "violations": set()} with input as document
	}
}
