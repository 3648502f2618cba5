"""The authentication context is that of the command: same outcome, same message, for the same cases."""

import base64
import json
import os
import pathlib
import subprocess
import sys
import time
import tomllib

import pytest

ROOT = pathlib.Path(__file__).parents[3]
CASES = json.loads((ROOT / "testdata/context.json").read_text(encoding="utf-8"))["cases"]
IMAGE = "sha256:8fa6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477"
MODEL = "sha256:c321d57bb3091416bdda4d3c170e77883f5db296d10d8985c4050fc06702c885"
HOST = """
from rego_platform import Service
service = Service.from_context()
print(json.dumps([service.call("discover", IMAGE, ""), service.call("download_artifact", MODEL)]))
"""
RUN = f"""
import json, sys
IMAGE, MODEL = {IMAGE!r}, {MODEL!r}
try:
    exec(sys.argv[1])
except Exception as error:
    print(json.dumps({{"error": str(error).split("\\nhelp: ")[0], "hint": error.hint}}))
"""


@pytest.fixture(scope="module")
def values(command, tmp_path_factory):
    folder = tmp_path_factory.mktemp("login")
    arguments = [command, "emulate", str(ROOT / "testdata/platform"), "--product", "chainloop"]
    arguments += ["--write-config", str(folder)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as emulator:
        exports = dict(emulator.stdout.readline()[7:].strip().split("=", 1) for _ in range(3))
        login = tomllib.loads((folder / "chainloop/config.toml").read_text())
        claims = json.dumps({"aud": "user-auth.chainloop", "exp": int(time.time()) - 3 * 3600 - 30})
        parts = [base64.urlsafe_b64encode(text.encode()).decode().rstrip("=") for text in ("{}", claims)]
        yield {
            "{grpc}": login["control-plane"]["api"],
            "{store}": login["artifact-cas"]["api"],
            "{token}": login["auth"]["token"],
            "{http}": exports["CHAINLOOP_CONTROLPLANE_URL"],
            "{base}": exports["CHAINLOOP_BASE_URL"],
            "{expired}": ".".join([*parts, "canary"]),
        }
        emulator.terminate()


# Python's standard library makes no certificate: those cases are the Rust host's.
@pytest.mark.parametrize(
    "case", [case for case in CASES if "{tls}" not in case.get("file", "")], ids=lambda case: case["name"]
)
def test_the_context_is_that_of_the_command(case, values, command, tmp_path):
    path = tmp_path / "chainloop/config.toml"

    def fill(text):
        for name, value in {**values, "{config}": str(path), "{folder}": str(path.parent)}.items():
            text = text.replace(name, value)
        return text

    path.parent.mkdir()
    if case.get("as") == "folder":
        path.mkdir()
    elif case.get("as") == "link":
        (tmp_path / "elsewhere").write_text(fill(case["file"]))
        path.symlink_to(tmp_path / "elsewhere")
    elif "file" in case:
        padding = "#" + "x" * (2 << 20) if case.get("as") == "2 MiB" else ""
        path.write_text(fill(case["file"]) + padding)
    environment = {
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path),
        "REGO_PLATFORM_PRODUCT": "chainloop",
        # Nothing listens there: no test reaches a hosted service. Loopback is never proxied.
        "HTTPS_PROXY": "http://127.0.0.1:1",
        **{name: fill(value) for name, value in case.get("environment", {}).items()},
    }

    def run(*arguments):
        return subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False)

    function = case.get("call", "discover")
    host = HOST if function == "discover" else f"{HOST[: HOST.index('print')]}service.call('{function}', {{}})"
    ran = run(sys.executable, "-c", RUN, host)
    assert "canary" not in ran.stdout + ran.stderr
    found = json.loads(ran.stdout)
    called = [run(command, "call", *arguments) for arguments in ([function, IMAGE, ""], ["download_artifact", MODEL])]
    if "error" not in case:
        assert found == [json.loads(one.stdout) for one in called]
        return
    assert fill(case["error"]) in found["error"]
    if function != "discover":
        called = [run(command, "call", function)]
    assert called[0].returncode == 2
    assert f"error: {found['error']}\n" in called[0].stderr
    if found["hint"]:
        assert f"help: {found['hint']}" in called[0].stderr


def test_the_origins_never_have_the_token(values, tmp_path):
    (tmp_path / "chainloop").mkdir()
    path = tmp_path / "chainloop/config.toml"
    path.write_text(f"auth.token = '{values['{token}']}'\ncontrol-plane.api = 'a.example:443'\n")
    script = "from rego_platform import Service; print(Service.from_context(product='chainloop').origins())"
    environment = {"XDG_CONFIG_HOME": str(tmp_path), "HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    ran = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert eval(ran.stdout) == [
        ("product", "chainloop", "the program"),
        ("token", "(set)", f"`auth.token` in `{path}`"),
        ("control-plane.api", "a.example:443", f"`control-plane.api` in `{path}`"),
    ]
