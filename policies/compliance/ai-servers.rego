# METADATA
# title: Every MCP server of an agent is allowed
# description: >-
#   A server gives an agent tools, and what it returns to the agent may carry instructions. With a
#   list of servers, each other one fails, whether it is configured or was called.
# custom:
#   severity: high
#   remediation: >-
#     Remove the server from the agent's configuration, or add it to `allowed_mcp_servers`.
#   controls:
#     ssdf: [PO.3.2, PO.5.2]
#     nist_800_53: [CM-7, CM-10]
#   parameters:
#     - name: allowed_mcp_servers
#       description: Names of the allowed servers.
#       default: []
#   input: [ai-agent-config, ai-coding-session, release]
#   functions: [evidence, download_artifact]
package compliance.ai_servers

import data.lib.agents
import data.lib.parameters

result := agents.verdict(deny)

allowed_mcp_servers := parameters.get("allowed_mcp_servers", [])

deny contains {"message": message, "server": server} if {
	count(allowed_mcp_servers) > 0
	some found in agents.all
	some server in found.servers
	not server in allowed_mcp_servers
	message := sprintf("the MCP server `%s` in %s isn't allowed", [server, found.label])
}
