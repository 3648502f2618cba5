package image_baseline.exposed_ports_test

import data.image_baseline.exposed_ports
import data.lib.fixtures_test as fixtures

test_passes if {
	every document in fixtures.configurations {
		exposed_ports.result == {"skipped": false, "violations": set()} with input as document
	}
}

test_fails if {
	every port in ["22/tcp", "23/tcp", "3389/tcp", "5900/tcp"] {
		fixtures.messages(exposed_ports.result) == {sprintf("the document exposes the port `%s`", [port])} with input as fixtures.with_value(fixtures.image_config, "config/ExposedPorts", {port: {}})
		fixtures.messages(exposed_ports.result) == {sprintf("the document exposes the port `%s`", [port])} with input as fixtures.with_value(fixtures.dockerfile, "5/Value", ["80", port])
	}
	fixtures.messages(exposed_ports.result) == {"the document exposes the port `8080/tcp`"} with input as fixtures.dockerfile with data.parameters as {"denied_ports": ["8080"]}
}

test_other_protocol if {
	exposed_ports.result.violations == set() with input as fixtures.with_value(fixtures.dockerfile, "5/Value", ["22/udp"])
}

test_skips_other_documents if {
	every document in fixtures.not_configurations {
		exposed_ports.result.skipped with input as document
		exposed_ports.result.violations == set() with input as document
	}
}

test_unreadable_configuration_next_to_a_readable_one if {
	fixtures.unreadable_configuration in exposed_ports.result.violations with input as fixtures.with_unreadable_configuration
}
