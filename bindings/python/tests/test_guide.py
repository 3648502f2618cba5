"""The programs of the guide run as they are written."""

import pathlib
import re

ROOT = pathlib.Path(__file__).parents[3]


def test_the_programs_of_the_guide(environment, tmp_path, monkeypatch, capsys):
    guide = (ROOT / "docs/guides/embed.md").read_text(encoding="utf-8")
    section = guide[guide.index("\n## In Python") : guide.index("\n## If your program forks")]
    programs = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    assert len(programs) == 2
    (tmp_path / "policies").mkdir()
    policy = re.search(r"cat > policies/release.rego <<'END'\n(.*?)END\n", guide, re.DOTALL)
    (tmp_path / "policies/release.rego").write_text(policy[1])
    monkeypatch.chdir(tmp_path)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    names = {}
    for program in programs:
        exec(program, names)
    # The ledger that the second one prints.
    assert "platform.discover(" in capsys.readouterr().out
    # The empty input lacks what the policy reads, and can't pass.
    assert names["policies"].gate({"empty.json": {}})["outcome"] == "no_verdict"
