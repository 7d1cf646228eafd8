"""How many of our files a question passes through: a reader who follows it has to open so many, and no more."""

import sys
import threading
from pathlib import Path

import pytest

import errorfloor as ef
from errorfloor.catalogue import load
from errorfloor.identity import KeyRing
from errorfloor.service.example import CATALOGUE
from errorfloor.service.registering import register_all

ROOT = Path(ef.__file__).parent
OPTIMIZED = 0x1  # functions have it; bodies of modules and classes, which run once when they are imported, have not
QUESTION = "SELECT tariff, avg(kwh) AS mean FROM meters GROUP BY tariff"


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    folder = tmp_path_factory.mktemp("touched")
    rows = "".join(f"{i},{'ToU' if i % 4 == 0 else 'Std'},{7 + i % 13}\n" for i in range(100))
    (folder / "meters.csv").write_text(f"household,tariff,kwh\n{rows}")
    (folder / "errorfloor.toml").write_text(CATALOGUE.replace("floor = 2.0", "floor = 0.1"))
    KeyRing.create(folder / "keys.json")
    register_all(load(folder / "errorfloor.toml"))
    with ef.open(folder / "errorfloor.toml") as database:
        yield database


def touched(work):
    """Give the files of which a function is called, in whatever thread."""
    found = set()

    def note(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_flags & OPTIMIZED and Path(code.co_filename).is_relative_to(ROOT):
            found.add(str(Path(code.co_filename).relative_to(ROOT)))

    before = sys.getprofile()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
    return sorted(found)


def test_a_first_question_and_the_same_again_pass_through_few_files(town):
    first = touched(lambda: town.ask(QUESTION, max_error=0.5))
    again = touched(lambda: town.ask(QUESTION, max_error=0.5))
    assert len(first) <= 72, first  # with those that keep what is released
    assert len(again) <= 25, again
    assert set(again) < set(first)


def test_a_step_of_a_stream_passes_through_few_files(town):
    town.answer("cars", entity="a", trip="monday", step=0, measurement=[1.0])
    step = touched(lambda: town.answer("cars", entity="a", trip="monday", step=1, measurement=[1.0]))
    assert len(step) <= 15, step
