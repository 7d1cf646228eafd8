"""Many threads may use one database at once: each gets the answer that it would have got alone."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from errorfloor.catalogue import load
from errorfloor.errors import AllowanceError
from errorfloor.ledger import MemoryLedger, open_ledger
from errorfloor.pricing import FactsCache
from town import open_town, write_town

QUESTIONS = [
    f"SELECT tariff, {formula} AS value FROM meters WHERE rooms > {rooms} GROUP BY tariff"
    for formula in ("avg(kwh)", "sum(peak)", "avg(kwh * area)", "var_pop(kwh)")
    for rooms in (0, 1, 2)
]


def test_threads_get_the_answers_that_one_thread_gets(tmp_path):
    folder = tmp_path / "town"
    write_town(folder)
    with open_town(folder) as alone:
        expected = [alone.ask(question, max_error=50.0).to_arrow() for question in QUESTIONS]
        prices = [alone.price(question, max_error=40.0).charge for question in QUESTIONS]
    place = load(folder / "errorfloor.toml").place
    with open_town(folder, ledger=open_ledger(place, folder, create=True), make=False) as database:
        start = threading.Barrier(16)

        def work(number):
            start.wait()
            found = []
            for step in range(len(QUESTIONS)):
                which = (step * 5 + number) % len(QUESTIONS)
                if number % 4 == 3:
                    found.append(database.price(QUESTIONS[which], max_error=40.0).charge == prices[which])
                    database.simulate(QUESTIONS[which], max_error=40.0)
                    database.left()
                    database.tables()
                else:
                    found.append(database.ask(QUESTIONS[which], max_error=50.0).to_arrow() == expected[which])
            return found

        with ThreadPoolExecutor(16) as pool:
            found = [one for part in pool.map(work, range(16)) for one in part]
        assert len(found) == 16 * len(QUESTIONS)
        assert all(found)
        assert len(database.history()) == len(QUESTIONS)  # each was charged once
        database.ledger.verify()


def test_threads_that_ask_at_once_never_overspend(town):
    start = threading.Barrier(32)

    def ask(number):
        start.wait()
        try:
            return town.ask("SELECT avg(kwh) AS mean FROM meters", spend=0.15 - number * 1e-4).fresh[0]
        except AllowanceError:
            return False

    with ThreadPoolExecutor(32) as pool:
        assert sum(pool.map(ask, range(32))) in (6, 7)
    assert max(standing.used for standing in town.left()) <= 1


def test_one_dry_database_is_made_for_many_threads(town):
    with ThreadPoolExecutor(8) as pool:
        assert len({id(database) for database in pool.map(lambda _: town.dry(), range(8))}) == 1


@pytest.mark.parametrize("most", [1_000, 100_000])
def test_a_cache_shared_by_threads_keeps_within_its_size(most):
    cache = FactsCache(most=most)

    def work(number):
        for step in range(300):
            key = (f"{(number * 7 + step) % 400}",)
            found = cache.find(key)
            assert found in (None, key)
            cache.keep(key, key, 10)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert cache._size == sum(size for _, size in cache._held.values())
    assert cache._size <= most


def test_asking_costs_no_more_ledger_work_than_it_must(town):
    """One transaction of the ledger for a price, one for an answer; a second answer reads its plan from memory."""
    counted = []

    class Counting(MemoryLedger.__mro__[1]):
        is_forgotten = True

        def __init__(self, inner):
            super().__init__(None)
            self._inner = inner

        def _read(self, work):
            counted.append("read")
            return self._inner._read(work)

        def _write(self, work):
            counted.append("write")
            return self._inner._write(work)

        def close(self):
            self._inner.close()

    town.ledger = Counting(town.ledger)
    town.price(QUESTIONS[0], max_error=0.5)
    assert counted == ["read"]
    town.ask(QUESTIONS[0], max_error=0.5)
    assert counted == ["read", "write"]
    town.ask(QUESTIONS[0], max_error=0.5, charge=False)
    assert counted == ["read", "write", "read"]
    asked, query = [], town._engine.query

    def watched(sql):
        asked.append(sql)
        return query(sql)

    town._engine.query = watched
    town.ask(QUESTIONS[0], max_error=0.25)
    assert len(asked) == 1 and "t0.x0" in asked[0]  # the scan, and nothing else
