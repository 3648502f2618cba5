"""Verdicts, with the service: those of the command."""

import asyncio
import json
import multiprocessing
import os
import pathlib
import subprocess
import tarfile
import threading

import pyarrow
import pytest

from rego_platform import (
    Policies,
    RegoError,
    Service,
    UndefinedError,
    exit_status,
    verdict_schema,
)

ROOT = pathlib.Path(__file__).parents[3]
POLICY = ROOT / "policies/required_evidence.rego"
INPUTS = sorted((ROOT / "testdata/inputs/required_evidence").glob("*.json"))


def timeless(value):
    """Removes times, and what only the command knows of a run."""
    if isinstance(value, list):
        return [timeless(item) for item in value]
    if not isinstance(value, dict):
        return value
    times = ("started", "duration_ms", "latency_us", "tool", "inventory", "answers", "origin", "origins")
    return {key: timeless(item) for key, item in value.items() if key not in times}


def test_a_gate_gives_the_verdicts_of_the_command(service, environment, command):
    arguments = [command, "gate", "-d", str(POLICY), "-f", "json"]
    arguments += [argument for path in INPUTS for argument in ("-i", str(path))]
    ran = subprocess.run(arguments, env=environment, stdout=subprocess.PIPE, check=False)
    expected = json.loads(ran.stdout)
    assert ran.returncode == expected["exit"] == 1
    policies = Policies.load(POLICY, service=service)
    report = policies.gate({str(path): path.read_bytes() for path in INPUTS})
    for ours, theirs in zip(report["inputs"], expected["inputs"], strict=True):
        for input in (ours, theirs):
            del input["ledger"]
        assert timeless(ours) == timeless(theirs)
    for list in ("policies", "packages", "call_sites"):
        ours, theirs = report["inventory"][list], expected["inventory"][list]
        assert len(ours) == len(theirs) > 0, list
    assert report["totals"]["violations"] == expected["totals"]["violations"] == 2
    # Objects have the same verdicts as their JSON.
    objects = policies.gate({str(path): json.loads(path.read_bytes()) for path in INPUTS})
    outcomes = [input["outcome"] for input in objects["inputs"]]
    assert outcomes == [input["outcome"] for input in expected["inputs"]]


def test_a_bundle_that_is_signed_is_refused_since_there_is_no_key(tmp_path):
    (tmp_path / "p.rego").write_text("package p\n\ndeny contains \"x\" if input.x\n")
    bundle = tmp_path / "bundle.tar.gz"
    for signed in (False, True):
        with tarfile.open(bundle, "w:gz") as archive:
            archive.add(tmp_path / "p.rego", "p.rego")
            if signed:
                (tmp_path / "signatures").write_text('{"signatures": ["x.y.z"]}')
                archive.add(tmp_path / "signatures", ".signatures.json")
        if signed:
            with pytest.raises(RegoError, match="sign"):
                Policies.load(bundle)
        else:
            assert Policies.load(bundle).evaluate("data.p.deny", {"x": 1}) == ["x"]


def test_queries_ask_the_service(service, environment):
    fails = json.loads(INPUTS[0].read_bytes())
    policies = Policies.load([POLICY], service=service)
    found = policies.evaluate("data.required_evidence.deny", fails)
    assert len(found) == 2, found
    assert asyncio.run(policies.evaluate_async("data.required_evidence.deny", fails)) == found
    os.environ.update(environment)
    own = Policies.load([POLICY], service=Service.from_env())
    assert own.evaluate("data.required_evidence.deny", fails) == found


def test_a_forked_process_asks_with_a_service_of_its_own(service, environment):
    query, fails = "data.required_evidence.deny", json.loads(INPUTS[0].read_bytes())
    policies = Policies.load([POLICY], service=service)
    found = policies.evaluate(query, fails)
    forked = multiprocessing.get_context("fork")
    results = forked.SimpleQueue()

    def child():
        try:
            policies.evaluate(query, fails, timeout=60)
        except RegoError as error:
            results.put(str(error))
        own = Service(
            token=environment["PLATFORM_TOKEN"],
            controlplane_url=environment["PLATFORM_CONTROLPLANE_URL"],
            base_url=environment["PLATFORM_BASE_URL"],
        )
        results.put(Policies.load([POLICY], service=own).evaluate(query, fails))

    process = forked.Process(target=child)
    process.start()
    process.join(60)
    assert process.exitcode == 0
    assert "forked after the platform's first request" in results.get()
    assert results.get() == found
    assert policies.evaluate(query, fails) == found


def test_a_call_that_fails_is_no_verdict(environment):
    fails = json.loads(INPUTS[0].read_bytes())
    without = Policies.load(POLICY)
    with pytest.raises(RegoError, match="Service.from_context"):
        without.evaluate("data.required_evidence.deny", fails)
    nobody = Service(
        token=environment["PLATFORM_TOKEN"],
        controlplane_url="http://127.0.0.1:9",
        base_url="http://127.0.0.1:9",
    )
    policies = Policies.load(POLICY, service=nobody)
    with pytest.raises(RegoError) as raised:
        policies.evaluate("data.required_evidence.deny", fails, timeout=5)
    assert not isinstance(raised.value, UndefinedError) and raised.value.kind != "policy"
    report = policies.gate({"a.json": fails}, timeout=5)
    assert (report["outcome"], report["exit"]) == ("no_verdict", 2)
    assert report["inputs"][0]["verdicts"][0]["error"]["message"]


