# METADATA
# title: No dangerous command is given to an agent
# description: >-
#   Commands that start servers, that a session ran, or that an agent's instructions have. The
#   patterns are regular expressions.
# custom:
#   severity: high
#   remediation: >-
#     Remove the command from the agent's files, and undo what it did.
#   controls:
#     ssdf: [PO.3.2, PO.5.2]
#     nist_800_53: [CM-7, CM-10]
#   parameters:
#     - name: dangerous_commands
#       description: Regular expressions of commands that fail.
#       default: ["rm -(rf|fr) [/~]", "(curl|wget) [^|]*[|] *(sudo +)?(ba|z)?sh", "git push .*--force", "chmod (-R )?777", "--dangerously-skip-permissions"]
#   input: [ai-agent-config, ai-coding-session, release]
#   functions: [evidence, download_artifact]
package compliance.ai_commands

import data.lib.agents
import data.lib.parameters

result := agents.verdict(deny)

dangerous_commands := parameters.get("dangerous_commands", [
	"rm -(rf|fr) [/~]",
	"(curl|wget) [^|]*[|] *(sudo +)?(ba|z)?sh",
	"git push .*--force",
	"chmod (-R )?777",
	"--dangerously-skip-permissions",
])

deny contains {"message": message} if {
	some found in agents.all
	some pattern in dangerous_commands
	some text in (found.commands | {file.text | some file in found.files})
	some command in regex.find_n(pattern, text, 1)
	message := sprintf("%s has the dangerous command `%s`", [found.label, command])
}
