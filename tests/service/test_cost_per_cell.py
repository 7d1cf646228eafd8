"""Ten times as many cells take the interpreter about as many steps: what grows is inside NumPy, Arrow and the engine.

Steps are bytecodes of this package, counted, not timed.
"""

import gc
import sys
import weakref
from pathlib import Path

import duckdb
import pytest

import errorfloor
from errorfloor.access.size import reply_bytes
from errorfloor.answering.known import Known
from errorfloor.catalogue import Catalogue
from errorfloor.engines import open_engine
from errorfloor.engines.duckdb import DuckDBEngine
from errorfloor.identity import KeyRing
from errorfloor.ledger import MemoryLedger
from errorfloor.preparing.cell_noise import MOST_LEVELS
from errorfloor.pricing.facts import FactsCache
from errorfloor.server.statements import json_parts
from errorfloor.service import Database
from errorfloor.service.registering import enter_all
from houses import register_house

HOME = str(Path(errorfloor.__file__).parent)
FEW, MANY = 1000, 10_000
SPARE = 3000  # steps that may come on top for 9,000 more cells: a third of a step each
QUESTIONS = {
    "numbers": "SELECT n_{0}, avg(kwh) AS a, count(*) AS n FROM readings GROUP BY n_{0}",
    "texts": "SELECT t_{0}, var_pop(kwh) AS a FROM readings GROUP BY t_{0}",
    "dates": "SELECT d_{0}, sum(kwh) AS a, avg(rooms) AS b FROM readings GROUP BY d_{0}",
    "weights": "SELECT n_{0}, sum(kwh * weight) AS a FROM readings GROUP BY n_{0}",
    "public covariance": "SELECT n_{0}, covar_pop(kwh, weight) AS a FROM readings GROUP BY n_{0}",
    "ordered": "SELECT t_{0}, avg(kwh) AS a FROM readings GROUP BY t_{0} ORDER BY a DESC",
    "constant": "SELECT n_{0}, avg(kwh * 1e-30) AS a FROM readings GROUP BY n_{0}",
}

GROWTH = {
    "by day": {"column": "day", "part": "month"},
    "by moment": {"column": "moment", "part": "month"},
    "by batch": {"column": "batch"},
}


def steps_of(work):
    """Count the bytecodes of this package that some work runs."""
    found = 0

    def each(frame, event, argument):
        nonlocal found
        found += event == "opcode"
        return each

    def begun(frame, event, argument):
        if not frame.f_code.co_filename.startswith(HOME):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return each

    before = sys.gettrace()
    sys.settrace(begun)
    try:
        work()
    finally:
        sys.settrace(before)
    return found


@pytest.fixture(scope="module", params=[False, True], ids=["without owners", "with owners"])
def readings(request, tmp_path_factory):
    owner = {"owner": {"column": "who", "floor": 0.01}} if request.param else {}
    with opened(tmp_path_factory.mktemp("readings"), **owner) as database:
        yield database


@pytest.fixture(scope="module", params=GROWTH)
def growing(request, tmp_path_factory):
    growth = GROWTH[request.param]
    with opened(tmp_path_factory.mktemp("growing"), grows_by=growth, row_key=["id", growth["column"]]) as database:
        yield database


def opened(folder, **declared):
    keys = [
        f"{sql.format(n)} AS {name}_{n}"
        for n in (FEW, MANY)
        for name, sql in (
            ("n", "(range % {})::INT"),
            ("t", "'town ' || (range % {})"),
            ("d", "DATE '2020-01-01' + (range % {})::INT"),
        )
    ]
    months = "make_date(2024, (1 + range % 4)::INT, 5)"
    duckdb.sql(
        f"COPY (SELECT range AS id, range // 3 AS who, {', '.join(keys)}, (range % 6)::INT AS rooms, "
        f"(range * 7919 % 100003)::INT AS weight, {months} AS day, {months} + to_hours(range % 4) AS moment, "
        f"'batch ' || (range % 4) AS batch, round(50 * random(), 3) AS kwh FROM range({2 * MANY})) "
        f"TO '{folder}/readings.parquet' (FORMAT parquet)"
    )
    types = {"n": "whole", "t": "text", "d": "date"}
    table = {
        "source": "readings.parquet",
        "version": "1",
        "row_key": ["id"],
        "public": dict.fromkeys(("id", "who", "rooms", "weight"), "whole")
        | {"day": "date", "moment": "moment", "batch": "text"}
        | {f"{name}_{n}": kind for n in (FEW, MANY) for name, kind in types.items()},
        "private": {"kwh": {"range": [0, 50], "resolution": 0.001, "floor": 0.5}},
        **declared,
    }
    catalogue = Catalogue.model_validate({"tables": {"readings": table}, "folder": folder})
    keys = KeyRing.create(folder / "keys.json")
    register_house(catalogue)
    engine = open_engine(catalogue.place, folder, read_only=True)
    ledger = MemoryLedger()
    enter_all(ledger, engine)
    return Database(catalogue, engine=engine, ledger=ledger, keys=keys)


