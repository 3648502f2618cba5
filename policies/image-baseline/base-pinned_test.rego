package image_baseline.base_pinned_test

import data.image_baseline.base_pinned
import data.lib.fixtures_test as fixtures

test_passes if {
	every document in [fixtures.dockerfile] {
		base_pinned.result == {"skipped": false, "violations": set()} with input as document
	}
}

test_fails if {
	fixtures.messages(base_pinned.result) == {"the base image `debian:12` in the document isn't pinned by a digest"} with input as fixtures.with_value(fixtures.dockerfile, "2/Value", ["debian:12"])
	fixtures.messages(base_pinned.result) == {"the base image `golang` in the document isn't pinned by a digest"} with input as fixtures.with_value(fixtures.dockerfile, "0/Value", ["golang", "AS", "build"])
}

test_stages if {
	every image in ["scratch", "build", "BUILD"] {
		base_pinned.result.violations == set() with input as fixtures.with_value(fixtures.dockerfile, "2/Value", [image])
	}
}

test_skips_other_documents if {
	every document in fixtures.not_configurations {
		base_pinned.result.skipped with input as document
		base_pinned.result.violations == set() with input as document
	}
}

test_unreadable_configuration_next_to_a_readable_one if {
	fixtures.unreadable_configuration in base_pinned.result.violations with input as fixtures.with_unreadable_configuration
}
