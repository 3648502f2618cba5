package lib.agents_test

import data.lib.agents
import data.lib.fixtures_test as fixtures

test_configuration if {
	agents.all == [{
		"label": "the document",
		"agent": "claude",
		"servers": {"github"},
		"tools": {"Read"},
		"files": [{"path": "CLAUDE.md", "text": "# Project rules"}],
		"commands": {""},
	}] with input as fixtures.agent_config
	agents.all[0].servers == set() with input as fixtures.with_value(fixtures.agent_config, "data/mcp_servers/0/disabled", true)
	agents.all[0].servers == {"github"} with input as fixtures.with_value(fixtures.agent_config, "data/mcp_servers/0/disabled", false)
	agents.all[0].files == [] with input as fixtures.with_value(fixtures.agent_config, "data/config_files/0/content", "!")
}

test_session if {
	agents.all == [{
		"label": "the document",
		"agent": "claude",
		"servers": {"github"},
		"tools": {"Read", "mcp__github__get_issue"},
		"files": [],
		"commands": {"ls"},
	}] with input as fixtures.agent_session
}

test_candidates if {
	every schema in ["https://schemas.chainloop.dev/aiagentconfig/0.1/a.json", "https://schemas.chainloop.dev/aicodingsession/0.1/a.json"] {
		count(agents.candidates) == 1 with input as {"schema": schema}
		agents.all == [] with input as {"schema": schema}
		agents.verdict(set()).skipped == false with input as {"schema": schema}
	}
	count(agents.candidates) == 0 with input as {"schema": "https://schemas.example/other"}
}

test_reasons if {
	every expected in [
		{"document": {}, "reason": "data is required"},
		{"document": {"data": []}, "reason": "data: Invalid type. Expected: object, given: array"},
		{"document": {"data": {}}, "reason": "data: agent is required"},
		{"document": {"data": {"agent": {"name": ""}}}, "reason": "data.agent.name: String length must be greater than or equal to 1"},
		{"document": fixtures.without(fixtures.agent_config, "data/mcp_servers/0/name"), "reason": "data.mcp_servers.0: name is required"},
		{"document": fixtures.without(fixtures.agent_config, "data/config_files/0/path"), "reason": "data.config_files.0: path is required"},
		{"document": fixtures.without(fixtures.agent_config, "data/config_files/0/content"), "reason": "data.config_files.0: content is required"},
		{"document": fixtures.without(fixtures.agent_session, "data/tools_used/summary/0/tool_name"), "reason": "data.tools_used.summary.0: tool_name is required"},
	] {
		agents.reasons(expected.document) == [expected.reason]
	}
}

test_commands if {
	servers := [{"name": "a", "command": "npx", "args": ["-y", "a"]}]
	agents.all[0].commands == {"npx -y a"} with input as fixtures.with_value(fixtures.agent_config, "data/mcp_servers", servers)
}

test_verdict if {
	agents.verdict({1}) == {"skipped": true, "skip_reason": "the input has no configuration or session of an AI agent", "violations": {1}} with input as {}
	agents.verdict({1}) == {"skipped": false, "violations": {1}} with input as fixtures.agent_config
}

# The service's kind is a claim.
test_evidence if {
	every kind in ["CHAINLOOP_AI_AGENT_CONFIG", "CHAINLOOP_AI_CODING_SESSION"] {
		count(agents.problems) == 1 with input as fixtures.release
			with platform.evidence as {"results": [fixtures.row(kind, "a", "sha256:1")]}
			with platform.download_artifact as "{}"
	}
}
