"""What registration keeps, what it refuses, and that a refusal leaves nothing."""

import datetime
import math
import os
import signal
import subprocess
import sys
import textwrap
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from errorfloor import vault
from errorfloor.catalogue.model import Catalogue
from errorfloor.engines import open_engine
from errorfloor.engines.duckdb_folder import DuckDBFolder
from errorfloor.errors import CatalogueError, EngineError

KWH = {"range": [0, 50], "resolution": 0.001, "floor": 2.0}
SECRET = 31.41592


def write(place, **columns):
    rows = {"meter": ["a", "b", "c"], "day": [1, 2, 3], "kwh": [1.0, SECRET, 99.0]} | columns
    pq.write_table(pa.table(rows), place.folder / "meters.parquet")


def declare(place, **changes):
    table = {
        "source": "meters.parquet",
        "version": "2024-06",
        "row_key": ["meter", "day"],
        "public": {"meter": "text", "day": "whole"},
        "private": {"kwh": KWH},
    }
    return Catalogue(place=place.place, tables={"meters": table | changes}, folder=place.folder)


def register(place, catalogue, name="meters", **options):
    with open_engine(place.place, place.folder, read_only=False) as engine:
        return vault.register(catalogue, name, engine=engine, **options)


def kept(place):
    with open_engine(place.place, place.folder, read_only=False) as engine:
        return engine.known()


def rows_of(place, snapshot):
    with open_engine(place.place, place.folder) as engine:
        return engine.query(f"SELECT p0, p1, x0 FROM {snapshot.relation} ORDER BY p0").to_pydict()


def test_snapshot_holds_declared_columns_under_physical_names(engine_place):
    write(engine_place, undeclared=[1, 2, 3])
    done = register(engine_place, declare(engine_place))
    assert (done.fresh, done.snapshot.rows) == (True, 3)
    assert done.snapshot.columns == {"meter": "p0", "day": "p1", "kwh": "x0"}
    assert done.snapshot.extent == {"day": (1, 3)}
    with open_engine(engine_place.place, engine_place.folder) as engine:
        found = vault.snapshot(declare(engine_place), "meters", engine)
        assert found == done.snapshot
        table = engine.query(f"SELECT * FROM {found.relation} ORDER BY p0")
    assert table.to_pydict() == {"p0": ["a", "b", "c"], "p1": [1, 2, 3], "x0": [1000, 31416, 50000]}


def test_same_source_again_is_not_fresh(engine_place):
    write(engine_place)
    first = register(engine_place, declare(engine_place))
    write(engine_place, meter=["c", "a", "b"], day=[3, 1, 2], kwh=[99.0, 1.0, SECRET])
    again = register(engine_place, declare(engine_place))
    assert (again.fresh, again.snapshot.rows) == (False, 3)
    assert again.snapshot == first.snapshot


CHANGES = {
    "value": {"kwh": [1.0, SECRET, 3.0]},
    "a row twice instead of another": {"meter": ["a", "b", "b"], "day": [1, 2, 2], "kwh": [1.0, SECRET, SECRET]},
    "fewer rows": {"meter": ["a", "b"], "day": [1, 2], "kwh": [1.0, SECRET]},
    "key": {"meter": ["a", "b", "d"]},
}


def test_changed_source_without_new_version_is_refused(engine_place):
    write(engine_place)
    first = register(engine_place, declare(engine_place))
    before = rows_of(engine_place, first.snapshot)
    for name, change in CHANGES.items():
        write(engine_place, **change)
        with pytest.raises(CatalogueError, match="Declare a new version") as refusal:
            register(engine_place, declare(engine_place))
        assert str(SECRET) not in str(refusal.value), name
        assert rows_of(engine_place, first.snapshot) == before, name
    assert register(engine_place, declare(engine_place, version="2024-07")).fresh
    assert len(kept(engine_place)) == 2


@pytest.mark.parametrize("missing", [None, math.nan], ids=["null", "nan"])
def test_forbidden_null_is_refused_without_a_trace_of_it(engine_place, missing):
    write(engine_place, kwh=[1.0, SECRET, missing])
    with pytest.raises(
        CatalogueError, match="meters: the source has nulls in kwh, declared with nulls = 'forb"
    ) as refusal:
        register(engine_place, declare(engine_place))
    assert str(SECRET) not in str(refusal.value) + str(refusal.value.fields)
    assert refusal.value.__context__ is None
    assert kept(engine_place) == []