@pytest.mark.parametrize("question", QUESTIONS)
def test_more_cells_take_no_more_steps_of_the_interpreter(readings, question):
    found = {}
    for cells in (FEW, MANY):
        text = QUESTIONS[question].format(cells)
        readings.ask(text, max_error=1e9)  # what is loaded once, and designed once
        readings._known = Known()
        readings.ledger.forget(lambda kept: True)  # those asked later would look through more
        found[cells] = steps_of(lambda text=text: readings.ask(text, max_error=1e9 - 1))
    assert found[FEW] > 10_000  # steps are counted
    assert found[MANY] - found[FEW] < SPARE / 6


def test_cells_of_parts_take_no_more_steps_of_the_interpreter_however_they_are_asked(growing):
    column = growing.catalogue.tables["readings"].grows_by.column
    found = {}
    for cells in (FEW, MANY):
        text = f"SELECT n_{cells}, {column}, avg(kwh) AS a, count(*) AS n FROM readings GROUP BY n_{cells}, {column}"
        growing.ask(text, max_error=1e9)
        assert len(growing.price(text, max_error=1e9).prepared.plan.snapshots[0].parts) == 4
        growing._known = Known()
        growing.ledger.forget(lambda kept: True)
        bounds = {"a new text": 1e9 + 1, "a text seen before": 1e9 + 2, "the same again": 1e9 + 2}
        found[cells] = {
            what: steps_of(lambda text=text, bound=bound: growing.ask(text, max_error=bound))
            for what, bound in bounds.items()
        }
        growing._known = Known()
        found[cells]["the same after a restart"] = steps_of(lambda text=text: growing.ask(text, max_error=1e9 + 2))
    for what, steps in found[FEW].items():
        assert steps > 4000
        assert found[MANY][what] - steps < SPARE / 6, what


def test_levels_of_noise_are_few_however_many_kinds_of_cells_there_are(readings):
    text = QUESTIONS["weights"].format(MANY)
    found = steps_of(lambda: readings.ask(text, spend=0.01))
    levels = len(readings.price(text, spend=0.01).prepared.outputs[0].added.each)
    assert 1 < levels <= MOST_LEVELS < MANY
    assert found < 2000 * levels + 200_000


@pytest.mark.parametrize("question", ["numbers", "texts", "dates"])
def test_a_longer_reply_takes_a_few_more_steps_for_thousands_of_rows(readings, question):
    found = {}
    for cells in (FEW, MANY):
        answer = readings.ask(QUESTIONS[question].format(cells), max_error=1e9)
        found[cells] = steps_of(lambda answer=answer: [reply_bytes(answer.prepared), *json_parts(answer)])
    assert found[MANY] - found[FEW] < SPARE


def test_a_text_seen_before_is_scanned_once_though_there_is_no_room_for_its_facts(readings, monkeypatch):
    scans, query = [], DuckDBEngine.query
    monkeypatch.setattr(DuckDBEngine, "query", lambda self, sql: scans.append(sql) or query(self, sql))
    room = 15 if readings.catalogue.tables["readings"].owner is None else 30  # for plan and answer, not for facts too
    readings._known = Known(facts=FactsCache(most=room * MANY))
    text = QUESTIONS["numbers"].format(MANY)
    readings.ledger.forget(lambda kept: True)  # what others asked would be given again
    readings.ask(text, max_error=7e9)
    for bound in (6e9, 5e9):
        scans.clear()
        readings.ask(text, max_error=bound)
        assert len([sql for sql in scans if "GROUP BY" in sql]) == 1


def test_what_is_kept_of_many_questions_stays_within_one_bound(readings):
    readings._known = Known(facts=FactsCache(most=40 * MANY))
    made = []
    for bound in range(20):
        text = f"SELECT n_{MANY}, avg(kwh) + {bound} AS a FROM readings GROUP BY n_{MANY}"
        made.append(weakref.ref(readings.ask(text, max_error=1e9).prepared.plan))
    gc.collect()
    assert sum(one() is not None for one in made) <= 6
