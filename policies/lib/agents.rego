# Configurations and sessions of AI agents, as the vendor's kinds have them.
package lib.agents

import data.lib.documents
import data.lib.value

verdict(violations) := {"skipped": true, "skip_reason": "the input has no configuration or session of an AI agent", "violations": violations} if {
	count(candidates) == 0
} else := {"skipped": false, "violations": (violations | problems)}

# Each has `label`, `agent`, `servers` (those that aren't disabled, and those that were called), `tools`
# (allowed ones, and those that were used), `files` (`path`, `text`), and `commands` (those that start
# servers, and those that a session ran).
all := [{
	"label": candidate.label,
	"agent": found.agent.name,
	"servers": ({server.name | some server in value.objects(found, "mcp_servers"); object.get(server, "disabled", false) != true} | {name |
		some tool in used(found)
		startswith(tool, "mcp__")
		name := split(tool, "__")[1]
	}),
	"tools": ({tool | some tool in value.texts(found, ["permissions", "allow"])} | {tool | some tool in used(found)}),
	"files": [{"path": file.path, "text": base64.decode(file.content)} |
		some file in value.objects(found, "config_files")
		base64.is_valid(value.text(file, "content"))
	],
	"commands": ({concat(" ", array.concat([value.text(server, "command")], value.texts(server, "args"))) |
		some server in value.objects(found, "mcp_servers")
	} | {command |
		walk(value.members(found, "raw_session"), [path, command])
		path[count(path) - 1] == "command"
		is_string(command)
	}),
} |
	some candidate in candidates
	count(reasons(candidate.content)) == 0
	found := candidate.content.data
]

used(session) := [value.text(tool, "tool_name") | some tool in value.objects(session, ["tools_used", "summary"])]

problems contains {"message": message} if {
	some candidate in candidates
	some reason in reasons(candidate.content)
	message := sprintf("%s isn't a readable configuration or session of an AI agent: %s", [candidate.label, reason])
}

candidates := [candidate |
	some candidate in documents.candidates("agent")
	is_candidate(candidate)
]

is_candidate(candidate) if candidate.claim == "agent"

is_candidate(candidate) if regex.match(`\.(aiagentconfig|aicodingsession)$|/(aiagentconfig|aicodingsession)/`, value.text(candidate.content, "schema"))

# https://schemas.chainloop.dev/aiagentconfig/0.1 and https://schemas.chainloop.dev/aicodingsession/0.1
reasons(content) := value.mismatches(content, {
	"type": "object",
	"required": ["data"],
	"properties": {"data": {
		"type": "object",
		"required": ["agent"],
		"properties": {
			"agent": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "minLength": 1}}},
			"mcp_servers": {"type": "array", "items": {
				"type": "object",
				"required": ["name"],
				"properties": {"name": {"type": "string"}},
			}},
			"config_files": {"type": "array", "items": {
				"type": "object",
				"required": ["path", "content"],
				"properties": {"path": {"type": "string"}, "content": {"type": "string"}},
			}},
			"tools_used": {"type": "object", "properties": {"summary": {"type": "array", "items": {
				"type": "object",
				"required": ["tool_name"],
				"properties": {"tool_name": {"type": "string"}},
			}}}},
		},
	}},
})
