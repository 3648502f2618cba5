package image_baseline.user_test

import data.image_baseline.user
import data.lib.fixtures_test as fixtures

test_passes if {
	every document in fixtures.configurations {
		user.result == {"skipped": false, "violations": set()} with input as document
	}
}

test_fails if {
	fixtures.messages(user.result) == {"the document sets no user"} with input as fixtures.without(fixtures.image_config, "config/User")
	fixtures.messages(user.result) == {"the document sets no user"} with input as fixtures.without(fixtures.dockerfile, "6")
	every name in ["root", "0", "0:0", "root:app", "000"] {
		fixtures.messages(user.result) == {sprintf("the document runs as root: `%s`", [name])} with input as fixtures.with_value(fixtures.image_config, "config/User", name)
		fixtures.messages(user.result) == {sprintf("the document runs as root: `%s`", [name])} with input as fixtures.with_value(fixtures.dockerfile, "6/Value", [name])
	}
	fixtures.messages(user.result) == {"the document sets no user"} with input as fixtures.with_value(fixtures.inspected_image, "0/Config/User", "")
}

test_other_users if {
	every name in ["app", "1000", "10:0", "rooty", "100"] {
		user.result.violations == set() with input as fixtures.with_value(fixtures.image_config, "config/User", name)
	}
}

# The last instruction of the last stage counts.
test_several_users if {
	fixtures.messages(user.result) == {"the document runs as root: `root`"} with input as array.concat(fixtures.dockerfile, [fixtures.instruction(1, "user", ["root"])])
	user.result.violations == set() with input as array.concat([fixtures.instruction(0, "user", ["root"])], fixtures.dockerfile)
}

test_report_of_trivy if {
	user.result.violations == set() with input as fixtures.trivy
	fixtures.messages(user.result) == {"the document sets no user"} with input as fixtures.with_value(fixtures.trivy, "Metadata/ImageConfig/config", {})
}

test_skips_other_documents if {
	every document in fixtures.not_configurations {
		user.result.skipped with input as document
		user.result.violations == set() with input as document
	}
}

test_unreadable_configuration_next_to_a_readable_one if {
	fixtures.unreadable_configuration in user.result.violations with input as fixtures.with_unreadable_configuration
}
