"""Verdicts about 200,000 statements of 1.2 kB through `gate_arrow`, on one processor and on two.

    maturin develop --release
    python benches/fleet.py

Each run is a process of its own, pinned to its processors, that makes the statements batch by batch outside of what is
measured. Memory is what the process has after each batch: it is flat if the last ones have no more than the first.
`STATEMENTS` changes their number, `ROUNDS` that of runs (3); Linux only.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

BATCH = 10_000
STATEMENTS = int(os.environ.get("STATEMENTS", "200000"))
ROUNDS = int(os.environ.get("ROUNDS", "3"))

POLICY = """package p

deny contains sprintf("%v isn't allowed", [input.predicate.n]) if input.predicate.n % 100 == 1

warn contains "three" if input.predicate.n % 1000 == 3
"""


def statement(n):
    return json.dumps(
        {
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{"name": f"image-{n}", "digest": {"sha256": f"{n:064x}"}}],
            "predicateType": "https://example.org/test/v1",
            "predicate": {"n": n, "padding": "x" * 950},
        }
    )


def resident():
    """Returns the resident memory in MiB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20


def run(policy):
    """Gives verdicts on the processors of this process."""
    import pyarrow
    from rego_platform import Policies

    policies = Policies.load(policy)
    seconds, failed, memory = 0.0, 0, []
    for first in range(0, STATEMENTS, BATCH):
        numbers = range(first, min(first + BATCH, STATEMENTS))
        batch = pyarrow.record_batch({"document": [statement(n) for n in numbers]})
        began = time.perf_counter()
        verdicts = policies.gate_arrow(batch)
        seconds += time.perf_counter() - began
        outcomes = verdicts["outcome"].to_pylist()
        if outcomes != ["failed" if n % 100 == 1 else "passed" for n in numbers]:
            sys.exit("another verdict")
        failed += outcomes.count("failed")
        memory.append(resident())
    print(json.dumps({"seconds": seconds, "failed": failed, "memory": memory}))


def main():
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) < 2:
        sys.exit("two processors are needed")
    found = {1: [], 2: []}
    with tempfile.NamedTemporaryFile("w", suffix=".rego") as policy:
        policy.write(POLICY)
        policy.flush()
        for _ in range(ROUNDS):
            for count, runs in found.items():
                own = set(processors[:count])
                ran = subprocess.run(
                    [sys.executable, __file__, policy.name],
                    stdout=subprocess.PIPE,
                    check=True,
                    preexec_fn=lambda own=own: os.sched_setaffinity(0, own),
                )
                runs.append(json.loads(ran.stdout))
    times = {count: statistics.median(run["seconds"] for run in runs) for count, runs in found.items()}
    for count, runs in found.items():
        memory = runs[-1]["memory"]
        print(
            f"{count} processors: {times[count]:.2f} s, {STATEMENTS / times[count]:,.0f} statements a second,"
            f" {times[1] / times[count]:.2f} x one; {runs[-1]['failed']} failed;"
            f" memory {memory[0]} MiB after the first batch, {memory[-1]} MiB after the last, {max(memory)} MiB at most"
        )


if __name__ == "__main__":
    run(sys.argv[1]) if len(sys.argv) > 1 else main()