@pytest.mark.parametrize("missing", [None, math.nan], ids=["null", "nan"])
def test_null_rules_public_and_impute(engine_place, missing):
    write(engine_place, kwh=[1.0, missing, -math.inf])
    public = register(engine_place, declare(engine_place, private={"kwh": KWH | {"nulls": "public"}}))
    assert rows_of(engine_place, public.snapshot)["x0"] == [1000, None, 0]
    private = {"kwh": KWH | {"nulls": "impute", "impute": 0.5}}
    imputed = register(engine_place, declare(engine_place, version="2", private=private))
    assert rows_of(engine_place, imputed.snapshot)["x0"] == [1000, 500, 0]


BROKEN = [
    ({"day": [1, None, 3]}, "row key .* null"),
    ({"meter": ["a", "a", "c"], "day": [1, 1, 3]}, "row key .* not unique"),
    ({"day": [1, 2, 2**40 + 1]}, "declared 'whole'"),
    ({"day": [1, 2, -(2**63)]}, "declared 'whole'"),
    ({"day": [1.0, 2.5, 3.0]}, "declared 'whole'"),
    ({"day": [1.0, 2.0, math.inf]}, "declared 'whole'"),
    ({"day": ["1", "2", "3"]}, "another type"),
    ({"kwh": ["1", "2", "3"]}, "private, a number, and its source holds another type"),
    ({"kwh": [True, False, True]}, "another type"),
]


def test_source_that_breaks_its_declaration_leaves_nothing(engine_place):
    for change, words in BROKEN:
        write(engine_place, **change)
        with pytest.raises(CatalogueError, match=words):
            register(engine_place, declare(engine_place))
        assert kept(engine_place) == [], change
    write(engine_place)
    assert register(engine_place, declare(engine_place)).fresh


ORDERS = {
    "in order": (["a", "a", "b", "b"], [1, 2, 1, 2], True),
    "in another order": (["b", "a", "b", "a"], [2, 1, 1, 2], True),
    "the same beside each other": (["a", "a", "a", "b"], [1, 2, 2, 1], False),
    "the same far apart": (["b", "a", "a", "b"], [1, 1, 2, 1], False),
    "the same at the end": (["a", "a", "b", "b"], [1, 2, 1, 1], False),
    "falling": (["b", "b", "a", "a"], [2, 1, 2, 1], True),
}


def test_keys_are_unique_or_not_whatever_the_order_of_rows(engine_place):
    for number, (order, (meter, day, unique)) in enumerate(ORDERS.items()):
        write(engine_place, meter=meter, day=day, kwh=[1.0] * 4)
        catalogue = declare(engine_place, version=str(number))
        if unique:
            assert register(engine_place, catalogue).snapshot.rows == 4, order
        else:
            with pytest.raises(CatalogueError, match="not unique"):
                register(engine_place, catalogue)


def test_rows_in_the_order_of_their_key_are_not_collected_to_compare_them(duckdb_place, monkeypatch):
    asked = []
    query = DuckDBFolder.query
    monkeypatch.setattr(DuckDBFolder, "query", lambda self, sql: asked.append(sql) or query(self, sql))
    size = 300_000  # more than one group of rows, which threads share
    for version, days in (("1", range(size)), ("2", [*range(size - 1), size - 3])):
        write(duckdb_place, meter=["a"] * size, day=days, kwh=[1.0] * size)
        asked.clear()
        if version == "1":
            register(duckdb_place, declare(duckdb_place, version=version))
        else:
            with pytest.raises(CatalogueError, match="not unique"):
                register(duckdb_place, declare(duckdb_place, version=version))
        assert any("DISTINCT" in sql for sql in asked) == (version == "2")


