package compliance.ai_tools_test

import data.compliance.ai_tools
import data.lib.fixtures_test as fixtures

test_fails if {
	fixtures.messages(ai_tools.result) == {"the tool `Read` in the document is denied by `Re*`"} with input as fixtures.agent_session
		with data.parameters as {"denied_tools": ["Re*"]}
	every tool, pattern in {"Bash(*)": "Bash(*)", "Bash(rm -rf /)": "Bash(rm*", "Bash(sudo:*)": "Bash(sudo*", "Bash(curl x)": "Bash(curl*"} {
		fixtures.messages(ai_tools.result) == {sprintf("the tool `%s` in the document is denied by `%s`", [tool, pattern])} with input as fixtures.with_value(fixtures.agent_config, "data/permissions/allow/0", tool)
	}
}

test_passes if {
	every document in [fixtures.agent_config, fixtures.agent_session] {
		ai_tools.result == {"skipped": false, "violations": set()} with input as document
	}
	ai_tools.result.violations == set() with input as fixtures.with_value(fixtures.agent_config, "data/permissions/allow/0", "Bash(git status)")
	ai_tools.result.violations == set() with input as fixtures.agent_session with data.parameters as {"denied_tools": ["Rea"]}
}

test_unreadable if {
	fixtures.messages(ai_tools.result) == {"the document isn't a readable configuration or session of an AI agent: data.agent: name is required"} with input as fixtures.without(fixtures.agent_config, "data/agent/name")
	fixtures.messages(ai_tools.result) == {"`agent` isn't a readable configuration or session of an AI agent: data is required"} with input as fixtures.release
		with platform.evidence as {"results": [fixtures.row("CHAINLOOP_AI_AGENT_CONFIG", "agent", "sha256:1")]}
		with platform.download_artifact as "{}"
}

test_skips_other_documents if {
	every document in fixtures.not_agents {
		ai_tools.result.skipped with input as document
		ai_tools.result.violations == set() with input as document
	}
}
