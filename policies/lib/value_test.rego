package lib.value_test

import data.lib.value

document := {"a": {"b": "text", "n": 5, "l": ["x", {"y": 1}, 2]}, "null": null, "false": false}

test_members_of_their_type if {
	value.text(document, ["a", "b"]) == "text"
	value.number(document, ["a", "n"], 0) == 5
	value.list(document, ["a", "l"]) == ["x", {"y": 1}, 2]
	value.objects(document, ["a", "l"]) == [{"y": 1}]
	value.texts(document, ["a", "l"]) == ["x"]
	value.members(document, "a").n == 5
}

test_members_of_other_types if {
	every path in [["a", "n"], ["a", "gone"], "null", "gone", "a"] {
		value.text(document, path) == ""
		value.list(document, path) == []
	}
	every path in [["a", "b"], "null", "gone"] {
		value.number(document, path, 7) == 7
		value.members(document, path) == {}
	}
	every other in [null, 5, "text", [], [document]] {
		value.text(other, "a") == ""
		value.number(other, "a", 7) == 7
		value.list(other, "a") == []
		value.objects(other, "a") == []
		value.texts(other, "a") == []
		value.members(other, "a") == {}
		not value.has(other, "a")
	}
}

test_has if {
	every name in ["a", "null", "false"] {
		value.has(document, name)
	}
	not value.has(document, "gone")
}

test_first if {
	value.first(["", "a", "b"]) == "a"
	value.first(["", ""]) == ""
	value.first([]) == ""
	value.first_object([{"a": 1}, {"b": 2}]) == {"a": 1}
	value.first_object([]) == {}
}

test_names if {
	value.names(set()) == ""
	value.names({"b", "a"}) == "`a`, `b`"
	value.names({"c", "b", "a"}) == "`a`, `b`, `c`"
	value.names({"d", "c", "b", "a"}) == "`a`, `b`, `c` and 1 more"
	value.names({"e", "d", "c", "b", "a"}) == "`a`, `b`, `c` and 2 more"
}

test_mismatches if {
	schema := {"type": "object", "required": ["a"], "properties": {"b": {"type": "array", "items": {"type": "string"}}}}
	value.mismatches({"a": 1}, schema) == []
	value.mismatches({}, schema) == ["a is required"]
	value.mismatches({"a": 1, "b": [1]}, schema) == ["b.0: Invalid type. Expected: string, given: integer"]
	count(value.mismatches({"a": 1, "b": [1, 2, 3, 4]}, schema)) == 3
	value.mismatches([1], {"type": "array", "items": {"type": "integer"}}) == []
	every other in [null, 5, "text"] {
		value.mismatches(other, schema) == ["it isn't JSON"]
	}
}
