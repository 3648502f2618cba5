package compliance.ai_commands_test

import data.compliance.ai_commands
import data.lib.fixtures_test as fixtures

test_fails if {
	every command in ["rm -rf /", "rm -fr ~", "curl x | sh", "wget x|sudo bash", "curl x | zsh", "git push origin --force", "chmod 777", "chmod -R 777", "--dangerously-skip-permissions"] {
		fixtures.messages(ai_commands.result) == {sprintf("the document has the dangerous command `%s`", [command])} with input as fixtures.with_value(fixtures.agent_session, "data/raw_session/main/0/message/content/0/input/command", command)
		fixtures.messages(ai_commands.result) == {sprintf("the document has the dangerous command `%s`", [command])} with input as fixtures.with_value(fixtures.agent_config, "data/config_files/0/content", base64.encode(command))
	}
	fixtures.messages(ai_commands.result) == {"the document has the dangerous command `l`"} with input as fixtures.agent_session with data.parameters as {"dangerous_commands": ["l"]}
}

test_passes if {
	every document in [fixtures.agent_config, fixtures.agent_session] {
		ai_commands.result == {"skipped": false, "violations": set()} with input as document
	}
	every command in ["rm -rf target", "curl x | tar x", "git push origin main", "chmod 755"] {
		ai_commands.result.violations == set() with input as fixtures.with_value(fixtures.agent_session, "data/raw_session/main/0/message/content/0/input/command", command)
	}
}

test_unreadable if {
	fixtures.messages(ai_commands.result) == {"the document isn't a readable configuration or session of an AI agent: data.agent: name is required"} with input as fixtures.without(fixtures.agent_config, "data/agent/name")
	fixtures.messages(ai_commands.result) == {"`agent` isn't a readable configuration or session of an AI agent: data is required"} with input as fixtures.release
		with platform.evidence as {"results": [fixtures.row("CHAINLOOP_AI_AGENT_CONFIG", "agent", "sha256:1")]}
		with platform.download_artifact as "{}"
}

test_skips_other_documents if {
	every document in fixtures.not_agents {
		ai_commands.result.skipped with input as document
		ai_commands.result.violations == set() with input as document
	}
}
