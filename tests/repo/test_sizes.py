"""The house stays small: files of one idea, rooms that can be read in a day, one name for one thing."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "errorfloor"
LINES_OF_A_FILE, LINES_OF_A_ROOM = 350, 6000
LATE = 40  # imports of ours inside functions: what most callers do not need, or what needs an extra


PUBLIC_CLASS = re.compile(r"^class ([^\W_]\w*)", re.M)
INDENTED = re.compile(r"^[ \t]+(from (errorfloor|\.)|import .*errorfloor)", re.M)


@pytest.fixture(scope="module")
def texts():
    return {path.relative_to(SOURCE): path.read_text() for path in sorted(SOURCE.rglob("*.py"))}


def lines_of(path):
    return len(path.read_text().splitlines())


def test_no_file_is_longer_than_one_idea():
    long = {str(path.relative_to(SOURCE)): lines_of(path) for path in SOURCE.rglob("*.py")}
    assert not {path: lines for path, lines in long.items() if lines > LINES_OF_A_FILE}, "split it by idea, or share"


def test_no_room_is_larger_than_a_reader_can_hold():
    rooms = {room.parent.name: sum(map(lines_of, room.parent.rglob("*.py"))) for room in SOURCE.glob("*/__init__.py")}
    assert not {room: lines for room, lines in rooms.items() if lines > LINES_OF_A_ROOM}


def test_no_two_public_classes_have_one_name(texts):
    places = defaultdict(list)
    for path, text in texts.items():
        for name in PUBLIC_CLASS.findall(text):
            places[name].append(str(path))
    assert len(places) > 300
    assert not {name: found for name, found in places.items() if len(found) > 1}


def test_few_of_our_imports_stand_inside_functions(texts):
    found = {
        (str(path), node.lineno)
        for path, text in texts.items()
        if INDENTED.search(text)  # reading all files into trees takes seconds
        for function in ast.walk(ast.parse(text))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if is_of_ours(node)
    }
    assert len(found) < LATE, sorted(found)


def is_of_ours(node):
    if isinstance(node, ast.ImportFrom):
        return node.level > 0 or (node.module or "").partition(".")[0] == "errorfloor"
    return isinstance(node, ast.Import) and any(one.name.partition(".")[0] == "errorfloor" for one in node.names)
