"""The public names are fixed, lazy, and documented with examples."""

import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import errorfloor as ef

NAMES = [
    "Ball",
    "Box",
    "Column",
    "Ellipsoid",
    "HalfLine",
    "Interval",
    "Orthant",
    "Polygon",
    "Polytope",
    "Reals",
    "__version__",
    "attacks",
    "connect",
    "design",
    "design_answer",
    "design_counts",
    "design_joint",
    "dp",
    "dynamics",
    "errors",
    "floor",
    "floors",
    "joint",
    "noise",
    "open",
    "plots",
    "policies",
    "random",
    "release",
    "streams",
    "support",
]
ROOMS = [
    "attacks",
    "bulk",
    "catalogue",
    "charging",
    "client",
    "designer",
    "dp",
    "dynamics",
    "engines",
    "errors",
    "floors",
    "joint",
    "identity",
    "ledger",
    "noise",
    "plots",
    "policies",
    "pricing",
    "random",
    "server",
    "service",
    "sql",
    "streams",
    "support",
    "vault",
]


def fresh(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_public_names_are_these():
    assert sorted(ef.__all__) == sorted(NAMES)
    assert dir(ef) == sorted(NAMES)
    for name in NAMES:
        assert getattr(ef, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'desing'"):
        ef.desing  # noqa: B018


def test_design_and_floor_are_functions_whatever_was_imported_before():
    every = [
        module.name for module in pkgutil.walk_packages(ef.__path__, "errorfloor.") if "__main__" not in module.name
    ]
    for first in ("", *every):
        code = (
            f"import {first or 'errorfloor'}; import errorfloor as ef; print(callable(ef.design), callable(ef.floor))"
        )
        if first in (
            "",
            "errorfloor.designer",
            "errorfloor.floors",
            "errorfloor.floors.build",
            "errorfloor.cli.design",
        ):
            assert fresh(code) == "True True", first
    for name in every:
        importlib.import_module(name)
    assert inspect.isfunction(ef.design)
    assert inspect.isfunction(ef.floor)


def test_importing_the_package_loads_nothing_heavy():
    heavy = ("numpy", "scipy", "matplotlib", "typer", "cryptography")
    assert fresh(f"import errorfloor, sys; print([m for m in {heavy} if m in sys.modules])") == "[]"


def test_designing_and_sampling_an_interval_does_not_load_what_it_does_not_need():
    heavy = ("scipy.optimize", "scipy.stats", "scipy.integrate", "matplotlib", "typer")
    action = "import errorfloor as ef, sys; ef.design(ef.Interval(0, 1)).sample(3)"
    assert fresh(f"{action}; print([m for m in {heavy} if m in sys.modules])") == "[]"


def public_objects():
    for room in ROOMS:
        module = importlib.import_module(f"errorfloor.{room}")
        names = getattr(module, "__all__", [n for n, v in vars(module).items() if inspect.isclass(v) and n[0] != "_"])
        for name in names:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                yield pytest.param(value, id=f"{room}.{name}")


@pytest.mark.parametrize("value", list(public_objects()))
def test_every_public_object_has_a_docstring_with_an_example(value):
    text = inspect.getdoc(value) or ""
    assert len(text) > 20
    if inspect.isclass(value) and inspect.isabstract(value):
        return  # an abstract class has no instance to show
    assert ">>> " in text


def test_no_two_public_classes_have_one_name():
    named = Counter(
        found
        for file in Path(ef.__file__).parent.rglob("*.py")
        for found in re.findall(r"^class ([A-Z]\w*)", file.read_text(encoding="utf-8"), re.M)
    )
    assert [name for name, count in named.items() if count > 1] == []
