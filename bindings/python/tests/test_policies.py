"""What policies are loaded from, what an evaluation reports, and the kinds of errors."""

import json
import pathlib
import pickle
import sys
import threading
import typing

import pytest

from rego_platform import (
    Policies,
    PolicyError,
    Recording,
    RegoError,
    UndefinedError,
    check,
    report,
    types,
)

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import report_types  # noqa: E402

IMAGE = "sha256:8fa6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477"
TEXT = """package p

deny contains "no references" if {
    print("asked about", input.image)
    count(platform.discover(input.image, "").references) == 0
}
"""
INPUT = {"image": IMAGE}


def test_texts_are_policies_and_a_gate(tmp_path):
    (tmp_path / "q.rego").write_text('package q\n\ndeny contains "q" if input.q\n')
    texts = {"p.rego": 'package p\n\ndeny contains data.words[input.n] if input.n\n'}
    policies = Policies.load(tmp_path, texts=texts, data={"words": ["zero", "one"]})
    assert sorted(policies.packages()) == ["p", "q"]
    assert policies.evaluate("data.p.deny", {"n": 1}) == ["one"]
    run = policies.gate({"a.json": {"n": 1, "q": False}, "b.json": {"n": 0, "q": True}})
    assert run["outcome"] == "failed"
    assert [input["outcome"] for input in run["inputs"]] == ["failed", "failed"]
    assert {own["path"] for own in run["sources"]} >= {"p.rego", str(tmp_path / "q.rego")}
    with pytest.raises(TypeError, match="no policies"):
        Policies.load()
    with pytest.raises(PolicyError, match="p.rego:3:"):
        Policies.load(texts={"p.rego": "package p\n\nx := platfrom.discover(1)\n"})


def test_an_evaluation_has_its_ledger_prints_and_recording(service, tmp_path):
    policies = Policies.load(texts={"p.rego": TEXT}, service=service)
    evaluation = policies.evaluation("data.p.deny", INPUT)
    assert evaluation.value == policies.evaluate("data.p.deny", INPUT) == []
    assert evaluation.error is None
    assert [print["message"] for print in evaluation.prints] == [f"asked about {IMAGE}"]
    [call] = evaluation.ledger["calls"]
    assert (call["function"], call["outcome"], call["needed"]) == ("platform.discover", "ok", True)
    assert "1 call" in evaluation.table()
    recording = evaluation.recording()
    assert (len(recording) > 0, "platform.discover" in recording.functions()) == (True, True)
    path = tmp_path / "recording.json"
    recording.save(path)
    assert Recording.load(str(path)).to_bytes() == recording.to_bytes() == path.read_bytes()
    for replay in (path, str(path), recording, Recording.from_bytes(recording.to_bytes())):
        replayed = Policies.load(texts={"p.rego": TEXT}, replay=replay)
        again = replayed.evaluation("data.p.deny", INPUT)
        assert again.value == []
        assert [call["origin"] for call in again.ledger["calls"]] == ["replay"]
        assert replayed.gate({"a.json": INPUT})["answers"] == "replay"
    # Nothing else is answered, and the failure has a ledger too.
    other = replayed.evaluation("data.p.deny", {"image": "sha256:" + 64 * "0"})
    assert (other.error.kind, other.error.function) == ("not-answered", "platform.discover")
    assert [call["outcome"] for call in other.ledger["calls"]] == ["not answered"]
    with pytest.raises(RegoError):
        _ = other.value


def test_a_gate_writes_a_recording(service, tmp_path):
    path = tmp_path / "gate.json"
    policies = Policies.load(texts={"p.rego": TEXT}, service=service)
    run = policies.gate({"a.json": INPUT}, record=path)
    replayed = Policies.load(texts={"p.rego": TEXT}, replay=path).gate({"a.json": INPUT})
    assert run["outcome"] == replayed["outcome"] == "passed"
    assert "platform.discover" in Recording.load(path).functions()


def test_recordings_are_merged_unless_they_differ(service):
    policies = Policies.load(texts={"p.rego": TEXT}, service=service)
    one = policies.evaluation("data.p.deny", INPUT).recording()
    other = policies.evaluation("data.p.deny", {"image": "sha256:" + 64 * "0"}).recording()
    assert len(one.merged(other)) > len(one)
    changed = json.loads(one.to_bytes())
    for answers in changed["nd_builtin_cache"]["platform.discover"].values():
        answers["references"] = []
    with pytest.raises(RegoError, match="different outcomes") as raised:
        one.merged(Recording.from_bytes(json.dumps(changed).encode()))
    assert raised.value.kind == "configuration"


def test_policies_call_functions_of_python():
    threads = set()

    def team(path):
        threads.add(threading.get_ident())
        return {"name": path.split("/")[0], "size": 2**70, "none": None, "set": {1}}

    text = 'package p\n\nx := acme.team(input.path)\n\ndeny contains "two" if acme.sum(1, 1) == 2\n'
    functions = {"acme.team": team, "acme.sum": lambda a, b: a + b}
    policies = Policies.load(texts={"p.rego": text}, functions=functions, allow_warnings=True)
    expected = {"name": "payments", "size": 2**70, "none": None, "set": [1]}
    for _ in range(3):
        assert policies.evaluate("data.p.x", {"path": "payments/api"}) == expected
    found = []
    thread = threading.Thread(
        target=lambda: found.append(policies.evaluate("data.p.x", {"path": "payments/api"}))
    )
    thread.start()
    thread.join()
    assert found == [expected] and threads
    assert policies.gate({"a.json": {}})["outcome"] == "failed"


