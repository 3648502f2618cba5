"""A gate over 100,000 files, whole and as the longest of two and of four parts, and `gate merge` of the parts.

    cargo build --release && python3 benches/shards.py target/release/rego-platform

The parts run one after the other, each alone on the machine, as jobs of CI on machines of their own do. The merged
report must be that of the whole run, times aside. `INPUTS` changes the number of files.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

INPUTS = int(os.environ.get("INPUTS", "100000"))

POLICY = """package p

deny contains sprintf("%v isn't allowed", [input.n]) if input.n % 100 == 1

warn contains "three" if input.n % 1000 == 3
"""


def timed(folder, *arguments):
    """Runs the command, and returns the seconds that it took."""
    began = time.perf_counter()
    ran = subprocess.run([command, "gate", *arguments], cwd=folder, stdout=subprocess.DEVNULL, check=False)
    if ran.returncode not in (0, 1):
        sys.exit(f"`gate {' '.join(arguments)}` has the status {ran.returncode}")
    return time.perf_counter() - began


def timeless(value):
    if isinstance(value, list):
        return [timeless(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: timeless(item) for name, item in value.items() if name not in ("started", "duration_ms")}


def report(folder, name):
    return timeless(json.loads((folder / name).read_text()))


command = str(pathlib.Path(sys.argv[1]).resolve())
with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    (folder / "p.rego").write_text(POLICY)
    (folder / "inputs").mkdir()
    for n in range(INPUTS):
        document = {"n": n, "image": f"registry.example.com/shop/service-{n}", "padding": "x" * 100}
        (folder / f"inputs/{n:06}.json").write_text(json.dumps(document))
    gate = ("-d", "p.rego", "-i", "inputs")
    # Once before, so that all of them find the files in memory.
    timed(folder, *gate)
    whole = timed(folder, *gate, "-o", "json=whole.json")
    print(f"1: {whole:.2f} s")
    for parts in (2, 4):
        names = [f"{part}-of-{parts}.json" for part in range(1, parts + 1)]
        times = [
            timed(folder, *gate, "--shard", f"{part}/{parts}", "-o", f"json={name}")
            for part, name in enumerate(names, 1)
        ]
        merge = timed(folder, "merge", *names, "-o", "json=merged.json")
        if report(folder, "merged.json") != report(folder, "whole.json"):
            sys.exit(f"the report of {parts} parts isn't that of the whole run")
        print(f"{parts}: {max(times):.2f} s, {whole / max(times):.2f} x; merged in {merge:.2f} s")
