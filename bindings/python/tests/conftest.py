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


def emulated(command, *options):
    """Runs the emulator, and yields the variables with which its account asks it."""
    arguments = [command, "emulate", str(ROOT / "testdata/platform"), *options]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as emulator:
        variables = {}
        while len(variables) < 3:
            name, _, value = emulator.stdout.readline().removeprefix("export ").strip().partition("=")
            variables[name] = value.strip("'\"")
        yield variables
        emulator.terminate()


def of(environment):
    """Returns the service of these variables."""
    return Service(
        token=environment["PLATFORM_TOKEN"],
        controlplane_url=environment["PLATFORM_CONTROLPLANE_URL"],
        base_url=environment["PLATFORM_BASE_URL"],
    )


@pytest.fixture(scope="session")
def environment(command):
    """The variables of an emulator."""
    yield from emulated(command)


@pytest.fixture
def service(environment):
    return of(environment)


@pytest.fixture(scope="session")
def slow_environment(command):
    """The variables of an emulator that takes three seconds for `evidence`, and ten for `discover`."""
    yield from emulated(command, "--fault", "evidence:latency=3s", "--fault", "discover:latency=10s")


@pytest.fixture
def slow(slow_environment):
    return of(slow_environment)