@pytest.mark.parametrize("in_thread", [False, True])
def test_an_exception_of_a_function_is_the_cause_of_the_error(in_thread):
    def fail(_):
        raise LookupError("no such team")

    # An ordinary function of Rego would be undefined, and the policy would pass.
    text = 'package p\n\ndeny contains "x" if not acme.fail(input.x)\n'
    policies = Policies.load(texts={"p.rego": text}, functions={"acme.fail": fail})
    errors = []

    def evaluate():
        try:
            policies.evaluate("data.p.deny", {"x": 1})
        except RegoError as error:
            errors.append(error)

    if in_thread:
        thread = threading.Thread(target=evaluate)
        thread.start()
        thread.join()
    else:
        evaluate()
    [error] = errors
    assert (error.kind, error.function) == ("host", "acme.fail")
    assert str(error) == "acme.fail: LookupError: no such team"
    assert isinstance(error.__cause__, LookupError)
    run = policies.gate({"a.json": {"x": 1}})
    assert run["outcome"] == "no_verdict"
    assert run["inputs"][0]["verdicts"][0]["error"]["kind"] == "host"


def test_functions_are_checked_with_the_policies():
    text = "package p\n\ndeny contains acme.one(1, 2)\n"
    with pytest.raises(PolicyError, match="p.rego:3:"):
        Policies.load(texts={"p.rego": text}, functions={"acme.one": lambda a: a})
    with pytest.raises(TypeError, match="unsupported parameters of the function `acme.one`"):
        Policies.load(texts={"p.rego": text}, functions={"acme.one": lambda *all: all})
    with pytest.raises(RegoError, match="reserved for the service's functions"):
        Policies.load(texts={"p.rego": text}, functions={"platform.one": lambda a, b: a})
    # A result without a value in Rego is an error of the function.
    policies = Policies.load(texts={"p.rego": text}, functions={"acme.one": lambda a, b: object()})
    with pytest.raises(RegoError, match="unsupported type") as raised:
        policies.evaluate("data.p.deny")
    assert raised.value.kind == "host" and isinstance(raised.value.__cause__, TypeError)


def test_check_has_the_findings_of_texts_and_files(tmp_path):
    text = "package p\n\ndeny contains platfrom.discover(input.image, \"\")\n"
    (tmp_path / "p.rego").write_text(text)
    for found in (check(texts={"p.rego": text}), check(tmp_path)):
        [finding] = [own for own in found if own["level"] == "error"]
        assert finding["code"] == "unknown-function"
        assert finding["hint"] == "did you mean `platform.discover`?"
        assert (finding["position"]["line"], finding["position"]["text"]) == (3, text.splitlines()[2])
    assert check(texts={"p.rego": "package p\n\ndeny contains acme.f(1)\n"}, functions={"acme.f": lambda a: a}) == []


def test_errors_have_kinds_and_classes(tmp_path):
    (tmp_path / "r.json").write_text("{}")
    texts = {"p.rego": TEXT}
    cases = [
        (lambda: Policies.load(texts={"p.rego": "package p\nx := ("}), PolicyError, "policy"),
        (lambda: Policies.load(texts=texts, replay=tmp_path / "none.json"), RegoError, "configuration"),
        (lambda: Policies.load(texts=texts, replay=tmp_path / "r.json"), RegoError, "configuration"),
        (lambda: Policies.load(texts=texts, product="A b"), RegoError, "configuration"),
        (lambda: Policies.load(texts=texts).evaluate("data.p.deny", INPUT), RegoError, "not-answered"),
        (lambda: Policies.load(texts=texts).evaluate("data.p.deny", {"image": 1}), RegoError, "invalid-argument"),
        (lambda: Policies.load(texts=texts).evaluate("data.p.none"), UndefinedError, "undefined"),
        (lambda: Policies.load(texts=texts).evaluate("1 / 0"), PolicyError, "policy"),
    ]
    for number, (fails, kind_of, kind) in enumerate(cases):
        with pytest.raises(RegoError) as raised:
            fails()
        error = raised.value
        assert (type(error), error.kind) == (kind_of, kind), (number, error)
        # Errors cross processes.
        again = pickle.loads(pickle.dumps(error))
        assert (str(again), vars(again)) == (str(error), vars(error))
    with pytest.raises(PolicyError) as raised:
        Policies.load(texts={"p.rego": "package p\n\nx := (\n\ny := foo.bar(1)\n"})
    assert raised.value.diagnostics[0]["position"]["file"] == "p.rego"


def keys(kind):
    return set(typing.get_type_hints(kind, localns={"NotRequired": typing.Optional}))


def test_the_types_are_those_of_the_report(service):
    path = pathlib.Path(report.__file__)
    assert path.read_text(encoding="utf-8") == report_types.module(), "run `report_types.py`"
    policies = Policies.load(texts={"p.rego": TEXT}, service=service)
    evaluation = policies.evaluation("data.p.deny", INPUT)
    run = policies.gate({"a.json": INPUT})
    values = [
        (report.Report, run),
        (report.Input, run["inputs"][0]),
        (report.Verdict, run["inputs"][0]["verdicts"][0]),
        (types.Ledger, evaluation.ledger),
        (types.CallRecord, evaluation.ledger["calls"][0]),
        (types.Print, evaluation.prints[0]),
        (types.Diagnostic, check(texts={"p.rego": "package p\n\nx := nothing\n"})[0]),
        (types.Position, check(texts={"p.rego": "package p\n\nx := nothing\n"})[0]["position"]),
    ]
    for kind, value in values:
        assert set(value) <= keys(kind), (kind, set(value) - keys(kind))
        required = {name for name, own in kind.__annotations__.items() if "NotRequired" not in str(own)}
        assert required <= set(value), (kind, required - set(value))
