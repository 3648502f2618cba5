package image_baseline.environment_secrets_test

import data.image_baseline.environment_secrets
import data.lib.fixtures_test as fixtures

test_passes if {
	every document in fixtures.configurations {
		environment_secrets.result == {"skipped": false, "violations": set()} with input as document
	}
}

test_fails if {
	every name in ["DB_PASSWORD", "passwd", "CLIENT_SECRET", "GITHUB_TOKEN", "API_KEY", "APIKEY", "AWS_SECRET_ACCESS_KEY", "PRIVATE_KEY", "CREDENTIALS"] {
		fixtures.messages(environment_secrets.result) == {sprintf("the document has a value for `%s` in its environment", [name])} with input as fixtures.with_value(fixtures.image_config, "config/Env", [sprintf("%s=a=b", [name])])
	}
	every instruction in [["env", ["A", "b", "=", "TOKEN", "x", "="]], ["arg", ["TOKEN=x"]]] {
		fixtures.messages(environment_secrets.result) == {"the document has a value for `TOKEN` in its environment"} with input as array.concat(fixtures.dockerfile, [fixtures.instruction(1, instruction[0], instruction[1])])
	}
}

test_no_secrets if {
	every entry in ["PASSWORD=", "PASSWORD", "TOKEN=$TOKEN", "TOKEN_FILE=/a", "SECRET_PATH=/a", "TOKEN_URL=https://a", "KEYBOARD=us"] {
		environment_secrets.result.violations == set() with input as fixtures.with_value(fixtures.image_config, "config/Env", [entry])
	}
	environment_secrets.result.violations == set() with input as array.concat(fixtures.dockerfile, [fixtures.instruction(1, "arg", ["TOKEN"])])
}

test_skips_other_documents if {
	every document in fixtures.not_configurations {
		environment_secrets.result.skipped with input as document
		environment_secrets.result.violations == set() with input as document
	}
}

test_unreadable_configuration_next_to_a_readable_one if {
	fixtures.unreadable_configuration in environment_secrets.result.violations with input as fixtures.with_unreadable_configuration
}
