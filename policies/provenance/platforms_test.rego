package provenance.platforms_test

import data.lib.fixtures_test as fixtures
import data.provenance.platforms

provenance := {"statement": {"predicateType": "https://slsa.dev/provenance/v1"}}

scan := {"statement": {"predicateType": "https://example.com/scan/v1"}}

own(name, attestations) := {"platform": name, "digest": "sha256:x", "attestations": attestations, "signatures": [], "sboms": []}

index(attestations, platforms) := object.union(fixtures.image([]), {"attestations": attestations, "platforms": platforms})

test_fails if {
	found := fixtures.messages(platforms.result) with input as index([scan], [own("linux/amd64", [provenance]), own("linux/arm64", [scan])])
	found == {"no provenance of the platform `linux/arm64`"}
}

test_fails_for_each if {
	found := fixtures.messages(platforms.result) with input as index([], [own("linux/amd64", []), own("linux/arm64", [])])
	found == {"no provenance of the platform `linux/amd64`", "no provenance of the platform `linux/arm64`"}
}

test_passes if {
	every document in [
		index([], [own("linux/amd64", [provenance]), own("linux/arm64", [provenance])]),
		index([provenance], [own("linux/amd64", []), own("linux/arm64", [scan])]),
	] {
		platforms.result == {"skipped": false, "violations": set()} with input as document
	}
}

test_parameter if {
	platforms.result.violations == set() with input as index([], [own("linux/amd64", [scan])])
		with data.parameters.platform_attestations as ["https://example.com/scan/v1"]
}

test_skips_other_documents if {
	every document in fixtures.not_provenance {
		platforms.result.skipped with input as document
		platforms.result.violations == set() with input as document
	}
}
