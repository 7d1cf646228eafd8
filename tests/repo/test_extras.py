"""Without an extra, every public name and every command says which to install; what it says is enough."""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import errorfloor as ef
from town import write_town

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
WITHOUT = """
import sys, json
from importlib.machinery import PathFinder
hidden = set(json.loads(sys.argv[1]))
class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.split(".")[0] in hidden else PathFinder.find_spec(name, path, target)
sys.meta_path[sys.meta_path.index(PathFinder)] = Without
"""
NAMES = """
import errorfloor as ef
found = {}
for name in ef.__all__:
    try:
        getattr(ef, name)
    except Exception as problem:
        found[name] = [type(problem).__name__, str(problem)]
print(json.dumps(found))
"""
COMMANDS = """
import contextlib, io, traceback
from errorfloor.cli import run
found = {}
for line in json.loads(sys.argv[2]):
    sys.argv = ["errorfloor", *line]
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            run()
    except SystemExit as ended:
        found[" ".join(line)] = [ended.code, said.getvalue()]
    except BaseException:
        found[" ".join(line)] = [None, traceback.format_exc()]
print(json.dumps(found))
"""


def brought(requirements: Iterable[str]) -> set[str]:
    """Give the distributions that pip installs for requirements: these, what they need, and so on."""
    found, open_ = set(), [Requirement(line) for line in requirements]
    while open_:
        wanted = open_.pop()
        if wanted.name == "errorfloor":
            open_ += [Requirement(line) for extra in wanted.extras for line in EXTRAS[extra]]
        elif canonicalize_name(wanted.name) not in found:
            found.add(canonicalize_name(wanted.name))
            needs = map(Requirement, metadata.requires(wanted.name) or [])
            environments = [{"extra": extra} for extra in (wanted.extras or {""})]
            open_ += [one for one in needs if not one.marker or any(map(one.marker.evaluate, environments))]
    return found


def hidden(extras: Iterable[str]) -> list[str]:
    """Give the modules that would be missing where errorfloor is installed with these extras."""
    there = brought([*PROJECT["dependencies"], *(line for extra in extras for line in EXTRAS[extra])])
    absent = brought(EXTRAS["all"]) - there
    owners = metadata.packages_distributions().items()
    return sorted(module for module, names in owners if {canonicalize_name(name) for name in names} <= absent)


def with_only(extras: set[str], program: str, *arguments: object, cwd: Path | None = None) -> dict:
    """Run a program in an interpreter that finds what these extras install, and no other optional package."""
    command = [sys.executable, "-c", WITHOUT + program, *(json.dumps(one) for one in (hidden(extras), *arguments))]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_every_public_name_says_which_extra_it_needs_until_it_has_it():
    extras: set[str] = set()
    found = with_only(extras, NAMES)
    assert set(found) == {"Column", "attacks", "connect", "open", "release", "streams"}, (
        "what only computes needs no extra"
    )
    while found:
        assert {kind for kind, _ in found.values()} == {"MissingExtraError"}, found
        advised = {re.search(r"pip install 'errorfloor\[(\w+)\]'", message)[1] for _, message in found.values()}
        assert not advised <= extras, found
        extras |= advised
        found = with_only(extras, NAMES)
    assert extras == {"sql", "bulk", "client"}


LINES = [
    ["demo", "--output", "demo"],
    ["init", "--source", "meters.parquet", "--output", "new.toml"],
    ["register"],
    ["price", "SELECT avg(kwh) FROM meters", "--max-error", "1"],
    ["ask", "SELECT avg(kwh) FROM meters", "--max-error", "1"],
    ["release", "meters.parquet", "out.parquet", "--column", "kwh", "--noise=-1..1", "--range=0..50", "--batch", "1"],
    ["audit"],
    ["ledger", "show"],
    ["serve"],
]


def test_every_command_says_which_extra_it_needs(tmp_path):
    write_town(tmp_path)
    found = with_only({"cli"}, COMMANDS, LINES, cwd=tmp_path)
    for line, (code, said) in found.items():
        assert code == ef.errors.MissingExtraError.exit_code, (line, said)
        assert re.search(r"pip install 'errorfloor\[(sql|bulk|server)\]'", said), (line, said)


def test_without_any_extra_the_command_line_says_how_to_install_it():
    found = with_only(set(), COMMANDS, [["demo"]])
    assert found["demo"] == [1, "errorfloor: this needs typer, which is not installed: pip install 'errorfloor[cli]'\n"]


def test_commands_that_compute_need_the_command_line_alone():
    lines = [["design", "--support", "-1..1"], ["counts", "--max-noise", "3", "--variance", "2", "--keep-zero"]]
    assert [code for code, _ in with_only({"cli"}, COMMANDS, lines).values()] == [0, 0]


def test_a_file_is_released_without_what_questions_need(tmp_path):
    (tmp_path / "meters.csv").write_text("home,kwh\n1,7.5\n2,9.0\n")
    lines = [["keys", "create", "--file", "keys.json"], ["release", "meters.csv", "out.csv", "--column", "kwh"]]
    lines[1] += ["--noise=-1..1", "--range=0..50", "--batch", "1", "--key", "home", "--keys", "keys.json"]
    found = with_only({"cli", "bulk"}, COMMANDS, lines, cwd=tmp_path)
    assert [code for code, _ in found.values()] == [0, 0], found
    assert (tmp_path / "out.csv").exists()


def test_the_demo_leaves_out_pictures_that_it_cannot_draw(tmp_path):
    ((code, said),) = with_only({"cli", "sql"}, COMMANDS, [["demo", "--output", "demo"]], cwd=tmp_path).values()
    assert code == 0, said
    assert "no pictures were drawn: this needs matplotlib" in said and "pip install 'errorfloor[plots]'" in said
    assert not list(tmp_path.glob("demo/*.png"))