def test_policies_that_are_no_gate_can_be_queried(tmp_path):
    (tmp_path / "p.rego").write_text("package p\n\nx := 1\n")
    policies = Policies.load(tmp_path)
    assert policies.evaluate("data.p.x") == 1
    with pytest.raises(RegoError):
        policies.gate({"a.json": {}})
    with pytest.raises(RegoError, match="doesn't exist"):
        Policies.load(tmp_path / "nothing")
    with pytest.raises(RegoError, match="p.rego:3:"):
        (tmp_path / "p.rego").write_text("package p\n\nx := platfrom.discover(1)\n")
        Policies.load(tmp_path)
    with pytest.raises(RegoError, match="conflicting arguments"):
        Policies.load(POLICY, service=Service(token="t", base_url="https://a.example"), replay="r.json")


@pytest.fixture
def even(tmp_path):
    (tmp_path / "p.rego").write_text(
        'package p\n\ndeny contains {"msg": sprintf("%v is odd", [input.n]), "severity": "high", "id": "ODD"} '
        'if input.n % 2 == 1\n\nwarn contains "seven" if input.n == 7\n'
    )
    return Policies.load(tmp_path)


def test_a_batch_has_a_verdict_for_each_row(even):
    documents = ['{"n": 0}', '{"n": 1}', '{"n": 2} {"n": 3}', "{", '{"n": 7}', '{"n": "x"}', ""]
    for kind in [pyarrow.string(), pyarrow.large_string(), pyarrow.binary(), pyarrow.string_view()]:
        texts = [text.encode() if kind == pyarrow.binary() else text for text in documents]
        batch = pyarrow.record_batch({"document": pyarrow.array(texts, kind)})
        verdicts = even.gate_arrow(batch)
        assert verdicts.num_rows == len(documents)
        rows = verdicts.to_pylist()
        outcomes = [row["outcome"] for row in rows]
        fails = "no_verdict"
        assert outcomes == ["passed", "failed", "failed", fails, "failed", fails, fails], rows
        violation = {
            "policy": "p",
            "rule": "deny",
            "message": "1 is odd",
            "class": "violation",
            "effect": "fails",
            "severity": "high",
            "id": "ODD",
        }
        assert rows[1]["violations"] == [violation]
        assert [found["effect"] for found in rows[4]["violations"]] == ["fails", "warns"]
        assert rows[0]["error"] is None and rows[3]["error"]
        assert all(row["calls"] == 0 for row in rows)


def test_a_batch_may_name_its_columns(even):
    batch = pyarrow.record_batch({"path": ["a", "b"], "json": ['{"n": 1}', "["]})
    rows = even.gate_arrow(batch, document="json", name="path").to_pylist()
    assert [row["outcome"] for row in rows] == ["failed", "no_verdict"]
    with pytest.raises(ValueError, match="missing column of the batch: expected `document`, found path, json"):
        even.gate_arrow(batch)
    with pytest.raises(TypeError, match="expected string or binary, found Int64"):
        even.gate_arrow(pyarrow.record_batch({"document": [1]}))
    missing = pyarrow.record_batch({"document": [None, '{"n": 1}', None], "name": ["a", None, "c"]})
    rows = even.gate_arrow(missing, name="name").to_pylist()
    assert [row["outcome"] for row in rows] == ["no_verdict", "failed", "no_verdict"]
    assert rows[0]["error"] == rows[2]["error"] == "the row has no document"
    empty = pyarrow.record_batch({"document": pyarrow.array([], pyarrow.string())})
    assert even.gate_arrow(empty).num_rows == 0
    assert even.gate_arrow(empty).schema == verdict_schema()
    assert even.gate_arrow(empty).schema == even.gate_arrow(batch, document="json").schema


def test_the_exit_status_is_that_of_the_worst_outcome():
    assert exit_status({"passed": 2}) == exit_status({"passed": 2, "failed": 0}) == 0
    assert exit_status({"passed": 2, "failed": 1}) == 1
    assert exit_status({"passed": 2, "failed": 1, "no_verdict": 1}) == 2
    assert exit_status({}) == exit_status({"passed": 0}) == 2
    # What isn't an outcome, such as that of a row without one, is no pass.
    assert exit_status({"passed": 1, None: 1}) == exit_status({"passed": 1, "other": 1}) == 2


def test_threads_share_policies(even):
    found = []

    def work():
        for number in range(200):
            found.append((number, even.evaluate("data.p.deny", {"n": number})))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 800
    assert all(len(deny) == number % 2 for number, deny in found)
