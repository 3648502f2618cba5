"""Evaluations a second from Python: a decision over 20 containers, on one thread and on two.

    maturin develop --release && pip install regopy
    OPA=/path/to/opa python benches/evaluate.py

Beside regopy (rego-cpp), which has the policy as a compiled bundle and an interpreter for each thread, and OPA's
command: `opa bench` evaluates one input again and again in one process, `opa eval` is a process for each decision.
All of them run in turns; `SECONDS` is the time of each (1), `ROUNDS` the number of turns (5). What isn't there is left
out, and said.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from rego_platform import Policies

POLICY = pathlib.Path(__file__).parents[3] / "crates/cli/benches/hosts/plain.rego"
QUERY = "data.plain.deny"
EXPECTED = ["mallory may not deploy"]
SECONDS = float(os.environ.get("SECONDS", "1"))
ROUNDS = int(os.environ.get("ROUNDS", "5"))


def document(number):
    containers = [
        {
            "name": f"service-{at}",
            "image": f"registry.example.com/shop/service-{at}:v1.{number}",
            "memory": 256 * (at % 9),
            "user": "app",
            "environment": {"REGION": "eu", "LEVEL": "info"},
        }
        for at in range(20)
    ]
    return json.dumps({"user": "mallory", "containers": containers})


# No two threads begin with the same one.
DOCUMENTS = [document(number) for number in range(64)]


def wheel():
    policies = Policies.load(POLICY)
    return lambda: lambda text: policies.evaluate(QUERY, input_json=text)


def regopy():
    from regopy import Interpreter

    def of_thread():
        interpreter = Interpreter()
        interpreter.add_module(POLICY.name, POLICY.read_text())
        bundle = interpreter.build(QUERY, [])

        def evaluate(text):
            interpreter.set_input_term(text)
            return json.loads(str(interpreter.query_bundle(bundle)))["expressions"][0]

        return evaluate

    return of_thread


def rate(of_thread, threads):
    """Returns the evaluations a second on some threads."""
    counts = [0] * threads
    ready = threading.Barrier(threads + 1)
    failed = []

    def work(thread):
        evaluate, at = of_thread(), thread * len(DOCUMENTS) // threads
        if evaluate(DOCUMENTS[at]) != EXPECTED:
            failed.append("another answer")
        ready.wait()
        end = time.perf_counter() + SECONDS
        while time.perf_counter() < end:
            if evaluate(DOCUMENTS[at % len(DOCUMENTS)]) != EXPECTED:
                failed.append("another answer")
                return
            at, counts[thread] = at + 1, counts[thread] + 1

    workers = [threading.Thread(target=work, args=(thread,)) for thread in range(threads)]
    for worker in workers:
        worker.start()
    ready.wait()
    began = time.perf_counter()
    for worker in workers:
        worker.join()
    if failed:
        sys.exit(failed[0])
    return sum(counts) / (time.perf_counter() - began)


def opa(command, arguments):
    arguments = [command, *arguments, "--format", "json", "--data", POLICY, QUERY]
    return json.loads(subprocess.run(arguments, stdout=subprocess.PIPE, check=True).stdout)


def opa_bench(command, path):
    found = opa(command, ["bench", "--count", "1", "--input", path])
    return 1e9 * found["N"] / found["T"]


def opa_eval(command, path):
    count, began = 0, time.perf_counter()
    while time.perf_counter() < began + SECONDS:
        found = opa(command, ["eval", "--input", path])
        if found["result"][0]["expressions"][0]["value"] != EXPECTED:
            sys.exit("opa eval: another answer")
        count += 1
    return count / (time.perf_counter() - began)


def main():
    engines = {"wheel": wheel()}
    try:
        engines["regopy"] = regopy()
        engines["regopy"]()
    except ImportError:
        engines.pop("regopy", None)
        print("without regopy: `pip install regopy`")
    command = os.environ.get("OPA")
    if command is None:
        print("without OPA: set `OPA` to its command")
    found = {}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(DOCUMENTS[0])
        file.flush()
        for _ in range(ROUNDS):
            for name, of_thread in engines.items():
                for threads in (1, 2):
                    found.setdefault((name, threads), []).append(rate(of_thread, threads))
            if command is not None:
                found.setdefault(("opa bench", 1), []).append(opa_bench(command, file.name))
                found.setdefault(("opa eval", 1), []).append(opa_eval(command, file.name))
    medians = {which: statistics.median(rates) for which, rates in found.items()}
    for (name, threads), median in medians.items():
        one = medians[name, 1]
        beside = medians["wheel", threads] / median
        print(
            f"{name:<10} {threads} threads {median:>10,.0f} a second, {median / one:.2f} x one thread,"
            f" the wheel has {beside:.2f} x as many"
        )


if __name__ == "__main__":
    main()
