"""OPA's answers, as they are stored for the language's own tests."""

import gzip
import json
import pathlib

from rego_platform import Policies, RegoError, UndefinedError

STORED = pathlib.Path(__file__).parents[3] / "crates/rego/testdata/generated.jsonl.gz"
# Functions of the oracle's own, and answers that differ each time.
OTHERS = ("svc.", "time.", "rand.", "uuid.", "opa.", "print(")


def test_stored_answers(tmp_path):
    compared = undefined = failed = 0
    for number, line in enumerate(gzip.open(STORED, "rt", encoding="utf-8")):
        case = json.loads(line)
        results = case["opa"].get("results")
        texts = [text for _, text in case["files"]]
        if case["version"] != "v1" or not case["strict_errors"] or not results:
            continue
        if any(name in text for name in OTHERS for text in texts):
            continue
        folder = tmp_path / str(number)
        folder.mkdir()
        for name, text in case["files"]:
            (folder / name).write_text(text, encoding="utf-8")
        (folder / "data.json").write_text(case["data"], encoding="utf-8")
        policies = Policies.load(folder)
        asked = [(query, text) for query in case["queries"] for text in case["inputs"]]
        for (query, text), result in zip(asked, results, strict=True):
            if not query.startswith("data."):
                continue
            if "error" in result:
                failed += 1
                try:
                    policies.evaluate(query, input_json=text)
                except UndefinedError as error:
                    raise AssertionError((number, query, result)) from error
                except RegoError:
                    continue
                raise AssertionError((number, query, result))
            if not result["rows"]:
                undefined += 1
                try:
                    found = policies.evaluate(query, json.loads(text))
                except UndefinedError:
                    continue
                raise AssertionError((number, query, found))
            expected = result["rows"][0]["value"]
            # Sets are written with `<>`, which JSON doesn't have.
            if "<" in expected:
                continue
            compared += 1
            for found in (
                policies.evaluate(query, json.loads(text)),
                policies.evaluate(query, input_json=text),
            ):
                assert found == json.loads(expected), (number, query)
    assert compared > 100 and undefined > 30 and failed > 30, (compared, undefined, failed)
