# METADATA
# title: Every AI agent is allowed
# description: >-
#   With a list of agents, each other agent fails. Without a list, every agent is allowed.
# custom:
#   severity: medium
#   remediation: >-
#     Use an allowed agent, or add this one to `allowed_agents`.
#   controls:
#     ssdf: [PO.3.2, PO.5.2]
#     nist_800_53: [CM-7, CM-10]
#   parameters:
#     - name: allowed_agents
#       description: Names of the allowed agents.
#       default: []
#   input: [ai-agent-config, ai-coding-session, release]
#   functions: [evidence, download_artifact]
package compliance.ai_agents

import data.lib.agents
import data.lib.parameters

result := agents.verdict(deny)

allowed_agents := parameters.get("allowed_agents", [])

deny contains {"message": message, "agent": found.agent} if {
	count(allowed_agents) > 0
	some found in agents.all
	not found.agent in allowed_agents
	message := sprintf("the agent `%s` in %s isn't allowed", [found.agent, found.label])
}
