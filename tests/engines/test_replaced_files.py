"""Files of a folder that go, or are replaced, while somebody reads: nothing of them stays, and no other rows pass."""

import threading

import duckdb
import pytest

from errorfloor.engines.duckdb_folder import DuckDBFolder
from errorfloor.errors import EngineError

SECRET = "31.41592"


def make(folder, name, note, rows=3):
    with DuckDBFolder(folder / "vault", folder, read_only=False) as engine:
        engine.create(name, f"SELECT i AS k FROM range({rows}) AS t(i)", lambda relation: note)


def test_a_reader_keeps_no_note_of_what_was_destroyed(tmp_path):
    for name in ("copied", "numbers"):
        make(tmp_path, name, f"{SECRET} in {name}")
    with DuckDBFolder(tmp_path / "vault", tmp_path, read_only=True) as reader:
        assert reader.recall("numbers") == f"{SECRET} in numbers"
        assert reader.recall_all().keys() == {"copied", "numbers"}
        with DuckDBFolder(tmp_path / "vault", tmp_path, read_only=False) as engine:
            for name in engine.known():
                engine.destroy(name)
        assert SECRET in repr(vars(reader))
        reader.let_go()
        assert SECRET not in repr(vars(reader))
        make(tmp_path, "copied", "other rows")  # what comes in its place is still not taken for it
        with pytest.raises(EngineError, match="was replaced while it was in use"):
            reader.query(f"SELECT * FROM {reader.relation('copied')}")


def test_no_thread_reads_a_replaced_file_while_another_compares_it(tmp_path, monkeypatch):
    make(tmp_path, "numbers", "rows")
    note_of, others, found = DuckDBFolder._note_of, [], []
    with DuckDBFolder(tmp_path / "vault", tmp_path, read_only=True) as reader:
        reader.recall_all()
        reader.file_of("numbers").unlink()
        make(tmp_path, "numbers", "other rows", rows=7)

        def ask():
            try:
                found.append(reader.query(f"SELECT * FROM {reader.relation('numbers')}").num_rows)
            except EngineError as problem:
                found.append(problem.fields["kind"])

        def comparing(self, name):
            if not others:
                others.append(threading.Thread(target=ask))
                others[0].start()
                others[0].join(0.3)
            return note_of(self, name)

        monkeypatch.setattr(DuckDBFolder, "_note_of", comparing)
        ask()
        others[0].join()
    assert found == ["replaced", "replaced"]


def test_a_file_that_has_no_note_to_compare_is_not_read_either(tmp_path):
    make(tmp_path, "numbers", "rows")
    with DuckDBFolder(tmp_path / "vault", tmp_path, read_only=True) as reader:
        reader.recall_all()
        file = reader.file_of("numbers")
        file.unlink()
        with duckdb.connect(str(file)) as other:
            other.execute("CREATE TABLE numbers AS SELECT 99 AS k")
        file.chmod(0o600)
        for _ in range(2):
            with pytest.raises(EngineError):
                reader.query(f"SELECT * FROM {reader.relation('numbers')}")
