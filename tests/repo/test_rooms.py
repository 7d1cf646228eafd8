"""The docstring of every room tells a newcomer about files that are there."""

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "errorfloor"
ROOMS = sorted(path.parent for path in SOURCE.rglob("__init__.py"))
TERMS = {"paper", "init", "corr", "regr_slope"}  # a folder of a clone, a command, and words of SQL


def map_of(room):
    return ast.get_docstring(ast.parse((room / "__init__.py").read_text())) or ""


def parts_of(place):
    return {path.stem for path in place.iterdir() if path.suffix == ".py" or path.is_dir()} if place.is_dir() else set()


def words_of(*files):
    return set(re.findall(r"\w+", "".join(file.read_text() for file in files if file.name != "__init__.py")))


def leads_somewhere(name, room):
    """Whether a dotted name is a file, or something in one, seen from the room or from the package."""
    first, *rest = name.split(".")
    place = next((base / first for base in (room, SOURCE) if first in parts_of(base)), None)
    while place is not None and rest and rest[0] in parts_of(place):
        place /= rest.pop(0)
    if place is None or not rest:
        return place is not None
    if place.is_dir():
        return rest[0] in re.findall(r"\w+", (place / "__init__.py").read_text())
    return place.with_suffix(".py").is_file() and rest[0] in words_of(place.with_suffix(".py"))


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.relative_to(SOURCE.parent).as_posix())
def test_files_that_a_room_names_are_there(room):
    for name in re.findall(r"``([a-z_]+(?:\.\w+)+)``", map_of(room)):
        assert name.startswith("errorfloor.") or leads_somewhere(name, room), name
    known = parts_of(room) | parts_of(SOURCE) | words_of(*room.glob("*.py")) | TERMS
    known |= set(re.findall(r"\w+", (room / "__init__.py").read_text().replace(map_of(room), "")))
    assert not set(re.findall(r"``([a-z_]+)``", map_of(room))) - known, "mend the docstring of the room"


DOTTED = re.compile(r"``(?:errorfloor\.)?(([a-z_]+)(?:\.\w+)+)``")


def test_files_that_a_file_names_are_there():
    wrong, begins = [], parts_of(SOURCE)
    for file in SOURCE.rglob("*.py"):
        if not any(first in begins for _, first in DOTTED.findall(file.read_text())):
            continue  # the others need not be read into a tree
        for name, first in DOTTED.findall(documentation(file)):
            if first in begins and not leads_somewhere(name, file.parent):
                wrong.append((str(file.relative_to(SOURCE)), name))
    assert not wrong


def documentation(file):
    tree = ast.parse(file.read_text())
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    return "\n".join(ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, documented))


def test_every_room_says_what_it_is():
    assert not [room.name for room in ROOMS if len(map_of(room)) < 40]
