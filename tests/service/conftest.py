"""Towns to ask."""

import pytest

from errorfloor.engines.duckdb import DuckDBEngine
from town import open_town, write_town


@pytest.fixture
def scans(monkeypatch):
    """Everything that an engine is asked but for what it was told of snapshots when they were made."""
    seen, query = [], DuckDBEngine.query

    def noted(self, statement, *rest):
        if not any(known in statement for known in ("errorfloor_notes", "duckdb_tables()")):
            seen.append(statement)
        return query(self, statement, *rest)

    monkeypatch.setattr(DuckDBEngine, "query", noted)
    return seen


@pytest.fixture
def town(tmp_path):
    write_town(tmp_path / "town")
    with open_town(tmp_path / "town") as database:
        yield database


@pytest.fixture
def towns(tmp_path):
    """Give a function that opens a town with private values of some kind."""
    opened = []

    def make(kind, seed=1, owner=False, **options):
        folder = tmp_path / f"{kind}-{seed}-{len(opened)}"
        write_town(folder, kind, seed, owner)
        opened.append(open_town(folder, **options))
        return opened[-1]

    yield make
    for database in opened:
        database.close()
