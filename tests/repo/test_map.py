"""The map in the documentation shows the import graph, and a real question passes its stops."""

import importlib.util
import sys
from pathlib import Path

import pytest

from town import open_town, write_town

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "write_map.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("write_map", SCRIPT)
    module = sys.modules["write_map"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def rooms(script):
    return script.imports()


def test_the_picture_is_that_of_the_import_graph(script, rooms):
    assert script.TARGET.read_text() == script.drawing(rooms), "run python scripts/write_map.py"


def test_lines_and_what_follows_from_them_are_all_imports(script, rooms):
    lines = script.reduced(rooms)
    assert {room: script.below(lines, room) for room in rooms} == {room: script.below(rooms, room) for room in rooms}
    assert all(
        there not in script.below(lines, other) for room in rooms for there in lines[room] for other in lines[room]
    )


def test_no_room_is_drawn_over_another_and_no_line_through_one(script, rooms):
    plan = script.layout(script.reduced(rooms))
    middles = list(plan.rooms.values())
    for number, (x, y) in enumerate(middles):
        assert all(abs(x - other) >= script.WIDTH for other, level in middles[:number] if level == y)
    for points in plan.lines:
        for x, y in points[1:-1]:
            assert all(abs(x - other) > script.WIDTH / 2 for other, level in middles if level == y)


def test_a_question_passes_the_stops_of_the_map_in_their_order(script, tmp_path):
    write_town(tmp_path / "town")
    called = []

    def note(frame, event, _):
        folder = Path(frame.f_code.co_filename).parts
        if event == "call" and "errorfloor" in folder:
            called.append((folder[len(folder) - folder[::-1].index("errorfloor")], frame.f_code.co_name))

    with open_town(tmp_path / "town") as database:
        before = sys.getprofile()
        sys.setprofile(note)
        try:
            database.ask(
                "SELECT tariff, avg(kwh) AS mean FROM meters GROUP BY tariff", max_error=5.4321
            )  # never asked for before
        finally:
            sys.setprofile(before)
    after = iter(called)
    for stop in script.PATH:
        assert (stop.room, stop.function) in after, f"{stop} is not reached: mend PATH in scripts/write_map.py"
