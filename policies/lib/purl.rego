# Package URLs (https://github.com/package-url/purl-spec).
package lib.purl

# The members of a package URL in their canonical form. Undefined if the text isn't one.
parse(text) := {"type": type, "namespace": namespace, "name": name, "version": decode(version)} if {
	startswith(lower(text), "pkg:")
	path := trim_left(substring(split(split(text, "#")[0], "?")[0], 4, -1), "/")
	versioned := split(path, "@")
	segments := [segment | some segment in split(versioned[0], "/"); segment != ""]
	count(segments) > 1
	type := lower(segments[0])
	regex.match(`^[a-z][a-z0-9.+-]*$`, type)
	last := count(segments) - 1
	namespace := folded(type, concat("/", [decode(segment) | some segment in array.slice(segments, 1, last)]))
	name := folded(type, decode(segments[last]))
	version := concat("@", array.slice(versioned, 1, count(versioned)))
}

decode(text) := urlquery.decode(replace(text, "+", "%2B")) if {
	contains(text, "%")
	not regex.match(`%($|[^0-9A-Fa-f]|[0-9A-Fa-f]($|[^0-9A-Fa-f]))`, text)
} else := text

# Types whose names have no case. Names of PyPI have `-` for `_`, too.
folded(type, text) := replace(lower(text), "_", "-") if {
	type == "pypi"
} else := lower(text) if {
	type in {"apk", "bitbucket", "composer", "deb", "github", "golang", "hex", "npm", "oci", "rpm"}
} else := text

# The name by which people and scanners call a package: the namespace of a distribution is left
# out, and Maven's group is separated with a colon.
name(parsed) := parsed.name if {
	parsed.type in {"alpm", "apk", "deb", "generic", "oci", "rpm"}
} else := parsed.name if {
	parsed.namespace == ""
} else := concat(":", [parsed.namespace, parsed.name]) if {
	parsed.type == "maven"
} else := concat("/", [parsed.namespace, parsed.name])
