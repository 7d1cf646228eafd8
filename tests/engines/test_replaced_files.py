"""Files of a folder that go, or are replaced, while somebody reads: nothing of them stays, and no other rows pass."""

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