def test_rows_in_another_order_are_told_apart_by_hashes_of_their_keys(duckdb_place, monkeypatch):
    asked = []
    query = DuckDBFolder.query
    monkeypatch.setattr(DuckDBFolder, "query", lambda self, sql: asked.append(sql) or query(self, sql))
    size = 3000
    days = [(place * 7919) % size for place in range(size)]
    for number, at_once in enumerate([2**25, 1000, 400]):  # in one part, in four, and in as many as there may be
        monkeypatch.setattr("errorfloor.vault.row_keys.AT_ONCE", at_once)
        write(duckdb_place, meter=["a", "b"] * (size // 2), day=days, kwh=[1.0] * size)
        asked.clear()
        assert register(duckdb_place, declare(duckdb_place, version=str(number))).snapshot.rows == size
        assert not any("DISTINCT" in sql for sql in asked)
        write(duckdb_place, meter=["a"] * size, day=[*days[:-1], days[5]], kwh=[1.0] * size)
        with pytest.raises(CatalogueError, match="not unique"):
            register(duckdb_place, declare(duckdb_place, version=f"{number} again"))


def test_whole_numbers_that_lie_close_together_are_ticked_off_without_a_hash(duckdb_place, monkeypatch):
    asked = []
    query = DuckDBFolder.query
    monkeypatch.setattr(DuckDBFolder, "query", lambda self, sql: asked.append(sql) or query(self, sql))
    size, whole = 3000, {"public": {"meter": "whole", "day": "whole"}}
    places = [(place * 7919) % size for place in range(size)]
    meters, days = [place % 60 - 30 for place in places], [2**31 + place // 60 for place in places]
    for number, at_once in enumerate([2**25, 1000, 400]):
        monkeypatch.setattr("errorfloor.vault.row_keys.AT_ONCE", at_once)
        write(duckdb_place, meter=meters, day=days, kwh=[1.0] * size)
        asked.clear()
        assert register(duckdb_place, declare(duckdb_place, version=str(number), **whole)).snapshot.rows == size
        write(duckdb_place, meter=[*meters[:-1], meters[7]], day=[*days[:-1], days[7]], kwh=[1.0] * size)
        with pytest.raises(CatalogueError, match="not unique"):
            register(duckdb_place, declare(duckdb_place, version=f"{number} again", **whole))
        assert not any("DISTINCT" in sql or "hash(p" in sql for sql in asked)
        write(duckdb_place, meter=meters, day=[*days[:-1], 9 * size], kwh=[1.0] * size)  # too many possible keys
        assert register(duckdb_place, declare(duckdb_place, version=f"{number} far", **whole)).snapshot.rows == size
        assert any("hash(p" in sql for sql in asked)


def test_keys_that_come_in_steps_are_divided_as_evenly_as_others(duckdb_place, monkeypatch):
    monkeypatch.setattr("errorfloor.vault.row_keys.AT_ONCE", 500)
    monkeypatch.setattr("errorfloor.vault.row_keys.PASSES", 100)
    read, found = DuckDBFolder.query, []
    monkeypatch.setattr(DuckDBFolder, "query", lambda self, sql: found.append((sql, read(self, sql))) or found[-1][1])
    size, whole = 3500, {"public": {"meter": "whole", "day": "whole"}}
    order = [(place * 7919) % size for place in range(size)]
    for step in (1, 2, 7, 8, 1000):  # the last are too far apart for a list
        found.clear()
        write(duckdb_place, meter=[3] * size, day=[place * step for place in order], kwh=[1.0] * size)
        catalogue = declare(duckdb_place, version=str(step), **whole)
        assert register(duckdb_place, catalogue).snapshot.rows == size
        counts = [table.num_rows for sql, table in found if " AS n FROM" in sql and "WHERE" in sql]
        assert len(counts) == 8 and sum(counts) == size
        assert max(counts) < 1.3 * size / 8, (step, counts)  # of 437, with a deviation of 20


def test_more_rows_than_possible_keys_are_refused_unread(duckdb_place, monkeypatch):
    monkeypatch.setattr("errorfloor.vault.row_keys._numbers", None)
    write(duckdb_place, meter=[2, 1, 2, 1, 2], day=[2, 2, 1, 1, 1], kwh=[1.0] * 5)
    with pytest.raises(CatalogueError, match="not unique"):
        register(duckdb_place, declare(duckdb_place, public={"meter": "whole", "day": "whole"}))


def test_keys_whose_hashes_are_the_same_are_compared_themselves(duckdb_place, monkeypatch):
    monkeypatch.setattr(DuckDBFolder.dialect, "hashed", lambda columns: "CAST(7 AS UBIGINT)", raising=False)
    write(duckdb_place, meter=["b", "a", "c"], day=[1, 2, 3])
    assert register(duckdb_place, declare(duckdb_place)).snapshot.rows == 3


def test_public_number_beyond_two_to_the_forty_steps_is_refused(duckdb_place):
    public = {"meter": "text", "day": {"type": "number", "resolution": 0.5}}
    write(duckdb_place, day=[0.0, 1.0, 2.0**39])
    assert register(duckdb_place, declare(duckdb_place, public=public)).snapshot.extent == {"day": (0, 2**40)}
    write(duckdb_place, day=[0.0, 1.0, -(2.0**39) - 0.5])
    with pytest.raises(CatalogueError, match=r"whole multiples of 0\.5 up to 2\^40"):
        register(duckdb_place, declare(duckdb_place, version="2", public=public))


def test_missing_column_names_the_nearest(engine_place):
    write(engine_place)
    with pytest.raises(CatalogueError, match="no column 'kWhs'; it has 'kwh'"):
        register(engine_place, declare(engine_place, private={"kWhs": KWH}))
    with pytest.raises(CatalogueError, match="no table 'metres' in the catalogue; it declares 'meters'"):
        register(engine_place, declare(engine_place), "metres")


def test_missing_source_is_the_users_mistake(engine_place):
    for source in ("nowhere.parquet", "nowhere.csv", "no_such_table", "a*.parquet"):
        with pytest.raises(CatalogueError, match=r"source|pattern"):
            register(engine_place, declare(engine_place, source=source))
    assert kept(engine_place) == []


def test_two_names_for_one_source_are_refused(engine_place):
    write(engine_place)
    one = declare(engine_place).tables["meters"]
    alias = one.model_copy(update={"source": ("./x/../meters.parquet",)})
    (engine_place.folder / "x").mkdir()
    both = Catalogue(place=engine_place.place, tables={"meters": one, "alias": alias}, folder=engine_place.folder)
    with pytest.raises(CatalogueError, match="same source as table alias"):
        register(engine_place, both)
    register(engine_place, declare(engine_place))
    renamed = Catalogue(place=engine_place.place, tables={"renamed": one}, folder=engine_place.folder)
    with pytest.raises(CatalogueError, match="same source as table meters"):
        register(engine_place, renamed, "renamed")


def test_a_further_table_costs_no_more_questions_to_the_engine_than_the_second(duckdb_place, monkeypatch):
    """Time is proportional to the number of tables only if none asks for each of the others."""
    write(duckdb_place)
    rows = (duckdb_place.folder / "meters.parquet").read_bytes()
    one = declare(duckdb_place).tables["meters"]
    tables = {f"meters_{k}": one.model_copy(update={"source": (f"meters_{k}.parquet",)}) for k in range(12)}
    for table in tables.values():
        (duckdb_place.folder / table.source[0]).write_bytes(rows)
    catalogue = declare(duckdb_place).model_copy(update={"tables": tables})
    asked, counts = [], []
    with open_engine(duckdb_place.place, duckdb_place.folder, read_only=False) as engine:
        query, identify = engine.query, engine.identify
        monkeypatch.setattr(engine, "query", lambda sql: asked.append(sql) or query(sql))
        monkeypatch.setattr(engine, "identify", lambda source: asked.append(source) or identify(source))
        for name in tables:
            vault.register(catalogue, name, engine=engine)
            counts.append(len(asked))
    steps = [after - before for before, after in pairwise(counts)]
    assert len(set(steps)) == 1, steps


def test_folder_of_files_is_a_source_and_its_files_are_not_another(engine_place):
    folder = engine_place.folder / "months"
    folder.mkdir()
    for month in (1, 2):
        pq.write_table(
            pa.table({"meter": ["a", "b"], "day": [month] * 2, "kwh": [1.0, 2.0]}), folder / f"{month}.parquet"
        )
    catalogue = declare(engine_place, source="months")
    assert register(engine_place, catalogue).snapshot.rows == 4
    part = catalogue.tables["meters"].model_copy(update={"source": ("months/1.parquet",)})
    with pytest.raises(CatalogueError, match="same source as table meters"):
        register(engine_place, Catalogue(place=engine_place.place, tables={"p": part}, folder=engine_place.folder), "p")


def test_declaration_changed_without_new_version_is_refused(duckdb_place):
    write(duckdb_place)
    register(duckdb_place, declare(duckdb_place))
    changes = {
        "kwh (range)": {"private": {"kwh": KWH | {"range": [0, 60]}}},
        "kwh (resolution)": {"private": {"kwh": KWH | {"resolution": 0.01}}},
        "kwh (nulls)": {"private": {"kwh": KWH | {"nulls": "public"}}},
        "kwh (nulls, impute)": {"private": {"kwh": KWH | {"nulls": "impute", "impute": 0}}},
        "kwh (no longer private)": {"private": {}},
        "day (type)": {"public": {"meter": "text", "day": "text"}},
        "its row key": {"row_key": ["meter"]},
    }
    for words, change in changes.items():
        changed = declare(duckdb_place, **change)
        with pytest.raises(CatalogueError) as refusal, open_engine(duckdb_place.place, duckdb_place.folder) as engine:
            vault.snapshot(changed, "meters", engine)
        assert words in str(refusal.value)
        with pytest.raises(CatalogueError, match="is declared differently"):
            register(duckdb_place, changed)


def test_floor_unit_owner_and_accounts_may_change(duckdb_place):
    write(duckdb_place)
    register(duckdb_place, declare(duckdb_place))
    private = {"kwh": KWH | {"floor": 3.0, "unit": "kWh", "distance": 1.0, "prior": {"mean": 5, "deviation": 2}}}
    changed = declare(
        duckdb_place,
        private=private,
        owner={"column": "meter", "floor": 0.2},
        account_by=["day"],
        row_key=["day", "meter"],
    )
    with open_engine(duckdb_place.place, duckdb_place.folder) as engine:
        assert vault.snapshot(changed, "meters", engine).table.private["kwh"].floor == 3.0


@pytest.mark.parametrize("kind", ["date", "moment"])
def test_rows_stay_in_the_periods_of_their_owners(engine_place, kind):
    def register_with(version, days):
        write(engine_place, number=[1, 2, 3], day=pa.array(days, pa.date32() if kind == "date" else pa.timestamp("us")))
        owner = {"column": "meter", "floor": 0.2, "per": {"column": "day", "period": "month"}}
        public = {"meter": "text", "number": "whole", "day": kind}
        declared = declare(engine_place, version=version, row_key=["number"], public=public, owner=owner)
        return register(engine_place, declared).fresh

    day = datetime.date if kind == "date" else datetime.datetime
    assert register_with("1", [day(2024, 1, 31), day(2024, 2, 29), None])
    assert register_with("2", [day(2024, 1, 1), day(2024, 2, 1), None])
    for days in (
        [day(2024, 2, 1), day(2024, 2, 29), None],
        [day(2023, 1, 31), day(2024, 2, 29), None],
        [None, day(2024, 2, 29), None],
        [day(2024, 1, 31), day(2024, 2, 29), day(2024, 3, 1)],
    ):
        with pytest.raises(CatalogueError, match="some row of meters has a different month of day than in version"):
            register_with("3", days)


@pytest.mark.parametrize("kind", ["date", "moment"])
def test_owners_have_joined_in_one_period_on_every_engine(engine_place, kind):
    day = datetime.date if kind == "date" else datetime.datetime

    def register_with(version, *since, number=(1, 2, 3)):
        days = pa.array(since, pa.date32() if kind == "date" else pa.timestamp("us"))
        write(engine_place, number=list(number), meter=["a", "a", "b"], since=days)
        owner = {"column": "meter", "floor": 0.2, "joined": {"column": "since", "period": "year"}}
        public = {"meter": "text", "number": "whole", "since": kind}
        declared = declare(engine_place, version=version, row_key=["number"], public=public, owner=owner)
        return register(engine_place, declared).fresh

    for twice in ((day(2023, 12, 31), day(2024, 1, 1), None), (None, day(2024, 1, 1), None)):
        with pytest.raises(CatalogueError, match="some meter of meters has more than one year of since"):
            register_with("1", *twice)
    assert register_with("1", day(2024, 1, 1), day(2024, 12, 31), None)
    assert register_with("2", day(2024, 5, 1), day(2024, 6, 1), None)
    with pytest.raises(CatalogueError, match="some row of meters has a different year of since than in version"):
        register_with("3", day(2024, 1, 1), day(2024, 1, 1), day(2024, 1, 1))
    with pytest.raises(CatalogueError, match=r"in several cells|more than one year of since"):
        register_with("3", day(2024, 1, 1), day(2024, 1, 1), day(2023, 1, 1), number=(1, 2, 4))


def register_joined(place, version, owners):
    """Register a row for each owner and the year of joining."""
    names, years = zip(*owners, strict=True)
    number = list(range(len(names)))
    write(place, number=number, day=number, kwh=[1.0] * len(names), meter=list(names), year=list(years))
    public = {"meter": "text", "number": "whole", "year": "whole"}
    owner = {"column": "meter", "floor": 0.2, "joined": {"column": "year"}}
    return register(place, declare(place, version=version, row_key=["number"], public=public, owner=owner)).fresh


def test_rows_without_an_owner_are_one_owner_who_joined_once(engine_place):
    assert register_joined(engine_place, "1", [("a", 2024), (None, 2020), (None, 2020)])
    with pytest.raises(CatalogueError, match="some meter of meters has more than one year"):
        register_joined(engine_place, "2", [("a", 2024), (None, 2020), (None, 2020), (None, 2024)])


@pytest.mark.parametrize("spelled", ["A", "a ", " A "])
def test_an_owner_who_is_spelled_differently_has_joined_once_too(engine_place, spelled):
    twice = [("a", 2020), ("b", 2024), (spelled, 2024)]
    with pytest.raises(CatalogueError, match="capitals, and spaces before and after, make no other meter"):
        register_joined(engine_place, "1", twice)
    assert register_joined(engine_place, "1", [*twice[:2], (spelled, 2020)])
    with pytest.raises(CatalogueError, match="some meter of meters has more than one year"):
        register_joined(engine_place, "2", [*twice[:2], (spelled, 2020), (spelled.swapcase(), 2024)])


def test_unregistered_version_names_the_registered_ones(engine_place):
    write(engine_place)
    register(engine_place, declare(engine_place))
    later = declare(engine_place, version="2024-07")
    words = r"'2024-07' \(registered are '2024-06'\): run errorfloor register"
    with open_engine(engine_place.place, engine_place.folder) as engine, pytest.raises(CatalogueError, match=words):
        vault.snapshot(later, "meters", engine)


def test_failing_engine_leaves_nothing(engine_place, monkeypatch):
    write(engine_place)
    with open_engine(engine_place.place, engine_place.folder, read_only=False) as engine:
        honest = engine.query

        def broken(sql):
            return honest("SELECT no_such_column AS n") if "DISTINCT" in sql or "lag(" in sql else honest(sql)

        monkeypatch.setattr(engine, "query", broken)
        with pytest.raises(EngineError) as failure:
            vault.register(declare(engine_place), "meters", engine=engine)
        monkeypatch.undo()
        assert failure.value.__context__ is None
        assert engine.known() == []
        assert vault.register(declare(engine_place), "meters", engine=engine).fresh
    assert [path.name for path in (engine_place.folder / "vault").glob(".unfinished*")] == []


KILLED = """
import os, signal, sys
from pathlib import Path
from errorfloor import vault
from errorfloor.catalogue.model import Catalogue
from errorfloor.engines import open_engine
from errorfloor.vault import registration

catalogue = Catalogue.model_validate_json(sys.stdin.read()).model_copy(update={"folder": Path(sys.argv[1])})
registration.facts_of = lambda *anything: os.kill(os.getpid(), signal.SIGKILL)
with open_engine(catalogue.place, catalogue.folder, read_only=False) as engine:
    vault.register(catalogue, "meters", engine=engine)
"""


def test_killed_registration_leaves_nothing_and_can_be_repeated(engine_place):
    write(engine_place)
    catalogue = declare(engine_place)
    killed = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(KILLED), str(engine_place.folder)],
        input=catalogue.model_dump_json(),
        text=True,
        capture_output=True,
        env=os.environ,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    with open_engine(engine_place.place, engine_place.folder) as engine:
        assert engine.known() == []
        with pytest.raises(CatalogueError, match="not registered"):
            vault.snapshot(catalogue, "meters", engine)
    assert register(engine_place, catalogue).fresh
    assert [path.name for path in (engine_place.folder / "vault").glob(".unfinished*")] == []
