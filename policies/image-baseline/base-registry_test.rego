package image_baseline.base_registry_test

import data.image_baseline.base_registry
import data.lib.fixtures_test as fixtures

test_passes if {
	every document in [fixtures.dockerfile] {
		base_registry.result == {"skipped": false, "violations": set()} with input as document
	}
}

test_fails if {
	fixtures.messages(base_registry.result) == {"the base image `golang:1.24@sha256:1111` in the document isn't from a trusted registry"} with input as fixtures.dockerfile
		with data.parameters as {"base_registries": ["gcr.io/distroless"]}
	count(base_registry.result.violations) == 2 with input as fixtures.dockerfile with data.parameters as {"base_registries": ["gcr.io/distro", "golang"]}
}

test_trusted if {
	every registry in ["gcr.io", "gcr.io/"] {
		base_registry.result.violations == set() with input as fixtures.with_value(fixtures.dockerfile, "0/Value", ["gcr.io/golang", "AS", "build"])
			with data.parameters as {"base_registries": ["ghcr.io", registry]}
	}
}

test_skips_other_documents if {
	every document in fixtures.not_configurations {
		base_registry.result.skipped with input as document
		base_registry.result.violations == set() with input as document
	}
}

test_unreadable_configuration_next_to_a_readable_one if {
	fixtures.unreadable_configuration in base_registry.result.violations with input as fixtures.with_unreadable_configuration
}
