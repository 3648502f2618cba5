"""Writes the types of the report from its JSON schema.

    python report_types.py > python/rego_platform/report.py
"""

import json
import keyword
import pathlib

SCHEMA = pathlib.Path(__file__).parents[2] / "crates/gate/src/report/model/schema.json"
HEAD = '''"""The types of a gate's report, written by `report_types.py` from the report's JSON schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict, Union

if TYPE_CHECKING:
    from typing_extensions import NotRequired
'''
PLAIN = {"string": "str", "integer": "int", "boolean": "bool", "null": "None"}


def annotation(schema):
    """Returns the type of a value."""
    if "$ref" in schema:
        return schema["$ref"].rpartition("/")[2]
    if "anyOf" in schema:
        return " | ".join(annotation(one) for one in schema["anyOf"])
    if "oneOf" in schema:
        return f"Literal[{', '.join(json.dumps(one['const']) for one in schema['oneOf'])}]"
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(annotation({**schema, "type": one}) for one in kind)
    if kind == "array":
        return f"list[{annotation(schema['items'])}]"
    if kind == "object":
        # What it has no member for, it has patterns of names for.
        patterns = list(schema.get("patternProperties", {}).values())
        values = patterns[0] if patterns else schema.get("additionalProperties", True)
        return f"dict[str, {'Any' if values is True else annotation(values)}]"
    return PLAIN[kind] if kind else "Any"


def sentence(schema):
    """Returns the description on one line."""
    return " ".join(schema.get("description", "").split())


def definition(name, schema):
    """Returns the lines that define a type."""
    if "properties" not in schema:
        text = annotation(schema)
        # What `|` joins are names, which may be defined later.
        text = f"Union[{', '.join(map(json.dumps, text.split(' | ')))}]" if " | " in text else text
        return [f"# {sentence(schema)}", f"{name} = {text}"]
    required = schema.get("required", [])
    members = {}
    for member, own in schema["properties"].items():
        kind = annotation(own)
        members[member] = kind if member in required else f"NotRequired[{kind}]"
    if any(map(keyword.iskeyword, members)):
        lines = [f"    {json.dumps(member)}: {json.dumps(kind)}," for member, kind in members.items()]
        comment = f"# {sentence(schema)}"
        return [comment, f"{name} = TypedDict(", f'    "{name}",', "    {", *map("    ".__add__, lines), "    },", ")"]
    lines = [f"class {name}(TypedDict):", f'    """{sentence(schema)}"""', ""]
    for member, kind in members.items():
        lines += [f"    {member}: {kind}", f'    """{sentence(schema["properties"][member])}"""']
    return lines


def module():
    """Returns the text of the module."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    types = {**schema["$defs"], "Report": schema}
    return "\n\n".join([HEAD, *("\n".join(definition(name, own)) + "\n" for name, own in types.items())])


if __name__ == "__main__":
    print(module(), end="")
