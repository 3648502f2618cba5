package lib.provenance_test

import data.lib.fixtures_test as fixtures
import data.lib.provenance

same := {
	"source": "https://github.com/acme/shop",
	"commit": "c27d339ee6075c1f744c5d4b200f7901aad2c369",
	"subjects": [{"name": "registry.example/shop", "digest": {"sha256": "8fa6a879"}}],
}

test_forms if {
	every document in fixtures.provenances {
		found := provenance.all[0] with input as document
		object.subset(found, same)
		found.finished != ""
	}
	provenance.all[0].ref == "refs/tags/v1.4.0" with input as fixtures.github_provenance
	provenance.all[0].trigger == "push" with input as fixtures.github_provenance
	provenance.all[0].runner == "github-hosted" with input as fixtures.github_provenance
	provenance.all[0].builder == "https://github.com/acme/shop/.github/workflows/release.yml@refs/tags/v1.4.0" with input as fixtures.github_provenance
	provenance.all[0].materials[1] == {"uri": "pkg:docker/debian@12", "digest": {"sha256": "2731"}} with input as fixtures.github_provenance
	provenance.all[0].ref == "refs/heads/main" with input as fixtures.generator_provenance
	provenance.all[0].trigger == "push" with input as fixtures.generator_provenance
	count(provenance.all[0].materials) == 1 with input as fixtures.generator_provenance
	provenance.all[0].ref == "refs/heads/main" with input as fixtures.vendor_attestation
	provenance.all[0].runner == "github-hosted" with input as fixtures.vendor_attestation
	provenance.all[0].materials[0].uri == "registry.example/shop" with input as fixtures.vendor_attestation
}

# BuildKit names its source in `configSource`.
test_other_builders if {
	nameless := fixtures.without(fixtures.github_provenance, "predicate/buildDefinition/externalParameters/workflow")
	provenance.all[0].source == "https://github.com/acme/shop" with input as nameless
	provenance.all[0].ref == "refs/tags/v1.4.0" with input as nameless
	buildkit := fixtures.with_value(nameless, "predicate/buildDefinition/externalParameters/configSource", {"uri": "https://github.com/acme/other.git#main"})
	provenance.all[0].source == "https://github.com/acme/other.git#main" with input as buildkit
	refless := fixtures.with_value(fixtures.generator_provenance, "predicate/invocation/configSource/uri", "git+https://github.com/acme/shop")
	provenance.all[0].ref == "refs/heads/main" with input as refless
}

test_vendor_attestation_of_gitlab if {
	env := {"CI_PROJECT_URL": "https://gitlab.com/acme/shop", "CI_COMMIT_REF_NAME": "main", "CI_COMMIT_SHA": "c27d"}
	found := provenance.all[0] with input as fixtures.with_value(fixtures.vendor_attestation, "predicate/env", env)
	found.source == "https://gitlab.com/acme/shop"
	found.ref == "refs/heads/main"
	found.commit == "c27d"
}

test_envelope_in_the_service if {
	every envelope in [
		{"payloadType": "application/vnd.in-toto+json", "payload": base64.encode(json.marshal(fixtures.github_provenance))},
		{"dsseEnvelope": {"payload": base64.encode(json.marshal(fixtures.github_provenance))}},
		fixtures.github_provenance,
	] {
		provenance.all[0].label == "`provenance`" with input as fixtures.release
			with platform.evidence as {"results": [fixtures.row("SLSA_PROVENANCE", "provenance", "sha256:1")]}
			with platform.download_artifact as json.marshal(envelope)
	}
}

# Nobody checked the signature of an envelope that is the input.
test_envelope_as_input if {
	envelope := {"payload": base64.encode(json.marshal(fixtures.github_provenance))}
	provenance.candidates == [] with input as envelope
}

test_summaries if {
	provenance.summaries == [{
		"label": "the document",
		"verifier": "https://example.com/publication_verifier",
		"passed": true,
		"levels": {"SLSA_BUILD_LEVEL_3"},
		"time": fixtures.verification_summary.predicate.timeVerified,
	}] with input as fixtures.verification_summary
	provenance.all == [] with input as fixtures.verification_summary
	older := fixtures.statement("https://slsa.dev/verification_summary/v0.2", {"verifier": {"id": "v"}, "verificationResult": "FAILED", "policy_level": "SLSA_LEVEL_3"})
	provenance.summaries[0].levels == {"SLSA_LEVEL_3"} with input as older
	provenance.summaries[0].passed == false with input as older
}

test_reasons if {
	every expected in [
		{"document": fixtures.without(fixtures.github_provenance, "predicate/runDetails"), "reasons": ["predicate: runDetails is required"]},
		{"document": fixtures.without(fixtures.github_provenance, "predicate/runDetails/builder/id"), "reasons": ["predicate.runDetails.builder: id is required"]},
		{"document": fixtures.with_value(fixtures.github_provenance, "subject", []), "reasons": ["subject: Array must have at least 1 items"]},
		{"document": fixtures.with_value(fixtures.github_provenance, "subject/0/digest", {}), "reasons": ["subject.0.digest: Must have at least 1 properties"]},
		{"document": fixtures.without(fixtures.generator_provenance, "predicate/buildType"), "reasons": ["predicate: buildType is required"]},
		{"document": fixtures.with_value(fixtures.verification_summary, "predicate/verificationResult", "OK"), "reasons": ["predicate.verificationResult: predicate.verificationResult must be one of the following: \"PASSED\", \"FAILED\""]},
		{"document": fixtures.without(fixtures.vendor_attestation, "predicate/policyHasViolations"), "reasons": ["predicate: policyHasViolations is required"]},
		{"document": fixtures.statement("https://slsa.dev/provenance/v0.1", {}), "reasons": ["unsupported type `https://slsa.dev/provenance/v0.1`"]},
	] {
		provenance.reasons(expected.document) == expected.reasons
	}
}

test_presence if {
	provenance.presence({1}) == {"skipped": true, "skip_reason": "the document isn't provenance", "violations": {1}} with input as {}
	provenance.presence({1}) == {"skipped": false, "violations": {1}} with input as fixtures.image([])
	provenance.presence({1}) == {"skipped": false, "violations": {1}} with input as fixtures.github_provenance
}

test_readability if {
	provenance.readability == {"skipped": true, "skip_reason": "the input has no provenance", "violations": set()} with input as fixtures.image([])
	provenance.readability == {"skipped": false, "violations": set()} with input as fixtures.github_provenance
	provenance.readability.violations == {fixtures.unreadable_provenance} with input as fixtures.with_unreadable_provenance
}

test_verdict if {
	provenance.verdict({1}) == {"skipped": true, "skip_reason": "the input has no readable provenance", "violations": {1}} with input as {}
	provenance.summary_verdict({1}) == {"skipped": true, "skip_reason": "the input has no readable verification summary", "violations": {1}} with input as {}
	provenance.verdict({1}) == {"skipped": false, "violations": {1}} with input as fixtures.github_provenance
}
