# METADATA
# title: No denied tool is allowed or used
# description: >-
#   Tools that an agent may use without asking, and tools that it used in a session. A pattern
#   such as `Bash*` matches the tool with any arguments.
# custom:
#   severity: high
#   remediation: >-
#     Remove the tool from the agent's permissions.
#   controls:
#     ssdf: [PO.3.2, PO.5.2]
#     nist_800_53: [CM-7, CM-10]
#   parameters:
#     - name: denied_tools
#       description: Patterns of tools that no agent may use; `*` matches any text.
#       default: ["Bash(*)", "Bash(rm*", "Bash(sudo*", "Bash(curl*"]
#   input: [ai-agent-config, ai-coding-session, release]
#   functions: [evidence, download_artifact]
package compliance.ai_tools

import data.lib.agents
import data.lib.parameters

result := agents.verdict(deny)

denied_tools := parameters.get("denied_tools", ["Bash(*)", "Bash(rm*", "Bash(sudo*", "Bash(curl*"])

deny contains {"message": message, "tool": tool} if {
	some found in agents.all
	some tool in found.tools
	some pattern in denied_tools
	matches(pattern, tool)
	message := sprintf("the tool `%s` in %s is denied by `%s`", [tool, found.label, pattern])
}

# A pattern that is a tool's whole permission, such as `Bash(*)`, matches it literally.
matches(pattern, tool) if pattern == tool

matches(pattern, tool) if {
	endswith(pattern, "*")
	startswith(tool, trim_suffix(pattern, "*"))
}
