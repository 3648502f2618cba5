package compliance.ai_servers_test

import data.compliance.ai_servers
import data.lib.fixtures_test as fixtures

test_fails if {
	every document in [fixtures.agent_config, fixtures.agent_session] {
		fixtures.messages(ai_servers.result) == {"the MCP server `github` in the document isn't allowed"} with input as document
			with data.parameters as {"allowed_mcp_servers": ["git"]}
	}
}

test_passes if {
	every document in [fixtures.agent_config, fixtures.agent_session] {
		ai_servers.result == {"skipped": false, "violations": set()} with input as document
			with data.parameters as {"allowed_mcp_servers": ["github"]}
		ai_servers.result.violations == set() with input as document
	}
	ai_servers.result.violations == set() with input as fixtures.with_value(fixtures.agent_config, "data/mcp_servers/0/disabled", true)
		with data.parameters as {"allowed_mcp_servers": ["git"]}
}

test_unreadable if {
	fixtures.messages(ai_servers.result) == {"the document isn't a readable configuration or session of an AI agent: data.agent: name is required"} with input as fixtures.without(fixtures.agent_config, "data/agent/name")
	fixtures.messages(ai_servers.result) == {"`agent` isn't a readable configuration or session of an AI agent: data is required"} with input as fixtures.release
		with platform.evidence as {"results": [fixtures.row("CHAINLOOP_AI_AGENT_CONFIG", "agent", "sha256:1")]}
		with platform.download_artifact as "{}"
}

test_skips_other_documents if {
	every document in fixtures.not_agents {
		ai_servers.result.skipped with input as document
		ai_servers.result.violations == set() with input as document
	}
}
