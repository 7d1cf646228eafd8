"""Readers of a DuckDB file keep what they have read of a statement, and use the threads that have something to do."""

from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

from errorfloor.engines import duckdb as room
from errorfloor.engines import open_engine
from errorfloor.engines.duckdb import DuckDBEngine
from errorfloor.errors import EngineError


def _file(folder, rows):
    path = folder / "vault.duckdb"
    with DuckDBEngine(path, folder, read_only=False) as engine:
        engine.execute(f"CREATE TABLE numbers AS SELECT i AS n FROM range({rows}) AS t(i)")
    return path


def _threads(engine):
    return int(engine.query("SELECT current_setting('threads') AS now").column("now")[0].as_py())


def test_a_statement_gives_the_same_however_often_and_from_however_many_threads(tmp_path, monkeypatch):
    monkeypatch.setattr(room, "MOST_KEPT", 3)
    statements = [f"SELECT sum(n) + {k} AS total FROM numbers" for k in range(7)]
    with DuckDBEngine(_file(tmp_path, 1000), tmp_path, read_only=True) as engine:
        wanted = [pa.table({"total": [499500 + k]}).to_pylist() for k in range(7)]
        for _ in range(3):
            assert [engine.query(each).to_pylist() for each in statements] == wanted
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda k: engine.query(statements[k % 7]).to_pylist(), range(200)))
        assert found == [wanted[k % 7] for k in range(200)]
        assert all(len(reader._kept) <= 3 for reader in engine._readers)


def test_a_statement_that_fails_leaves_no_reader_behind(tmp_path):
    with DuckDBEngine(_file(tmp_path, 10), tmp_path, read_only=True) as engine:
        for _ in range(2):
            with pytest.raises(EngineError):
                engine.query("SELECT CAST('x' AS INTEGER) AS n FROM numbers")
        assert engine.query("SELECT count(*) AS n FROM numbers").to_pylist() == [{"n": 10}]
        assert len(engine._readers) == 1


@pytest.mark.parametrize(("rows", "most"), [(0, 1), (1000, 1), (400_000, 4)])
def test_a_small_file_is_read_by_one_thread(tmp_path, rows, most):
    with DuckDBEngine(_file(tmp_path, rows), tmp_path, read_only=True) as engine:
        engine._most_threads = 16  # as on a machine of so many cores
        engine._use_threads()
        assert _threads(engine) == most


def test_a_closed_file_can_be_written_again(tmp_path):
    path = _file(tmp_path, 10)
    with DuckDBEngine(path, tmp_path, read_only=True) as engine:
        engine.query("SELECT count(*) AS n FROM numbers")
    with DuckDBEngine(path, tmp_path, read_only=False) as engine:
        engine.execute("DROP TABLE numbers")


def test_readers_of_postgresql_survive_a_server_that_drops_them(postgresql_place):
    import psycopg

    place, folder = postgresql_place.place, postgresql_place.folder
    ended = (
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = %s"
    )
    with (
        open_engine(place, folder, read_only=True) as engine,
        psycopg.connect(place.snapshots, autocommit=True) as owner,
    ):
        name = owner.execute("SELECT current_database()").fetchone()[0]
        with ThreadPoolExecutor(4) as pool:
            slow = "SELECT count(*) AS n FROM generate_series(1, 200000)"
            assert [found.to_pylist() for found in pool.map(engine.query, [slow] * 8)] == [[{"n": 200000}]] * 8
        for _ in range(2):
            assert owner.execute(ended, [name]).fetchone()[0] >= 1
            assert engine.query("SELECT 7 AS n").to_pylist() == [{"n": 7}]
        with pytest.raises(EngineError, match="22012"):  # what a statement itself gets wrong is not tried again
            engine.query("SELECT 1 / 0 AS n")
        with pytest.raises(EngineError, match="25006"):  # a connection made anew only reads, too
            engine.query("CREATE TABLE written (n INTEGER)")
        assert engine.query("SELECT 8 AS n").to_pylist() == [{"n": 8}]
