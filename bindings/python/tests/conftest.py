"""The service of the repository's data set, run by the command."""

import os
import pathlib
import subprocess

import pytest

from rego_platform import Service

ROOT = pathlib.Path(__file__).parents[3]


@pytest.fixture(scope="session")
def command():
    """The command `rego-platform`: `cargo build` puts it there."""
    return os.environ.get("REGO_PLATFORM", str(ROOT / "target/debug/rego-platform"))


@pytest.fixture(scope="session")
def environment(command):
    """The variables with which the emulator's account asks it."""
    arguments = [command, "emulate", str(ROOT / "testdata/platform")]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as emulator:
        variables = {}
        while len(variables) < 3:
            name, _, value = emulator.stdout.readline().removeprefix("export ").strip().partition("=")
            variables[name] = value.strip("'\"")
        yield variables
        emulator.terminate()


@pytest.fixture
def service(environment):
    return Service(
        token=environment["PLATFORM_TOKEN"],
        controlplane_url=environment["PLATFORM_CONTROLPLANE_URL"],
        base_url=environment["PLATFORM_BASE_URL"],
    )
