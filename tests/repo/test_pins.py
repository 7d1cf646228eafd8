"""The pins hold for every Python that is promised; ``make pins`` resolves them from the registry."""

import json
import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"].values()
PINS = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if line[:1] != "#")
PYTHONS = re.findall(r"Python :: (3\.\d+)\n", "\n".join(PROJECT["classifiers"]) + "\n")


def installed() -> dict[str, metadata.Distribution]:
    """Give what is installed of the pinned packages; one that this Python or system does not need is left out."""
    found = {}
    for name in PINS:
        try:
            found[name] = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def test_tests_run_with_the_pinned_versions():
    others = {name: (found.version, PINS[name]) for name, found in installed().items() if found.version != PINS[name]}
    assert not others, "installed, pinned: make clean, or touch constraints.txt, and make test again"


@pytest.mark.parametrize("package", ["duckdb", "sqlglot"])
def test_pin_is_the_newest_release_that_a_range_allows(package):
    ranges = {
        SpecifierSet(line.removeprefix(package)) for lines in EXTRAS for line in lines if line.startswith(package)
    }
    (only,) = ranges
    major, minor, *_ = map(int, PINS[package].split("."))
    assert only.contains(PINS[package]), "make ends tests the oldest; all other tests run with this one"
    assert not only.contains(f"{major}.{minor + 1}")


def test_oldest_and_newest_python_are_those_that_are_promised():
    assert PYTHONS == ["3.11", "3.12", "3.13", "3.14"]
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"


@pytest.mark.parametrize("python", [f"{python}.0" for python in PYTHONS])
def test_every_pin_holds_for_every_promised_python(python):
    found = installed()
    assert len(found) > 0.9 * len(PINS)
    needs = {name: one.metadata.get("Requires-Python", "") for name, one in found.items()}
    assert not {name: need for name, need in needs.items() if not SpecifierSet(need).contains(python)}


def test_the_editor_is_bundled_from_the_pinned_versions_with_their_licences():
    asked = json.loads((ROOT / "scripts" / "editor" / "package.json").read_text())
    heading = (ROOT / "src/errorfloor/server/pages/static/codemirror.js").read_text().partition("*/")[0]
    pins = asked["dependencies"] | asked["devDependencies"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in pins.values())
    named = dict(re.findall(r"^(\S+) (\d+\.\d+\.\d+)$", re.sub("; ", "\n", heading), re.M))
    assert named == asked["dependencies"], "run make editor"
    assert heading.count("Copyright") == heading.count("Permission is hereby granted") >= 1
