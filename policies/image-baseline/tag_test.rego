package image_baseline.tag_test

import data.image_baseline.tag
import data.lib.fixtures_test as fixtures

named(reference) := object.union(fixtures.image([]), {"reference": reference})

test_fails if {
	every reference in ["registry.example/shop:latest", "registry.example/shop", "registry.example:5000/shop", "shop"] {
		fixtures.messages(tag.result) == {sprintf("`%s` is named by the moving tag `latest`", [reference])} with input as named(reference)
	}
	fixtures.messages(tag.result) == {"`registry.example/shop:main` is named by the moving tag `main`"} with input as named("registry.example/shop:main")
		with data.parameters as {"denied_tags": ["main"]}
}

test_passes if {
	every reference in ["registry.example/shop:v1", "registry.example:5000/shop:v1", "registry.example/shop@sha256:1", "registry.example/shop:latest@sha256:1"] {
		tag.result == {"skipped": false, "violations": set()} with input as named(reference)
	}
}

test_skips_other_documents if {
	every document in fixtures.not_configurations {
		tag.result == {"skipped": true, "skip_reason": "the input is no image: `--image`", "violations": set()} with input as document
	}
}
