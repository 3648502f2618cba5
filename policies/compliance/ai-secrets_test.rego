package compliance.ai_secrets_test

import data.compliance.ai_secrets
import data.lib.fixtures_test as fixtures

with_text(text) := fixtures.with_value(fixtures.agent_config, "data/config_files/0/content", base64.encode(text))

test_fails if {
	every parts in [
		["AKIA", "IOSFODNN7EXAMPLE"],
		["ghp_", "0123456789abcdefghijABCDEFGHIJ012345"],
		["github_pat_", "0123456789abcdefghijAB"],
		["glpat-", "0123456789abcdefghij"],
		["sk-", "ant-0123456789abcdefghij"],
		["xoxb-", "0123456789ab"],
		["-----BEGIN RSA PRIVATE", " KEY-----"],
	] {
		fixtures.messages(ai_secrets.result) == {"the file `CLAUDE.md` in the document has a secret"} with input as with_text(concat("", ["a ", parts[0], parts[1]]))
	}
}

test_passes if {
	every document in [fixtures.agent_config, fixtures.agent_session, with_text("AKIA and ghp_x and sk-1")] {
		ai_secrets.result == {"skipped": false, "violations": set()} with input as document
	}
}

test_unreadable if {
	fixtures.messages(ai_secrets.result) == {"the document isn't a readable configuration or session of an AI agent: data.agent: name is required"} with input as fixtures.without(fixtures.agent_config, "data/agent/name")
	fixtures.messages(ai_secrets.result) == {"`agent` isn't a readable configuration or session of an AI agent: data is required"} with input as fixtures.release
		with platform.evidence as {"results": [fixtures.row("CHAINLOOP_AI_AGENT_CONFIG", "agent", "sha256:1")]}
		with platform.download_artifact as "{}"
}

test_skips_other_documents if {
	every document in fixtures.not_agents {
		ai_secrets.result.skipped with input as document
		ai_secrets.result.violations == set() with input as document
	}
}
