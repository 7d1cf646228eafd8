"""Many parts: whatever exists, a question costs what the parts cost that it reads."""

import datetime
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import errorfloor as ef
from errorfloor.engines.duckdb import DuckDBEngine
from errorfloor.errors import EngineError
from monthly import grow, write_catalogue

DAYS = 60


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=day) for day in range(DAYS)]
    rows = [{"home": f"H{one}", "day": day, "batch": 0, "tariff": "A", "kwh": 7.0} for day in days for one in range(40)]
    pq.write_table(pa.Table.from_pylist(rows), folder / "meters.parquet")
    write_catalogue(folder, '{ column = "day", part = "day" }')
    file = folder / "errorfloor.toml"
    file.write_text(file.read_text().replace("meters.csv", "meters.parquet"))
    assert len(grow(folder).new) == DAYS
    return folder


@pytest.fixture
def statements(monkeypatch):
    said = []
    query = DuckDBEngine.query
    monkeypatch.setattr(DuckDBEngine, "query", lambda self, sql: (said.append(sql), query(self, sql))[1])
    return said


def test_a_question_names_the_parts_that_it_reads_and_no_other(home, statements):
    with ef.open(home / "errorfloor.toml") as db:
        db.price("SELECT avg(kwh) AS mean FROM meters WHERE day = '2024-02-03'", max_error=4)
        whole = db._known.snapshot(db.catalogue, "meters", db._engine)
        names = {part.key for part in whole.parts}
        assert len(names) == DAYS
        for sql, read in (("day = '2024-02-05'", 1), ("day BETWEEN '2024-01-08' AND '2024-01-14'", 7)):
            statements.clear()
            answer = db.ask(f"SELECT avg(kwh) AS mean FROM meters WHERE {sql}", max_error=4)
            assert answer.fresh == (True,)
            used = {name for name in names for statement in statements if name in statement}
            assert len(used) == read and len(statements) < 10
        assert answer.prepared.plan.snapshots[0].rows == 7 * 40


def test_a_part_that_was_put_back_from_elsewhere_while_it_is_served_is_not_priced(home, tmp_path):
    """The rows of a file that was not opened yet are not taken for those of the note that was read at opening."""
    shutil.copytree(home, tmp_path / "home")
    grow(tmp_path / "home")  # copies the notes
    shutil.copytree(home, tmp_path / "other", ignore=shutil.ignore_patterns("vault*", "ledger*"))
    assert len(grow(tmp_path / "other").new) == DAYS
    question = "SELECT avg(kwh) AS mean FROM meters WHERE day = '2024-02-0{}'"
    with ef.open(tmp_path / "home" / "errorfloor.toml") as db:
        first = db.ask(question.format(3), max_error=4)
        charged = len(db.history())
        whole = db._known.snapshot(db.catalogue, "meters", db._engine)
        (key,) = [part.key for part in whole.parts if part.name == "2024-02-04"]
        there = tmp_path / "home" / "vault.duckdb" / f"{key}.duckdb"
        shutil.copy2(there, tmp_path / "kept")
        shutil.copy2(tmp_path / "other" / "vault.duckdb" / f"{key}.duckdb", there)
        with pytest.raises(EngineError, match="was replaced while it was in use"):
            db.ask(question.format(4), max_error=4)
        assert len(db.history()) == charged
        assert db.ask(question.format(3), max_error=4).to_arrow() == first.to_arrow()
        shutil.copy2(tmp_path / "kept", there)
        assert db.ask(question.format(4), max_error=4).fresh == (True,)


def test_notes_of_all_parts_are_read_in_a_few_queries(home, statements):
    with ef.open(home / "errorfloor.toml") as db:
        assert db.tables()[0]["rows"] == 40 * DAYS
        assert len(statements) < 10
