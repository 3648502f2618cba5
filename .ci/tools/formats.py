"""Compares the values of files with the answers of conftest's parsers: see `.ci/formats`."""

import collections
import hashlib
import json
import pathlib
import sys

EXTENSIONS = {
    "hcl": "hcl2", "tf": "hcl2", "tfvars": "hcl2", "toml": "toml", "ini": "ini", "properties": "properties",
    "env": "dotenv", "xml": "xml", "jsonc": "jsonc", "dockerfile": "dockerfile",
}


def format_of(path):
    name = path.name.lower()
    if path.suffix[1:].lower() in EXTENSIONS:
        return EXTENSIONS[path.suffix[1:].lower()]
    if name == "dockerfile" or name.startswith("dockerfile."):
        return "dockerfile"
    return "dotenv" if name == ".env" or name.startswith(".env.") else None


def digest(answer):
    """The digest of a value in which numbers are doubles, as in Go's JSON; `error` without one."""
    if "error" in answer:
        return "error"

    def plain(value):
        if isinstance(value, dict):
            return {key: plain(own) for key, own in value.items()}
        if isinstance(value, list):
            return [plain(own) for own in value]
        return float(value) if isinstance(value, int) and not isinstance(value, bool) else value

    value = answer["value"]
    # conftest wraps the instructions of a Dockerfile in an array of documents.
    if pathlib.Path(answer["path"]).name.lower().find("dockerfile") >= 0 and value and isinstance(value[0], list):
        value = value[0]
    return hashlib.sha256(json.dumps(plain(value), sort_keys=True).encode()).hexdigest()[:16]


def answers(path, work):
    for line in open(path, encoding="utf-8"):
        answer = json.loads(line)
        yield str(pathlib.Path(answer["path"]).relative_to(work)), digest(answer)


def main(command, work, *rest):
    if command == "list":
        for path in sorted(pathlib.Path(work).glob("*/*/**/*")):
            format_ = format_of(path)
            if format_ and path.is_file() and "\n" not in str(path):
                print(f"{format_}\t{path}")
    elif command == "store":
        for path, own in answers(f"{work}/conftest.jsonl", work):
            print(f"{path}\t{own}")
    else:
        stored = dict(line.rstrip("\n").split("\t") for line in open(rest[0], encoding="utf-8"))
        counts, shown = collections.Counter(), collections.Counter()
        for path, own in answers(f"{work}/own.jsonl", work):
            if path not in stored:
                continue
            theirs = stored[path]
            kind = "same" if own == theirs else (
                "only conftest reads" if own == "error" else "only we read" if theirs == "error" else "differs")
            counts[kind] += 1
            shown[kind] += 1
            if kind != "same" and shown[kind] <= 60:
                print(f"{kind}: {path}")
        print(dict(counts))
        sys.exit(counts["same"] == 0)


main(*sys.argv[1:])
