package provenance.signer_test

import data.lib.fixtures_test as fixtures
import data.provenance.signer

signed(signers) := json.patch(fixtures.attested("https://slsa.dev/provenance/v1", {}), [{"op": "replace", "path": "attestations/0/signers", "value": signers}])

identity := {"issuer": "https://token.actions.githubusercontent.com", "identity": "https://github.com/acme/shop/.github/workflows/release.yml@refs/tags/v1"}

test_passes if {
	every signers in [[{"key": "cosign.pub", "fingerprint": "sha256:1"}], [identity]] {
		signer.result == {"skipped": false, "violations": set()} with input as signed(signers)
	}
	signer.result.violations == set() with input as signed([{"key": "other.pub"}, identity])
		with data.parameters as {"trusted_signers": ["https://token.actions.githubusercontent.com=https://github.com/acme/*"]}
}

test_fails if {
	fixtures.messages(signer.result) == {"the attestation `https://slsa.dev/provenance/v1` has no trusted signer: found none"} with input as signed([])
	fixtures.messages(signer.result) == {"the attestation `https://slsa.dev/provenance/v1` has no trusted signer: found cosign.pub"} with input as signed([{"key": "cosign.pub"}])
		with data.parameters as {"trusted_signers": ["release.pub"]}
	fixtures.messages(signer.result) == {sprintf("the attestation `https://slsa.dev/provenance/v1` has no trusted signer: found %s=%s", [identity.issuer, identity.identity])} with input as signed([identity])
		with data.parameters as {"trusted_signers": ["https://token.actions.githubusercontent.com=https://github.com/other/*"]}
}

test_skips_other_documents if {
	every document in array.concat(fixtures.not_provenance, [fixtures.image([]), fixtures.github_provenance]) {
		signer.result.skipped with input as document
		signer.result.violations == set() with input as document
	}
}
