"""Towns to ask."""

import pytest

from town import open_town, write_town


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
