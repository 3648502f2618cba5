package lib.image_test

import data.lib.image

sbom := "https://cyclonedx.org/bom"

statement := {"statement": {"predicateType": sbom}}

with_sbom(name) := {"platform": name, "attestations": [statement]}

without(name) := {"platform": name, "attestations": [{"statement": {"predicateType": "https://slsa.dev/provenance/v1"}}]}

test_platforms if {
	image.platforms_without(sbom) == {"linux/arm64"} with input as {"platforms": [with_sbom("linux/amd64"), without("linux/arm64")]}
	image.platforms_without(sbom) == set() with input as {"platforms": [with_sbom("linux/amd64")]}
}

test_each if image.each_platform_has(sbom) with input as {"platforms": [with_sbom("linux/amd64"), with_sbom("linux/arm64")]}

test_not_each if not image.each_platform_has(sbom) with input as {"platforms": [with_sbom("linux/amd64"), without("linux/arm64")]}

test_no_platform if not image.each_platform_has(sbom) with input as {"platforms": []}

test_index if image.index_or_each_platform_has(sbom) with input as {"attestations": [statement], "platforms": [without("linux/amd64")]}

test_index_or_each if image.index_or_each_platform_has(sbom) with input as {"attestations": [], "platforms": [with_sbom("linux/amd64")]}

test_neither if not image.index_or_each_platform_has(sbom) with input as {"attestations": [], "platforms": [without("linux/amd64")]}

signed(time) := {"signers": [{"issuer": "i", "identity": "j", "signed_at": time, "claims": {"issuer": "i", "trigger": "push"}}]}

now := time.parse_rfc3339_ns("2026-01-08T00:00:00Z")

test_signed_within if image.signed_within(signed("2026-01-02T00:00:00Z"), 7) with time.now_ns as now

test_signed_before if not image.signed_within(signed("2025-12-31T00:00:00Z"), 7) with time.now_ns as now

test_signed_by_a_key if not image.signed_within({"signers": [{"key": "k", "fingerprint": "sha256:x"}]}, 7) with time.now_ns as now

test_claims if image.has_claims(signed(""), {"issuer": "i", "trigger": "push"})

test_another_trigger if not image.has_claims(signed(""), {"trigger": "release"})

test_a_claim_more if not image.has_claims(signed(""), {"trigger": "push", "ref": "refs/heads/main"})

test_claims_of_a_key if not image.has_claims({"signers": [{"key": "k", "fingerprint": "sha256:x"}]}, {"trigger": "push"})
