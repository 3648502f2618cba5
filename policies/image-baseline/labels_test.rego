package image_baseline.labels_test

import data.image_baseline.labels
import data.lib.fixtures_test as fixtures

test_passes if {
	every document in fixtures.configurations {
		labels.result == {"skipped": false, "violations": set()} with input as document
	}
}

test_fails if {
	fixtures.messages(labels.result) == {"the document has no label `org.opencontainers.image.source`"} with input as fixtures.without(fixtures.image_config, "config/Labels/org.opencontainers.image.source")
	fixtures.messages(labels.result) == {"the document has no label `org.opencontainers.image.source`"} with input as fixtures.with_value(fixtures.image_config, "config/Labels/org.opencontainers.image.source", "")
	count(labels.result.violations) == 2 with input as fixtures.without(fixtures.dockerfile, "4")
	count(labels.result.violations) == 2 with input as fixtures.with_value(fixtures.image_config, "config/Labels", null)
	fixtures.messages(labels.result) == {"the document has no label `team`"} with input as fixtures.image_config with data.parameters as {"required_labels": ["team"]}
}

test_skips_other_documents if {
	every document in fixtures.not_configurations {
		labels.result.skipped with input as document
		labels.result.violations == set() with input as document
	}
}

test_unreadable_configuration_next_to_a_readable_one if {
	fixtures.unreadable_configuration in labels.result.violations with input as fixtures.with_unreadable_configuration
}
