package compliance.ai_agents_test

import data.compliance.ai_agents
import data.lib.fixtures_test as fixtures

test_fails if {
	every document in [fixtures.agent_config, fixtures.agent_session] {
		fixtures.messages(ai_agents.result) == {"the agent `claude` in the document isn't allowed"} with input as document
			with data.parameters as {"allowed_agents": ["cursor"]}
	}
}

test_passes if {
	every document in [fixtures.agent_config, fixtures.agent_session] {
		ai_agents.result == {"skipped": false, "violations": set()} with input as document
			with data.parameters as {"allowed_agents": ["cursor", "claude"]}
		ai_agents.result.violations == set() with input as document
	}
}

test_unreadable if {
	fixtures.messages(ai_agents.result) == {"the document isn't a readable configuration or session of an AI agent: data.agent: name is required"} with input as fixtures.without(fixtures.agent_config, "data/agent/name")
	fixtures.messages(ai_agents.result) == {"`agent` isn't a readable configuration or session of an AI agent: data is required"} with input as fixtures.release
		with platform.evidence as {"results": [fixtures.row("CHAINLOOP_AI_AGENT_CONFIG", "agent", "sha256:1")]}
		with platform.download_artifact as "{}"
}

test_skips_other_documents if {
	every document in fixtures.not_agents {
		ai_agents.result.skipped with input as document
		ai_agents.result.violations == set() with input as document
	}
}
