# Members of JSON documents that other tools wrote. Each function has a result for every document:
# a member of another type counts as a missing one.
package lib.value

# The string at a path, or "".
text(document, path) := found if {
	is_object(document)
	found := object.get(document, path, "")
	is_string(found)
} else := ""

# The number at a path, or the fallback.
number(document, path, fallback) := found if {
	is_object(document)
	found := object.get(document, path, fallback)
	is_number(found)
} else := fallback

# The array at a path, or [].
list(document, path) := found if {
	is_object(document)
	found := object.get(document, path, [])
	is_array(found)
} else := []

# The objects in the array at a path.
objects(document, path) := [element | some element in list(document, path); is_object(element)]

# The strings in the array at a path.
texts(document, path) := [element | some element in list(document, path); is_string(element)]

# The object at a path, or {}.
members(document, path) := found if {
	is_object(document)
	found := object.get(document, path, {})
	is_object(found)
} else := {}

# The first string that isn't empty, or "".
first(candidates) := stated[0] if {
	stated := [candidate | some candidate in candidates; candidate != ""]
	count(stated) > 0
} else := ""

# Whether a document has a member, whatever its value.
has(document, name) if {
	is_object(document)
	_ = document[name]
}

# A few names for a message: all of them, or the first three and how many more there are.
names(found) := concat(", ", quoted) if {
	quoted := [sprintf("`%s`", [name]) | some name in sort(found)]
	count(quoted) <= 3
} else := sprintf("%s and %d more", [concat(", ", quoted), count(found) - 3]) if {
	quoted := [sprintf("`%s`", [name]) | some name in array.slice(sort(found), 0, 3)]
}

# The first of some objects, or {}.
first_object(candidates) := object.union_n(array.slice(candidates, 0, 1))

# The first three differences between a document and a JSON Schema.
mismatches(document, schema) := array.slice([trim_prefix(mismatch.error, "(Root): ") | some mismatch in result[1]], 0, 3) if {
	type_name(document) in {"array", "object"}
	result := json.match_schema(document, schema)
} else := ["it isn't JSON"]
