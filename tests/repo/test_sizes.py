"""The house stays small: files of one idea, rooms that can be read in a day, one name for one thing."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "errorfloor"
LINES_OF_A_FILE, LINES_OF_A_ROOM = 350, 6000
LATE = 40  # imports of ours inside functions: what most callers do not need, or what needs an extra


@pytest.fixture(scope="module")
def trees():
    return {path.relative_to(SOURCE): ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}


def lines_of(path):
    return len(path.read_text().splitlines())


def test_no_file_is_longer_than_one_idea():
    long = {str(path.relative_to(SOURCE)): lines_of(path) for path in SOURCE.rglob("*.py")}
    assert not {path: lines for path, lines in long.items() if lines > LINES_OF_A_FILE}, "split it by idea, or share"


def test_no_room_is_larger_than_a_reader_can_hold():
    rooms = {room.parent.name: sum(map(lines_of, room.parent.rglob("*.py"))) for room in SOURCE.glob("*/__init__.py")}
    assert not {room: lines for room, lines in rooms.items() if lines > LINES_OF_A_ROOM}


def test_no_two_public_classes_have_one_name(trees):
    places = defaultdict(list)
    for path, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path))
    assert not {name: found for name, found in places.items() if len(found) > 1}


def test_few_of_our_imports_stand_inside_functions(trees):
    found = {
        (str(path), node.lineno)
        for path, tree in trees.items()
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if is_of_ours(node)
    }
    assert len(found) < LATE, sorted(found)


def is_of_ours(node):
    if isinstance(node, ast.ImportFrom):
        return node.level > 0 or (node.module or "").partition(".")[0] == "errorfloor"
    return isinstance(node, ast.Import) and any(one.name.partition(".")[0] == "errorfloor" for one in node.names)
