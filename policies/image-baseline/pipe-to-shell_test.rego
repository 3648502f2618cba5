package image_baseline.pipe_to_shell_test

import data.image_baseline.pipe_to_shell
import data.lib.fixtures_test as fixtures

test_passes if {
	every document in [fixtures.dockerfile] {
		pipe_to_shell.result == {"skipped": false, "violations": set()} with input as document
	}
}

run(command) := array.concat(fixtures.dockerfile, [fixtures.instruction(1, "run", [command])])

test_fails if {
	every command in ["curl -sSL https://x.example/i | sh", "wget -qO- x | bash", "curl x|/bin/sh", "curl x | sudo bash", "curl x | zsh", "curl x | dash", "curl x | ksh"] {
		fixtures.messages(pipe_to_shell.result) == {sprintf("the document pipes a download to a shell: `%s`", [command])} with input as run(command)
	}
	fixtures.messages(pipe_to_shell.result) == {"the document pipes a download to a shell: `curl x | sh`"} with input as run("apt-get update && curl x | sh -s -- -y")
}

test_other_commands if {
	every command in ["curl x | tar xz", "curl -o i x && sh i", "echo a | sh", "curl x | shasum", "mycurly | cat"] {
		pipe_to_shell.result.violations == set() with input as run(command)
	}
	pipe_to_shell.result.violations == set() with input as array.concat(fixtures.dockerfile, [fixtures.instruction(1, "cmd", ["curl x | sh"])])
}

test_skips_other_documents if {
	every document in fixtures.not_configurations {
		pipe_to_shell.result.skipped with input as document
		pipe_to_shell.result.violations == set() with input as document
	}
}

test_unreadable_configuration_next_to_a_readable_one if {
	fixtures.unreadable_configuration in pipe_to_shell.result.violations with input as fixtures.with_unreadable_configuration
}
