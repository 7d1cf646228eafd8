"""What the short runs leave out is declared and exists; the hosted runs test every Python that is promised."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MAKEFILE = (ROOT / "Makefile").read_text()
HOSTED = (ROOT / ".github" / "workflows" / "tests.yml").read_text()
DECLARED = {line.partition(":")[0] for line in PROJECT["tool"]["pytest"]["ini_options"]["markers"]}


def test_marks_that_commands_choose_by_are_declared():
    """Pytest takes a misspelt mark after -m for one that no test wears."""
    chosen = {word for told in re.findall(r'pytest .*-m "?([a-z ]+)', MAKEFILE) for word in told.split()}
    assert chosen - {"not", "and"} == DECLARED


def test_every_mark_is_worn_and_every_place_that_is_left_out_exists(request: pytest.FixtureRequest):
    left_out = next(
        plugin.LEFT_OUT for plugin in request.config.pluginmanager.get_plugins() if hasattr(plugin, "LEFT_OUT")
    )
    assert set(left_out) <= DECLARED
    places = [place for places in left_out.values() for place in places]
    assert places and not [place for place in places if not (ROOT / "tests" / place).exists()]


def test_hosted_runs_are_quick_on_every_promised_python_and_whole_on_one():
    promised = [line.rpartition(" ")[2] for line in PROJECT["project"]["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert re.search(r"python: \[(.*)\]", HOSTED)[1] == ", ".join(f'"{python}"' for python in promised)
    assert re.findall(r"- run: (.*)", HOSTED) == ["make quick", ".ci/run"]
    assert (ROOT / ".ci" / "run").read_text().splitlines()[-1] == "make --jobs=2 check test"


def test_contributors_are_told_what_each_command_is_for():
    told = (ROOT / "CONTRIBUTING.md").read_text()
    assert all(f"| `make {command}` |" in told for command in ("quick", "check", "test", "soak", "bench"))
