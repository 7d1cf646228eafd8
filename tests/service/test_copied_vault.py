"""A vault that is copied to another engine keeps its identities: the same answers, free, on each of them."""

import pytest

from errorfloor.catalogue import load
from errorfloor.engines import open_engine
from errorfloor.errors import CatalogueError
from errorfloor.identity import KeyRing
from errorfloor.ledger import MemoryLedger
from errorfloor.service import Database
from errorfloor.vault import copy, register
from town import write_town

QUESTIONS = (
    "SELECT tariff, day, sum(kwh) AS s, avg(peak) AS p FROM meters WHERE area > 40 GROUP BY tariff, day",
    "SELECT class, sum(kwh * people) AS s FROM meters JOIN homes USING (household) GROUP BY class",
)


def answers(catalogue, ledger):
    with open_engine(catalogue.place, catalogue.folder) as engine:
        database = Database(catalogue, engine=engine, ledger=ledger, keys=KeyRing(catalogue.folder / "keys.json"))
        found = [database.ask(question, max_error=1000.0) for question in QUESTIONS]
    return [one.to_arrow().to_pylist() for one in found], [new for one in found for new in one.fresh]


def test_a_copied_vault_gives_the_same_answers_free_of_charge(every_place):
    write_town(every_place[0].folder)
    declared = load(every_place[0].folder / "errorfloor.toml")
    here = declared.model_copy(update={"place": every_place[0].place})
    ledger = MemoryLedger()
    with open_engine(here.place, here.folder, read_only=False) as engine:
        for table in here.tables:
            register(here, table, engine=engine)
    first, fresh = answers(here, ledger)
    assert all(fresh)
    for place in every_place[1:]:
        there = declared.model_copy(update={"place": place.place})
        for _ in range(2):  # a second copy changes nothing
            with (
                open_engine(here.place, here.folder) as source,
                open_engine(there.place, there.folder, read_only=False) as target,
            ):
                for table in there.tables:
                    copy(there, table, source=source, target=target)
        assert answers(there, ledger) == (first, [False] * len(fresh))
    assert not list(here.folder.glob(".copying-*"))


def test_a_version_that_was_registered_by_itself_is_no_copy(tmp_path):
    write_town(tmp_path)
    catalogues = []
    for name in ("one.duckdb", "two.duckdb"):
        declared = load(tmp_path / "errorfloor.toml")
        declared = declared.model_copy(update={"place": declared.place.model_copy(update={"snapshots": name})})
        with open_engine(declared.place, tmp_path, read_only=False) as engine:
            register(declared, "meters", engine=engine)
        catalogues.append(declared)
    one, two = catalogues
    with (
        open_engine(one.place, tmp_path) as source,
        open_engine(two.place, tmp_path, read_only=False) as target,
        pytest.raises(CatalogueError, match="a different snapshot from the one on duckdb"),
    ):
        copy(two, "meters", source=source, target=target)
