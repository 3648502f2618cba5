"""The command that the package installs, beside the binary."""

import os
import pathlib
import signal
import subprocess
import sys
import sysconfig

import pytest

from conftest import ROOT

SCRIPT = pathlib.Path(sysconfig.get_path("scripts")) / "rego-platform"


def run(program, *arguments):
    return subprocess.run([program, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["version"], 0),
        (["gate", "--local", "testdata/platform", "-d", "policies/*.rego", "-i", "testdata/inputs/release/pass.json"], 0),
        (["gate", "--local", "testdata/platform", "-d", "policies/*.rego", "-i", "testdata/inputs/release/fail.json"], 1),
        (["gate", "-d", "absent.rego", "-i", "absent.json"], 2),
        (["config", "show", "-d", "policies/*.rego"], 0),
        (["--unknown"], 2),
    ],
)
def test_outputs_and_statuses_are_the_binarys(command, arguments, status):
    ours, theirs = run(SCRIPT, *arguments), run(command, *arguments)
    assert (ours.returncode, theirs.returncode) == (status, status)
    assert ours.stdout == theirs.stdout
    assert ours.stderr == theirs.stderr


def test_arguments_that_are_no_text_arrive(command):
    ours, theirs = (run(program, "gate", "-d", b"\xff.rego", "-i", "x") for program in (SCRIPT, command))
    assert ours.returncode == 2
    assert ours.stderr == theirs.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it_as_they_end_the_binary(command, number, tmp_path):
    pipe = tmp_path / "input.json"
    os.mkfifo(pipe)
    statuses = []
    for program in (SCRIPT, command):
        # `eval` waits for its input and has no handler; `emulate` has one.
        with subprocess.Popen([program, "eval", "-i", pipe, "1"], stderr=subprocess.DEVNULL) as process:
            # The command has begun when it opens the pipe.
            with open(pipe, "w", encoding="utf-8"):
                os.kill(process.pid, number)
                statuses.append(process.wait(timeout=60))
        arguments = [program, "emulate", ROOT / "testdata/platform"]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            process.stdout.readline()
            os.kill(process.pid, number)
            statuses.append(process.wait(timeout=60))
    assert statuses[:2] == statuses[2:]
