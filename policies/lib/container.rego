# Configurations of container images in one form: a Dockerfile, an image's configuration (OCI),
# `docker image inspect`, and the configuration in a report of Trivy's.
package lib.container

import data.lib.documents
import data.lib.value

# The result of a rule about configurations. An input without one is skipped.
verdict(violations) := outcome(all, violations)

# The result of a rule about Dockerfiles.
dockerfile_verdict(violations) := outcome(dockerfiles, violations)

outcome(found, violations) := {"skipped": true, "skip_reason": "the input has no configuration of a container image", "violations": violations} if {
	count(found) == 0
} else := {"skipped": false, "violations": (violations | problems)}

# The result of the rule that reports what can't be read.
readability := {"skipped": true, "skip_reason": "the input has no configuration of a container image", "violations": set()} if {
	count(candidates) + count(dockerfiles) == 0
} else := {"skipped": false, "violations": problems}

# Each configuration has `label`, `user` ("" for the default), `ports` (`8080/tcp`), and `env` and
# `labels`, arrays of names and values. `created` is "" in a Dockerfile.
all := array.concat(
	[object.union({"label": candidate.label}, configured(candidate.content)) |
		some candidate in candidates
		count(reasons(candidate.content)) == 0
	],
	[object.union({"label": dockerfile.label}, instructed(dockerfile.stages)) | some dockerfile in dockerfiles],
)

problems contains {"message": message} if {
	some candidate in candidates
	some reason in reasons(candidate.content)
	message := sprintf("%s isn't a readable configuration of an image: %s", [candidate.label, reason])
}

candidates := [{"label": candidate.label, "content": content} |
	some candidate in documents.candidates("configuration")
	some content in configurations(candidate.content)
]

configurations(content) := [content] if {
	value.has(content, "config")
	value.has(content, "rootfs")
} else := content if {
	is_array(content)
	every image in content {
		value.has(image, "Config")
		value.has(image, "RootFS")
	}
	count(content) > 0
} else := [content.Metadata.ImageConfig] if {
	value.members(content, ["Metadata", "ImageConfig"]) != {}
} else := []

strings := {"type": ["object", "null"], "additionalProperties": {"type": "string"}}

settings := {
	"type": ["object", "null"],
	"properties": {
		"User": {"type": "string"},
		"ExposedPorts": {"type": ["object", "null"]},
		"Env": {"type": ["array", "null"], "items": {"type": "string"}},
		"Labels": strings,
	},
}

# https://github.com/opencontainers/image-spec/blob/v1.1.1/config.md
reasons(content) := value.mismatches(content, {
	"type": "object",
	"properties": {"config": settings, "Config": settings, "created": {"type": "string"}, "Created": {"type": "string"}},
})

configured(content) := {
	"user": value.text(found, "User"),
	"ports": {port | some port, _ in value.members(found, "ExposedPorts")},
	"env": [[parts[0], concat("=", array.slice(parts, 1, count(parts)))] |
		some entry in value.texts(found, "Env")
		parts := split(entry, "=")
	],
	"labels": [[name, label] | some name, label in value.members(found, "Labels")],
	"created": value.first([value.text(content, "created"), value.text(content, "Created")]),
} if {
	found := object.union(value.members(content, "config"), value.members(content, "Config"))
}

# Dockerfiles, as the gate's parser reads them: `stages`, arrays of instructions.
dockerfiles := [{"label": candidate.label, "stages": stages} |
	some candidate in documents.candidates("configuration")
	is_dockerfile(candidate.content)
	stages := [[instruction | some instruction in candidate.content; instruction.Stage == stage] |
		some stage in {instruction.Stage | some instruction in candidate.content}
	]
]

is_dockerfile(content) if {
	is_array(content)
	count(content) > 0
	every instruction in content {
		value.has(instruction, "Cmd")
		value.has(instruction, "Stage")
		is_array(instruction.Value)
	}
	"from" in {instruction.Cmd | some instruction in content}
}

# What the last stage sets. A later instruction replaces an earlier one.
instructed(stages) := {
	"user": concat("", array.slice(users, count(users) - 1, count(users))),
	"ports": {protocol(port) | some instruction in last; instruction.Cmd == "expose"; some port in instruction.Value},
	"env": array.concat(pairs(last, "env"), defaults(last)),
	"labels": pairs(last, "label"),
	"created": "",
} if {
	last := stages[count(stages) - 1]
	users := array.concat([""], [instruction.Value[0] | some instruction in last; instruction.Cmd == "user"])
}

# Instructions with names and values have three strings for each: the name, the value and `=`.
pairs(instructions, command) := [[instruction.Value[i], trim(instruction.Value[i + 1], `"'`)] |
	some instruction in instructions
	instruction.Cmd == command
	some i in numbers.range(0, count(instruction.Value) - 2)
	i % 3 == 0
]

# Arguments of the build with their defaults, which stay in the image's history.
defaults(instructions) := [[parts[0], concat("=", array.slice(parts, 1, count(parts)))] |
	some instruction in instructions
	instruction.Cmd == "arg"
	some argument in instruction.Value
	parts := split(argument, "=")
]

protocol(port) := port if {
	contains(port, "/")
} else := concat("/", [port, "tcp"])

# Images that the stages of a Dockerfile begin with, without those that are stages themselves.
bases(dockerfile) := {image |
	some stage in dockerfile.stages
	some instruction in stage
	instruction.Cmd == "from"
	image := instruction.Value[0]
	image != "scratch"
	not lower(image) in names(dockerfile)
}

names(dockerfile) := {lower(instruction.Value[2]) |
	some stage in dockerfile.stages
	some instruction in stage
	instruction.Cmd == "from"
	lower(instruction.Value[1]) == "as"
}
