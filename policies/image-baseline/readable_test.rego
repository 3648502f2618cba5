package image_baseline.readable_test

import data.image_baseline.readable
import data.lib.fixtures_test as fixtures

test_fails if {
	readable.result.violations == {fixtures.unreadable_configuration} with input as fixtures.with_unreadable_configuration
	every path, reason in {
		"config/Env": "config.Env: Invalid type. Expected: [array,null], given: string",
		"config/Labels": "config.Labels: Invalid type. Expected: [object,null], given: string",
		"config/ExposedPorts": "config.ExposedPorts: Invalid type. Expected: [object,null], given: string",
	} {
		fixtures.messages(readable.result) == {sprintf("the document isn't a readable configuration of an image: %s", [reason])} with input as fixtures.with_value(fixtures.image_config, path, "x")
	}
}

test_passes if {
	every document in fixtures.configurations {
		readable.result.violations == set() with input as document
		readable.result.skipped == false with input as document
	}
}

test_skips_other_documents if {
	every document in fixtures.not_configurations {
		readable.result.skipped with input as document
	}
}
