"""Charges that wait together share one transaction: durable before any returns, and none at the expense of another."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from errorfloor.errors import AllowanceError, LedgerError
from errorfloor.ledger import Account, Charge, Entry, FileAnchor, SqlLedger
from statements import watch

KWH = Account("meters", "kwh", "")
TERMS = {"meters": {"account_by": []}}
CLIENTS = 32


class Watched:
    """A ledger whose first transaction waits until all others are queued; it counts commits."""

    def __init__(self, place):
        self.ledger = place.open()
        self.commits, self.fails = 0, False
        watch(self.ledger, self._before)

    def _before(self, statement, *_):
        if statement.startswith("INSERT INTO @entries") and not self.commits:
            until = time.monotonic() + 60
            while len(self.ledger._together._waiting) < CLIENTS - 1 and time.monotonic() < until:
                time.sleep(0.001)
        if statement == "COMMIT":
            self.commits += 1
            if self.fails and self.commits > 1:
                raise LedgerError("the disk of the ledger is full; nothing was charged")

    def charge_at_once(self, allowance):
        """Charge from many threads; give what each was told."""

        def one(number):
            entry = Entry(f"{number + 1:064x}", {KWH: Charge(1.0, 0.0)}, {})
            try:
                return self.ledger.charge([entry], {KWH: Charge(allowance, 0.0)}, TERMS)[0]
            except (AllowanceError, LedgerError) as problem:
                return type(problem)

        with ThreadPoolExecutor(CLIENTS) as pool:
            return list(pool.map(one, range(CLIENTS)))


@pytest.fixture
def watched(ledger_place):
    found = Watched(ledger_place)
    yield found
    found.ledger.close()


def test_charges_that_wait_together_share_one_commit(watched):
    assert watched.charge_at_once(CLIENTS) == [True] * CLIENTS
    assert watched.commits == 2  # the first alone; then all who had come meanwhile
    assert watched.ledger.verify().head.sequence == CLIENTS
    assert watched.ledger.spent([KWH])[KWH].information == CLIENTS


def test_a_refusal_costs_nobody_else_the_charge(watched):
    told = watched.charge_at_once(20)
    assert told.count(True) == 20
    assert told.count(AllowanceError) == CLIENTS - 20
    assert watched.commits == 2
    assert watched.ledger.verify().head.sequence == 20


def test_nobody_is_told_of_a_charge_that_was_not_committed(watched):
    watched.fails = True
    told = watched.charge_at_once(CLIENTS)
    assert told.count(True) == 1
    assert told.count(LedgerError) == CLIENTS - 1
    watched.fails = False
    assert watched.ledger.verify().head.sequence == 1


def test_no_thread_works_for_the_others_for_ever(tmp_path):
    """Whoever has done a batch goes; the next who waits leads on."""
    leaders = set()
    with SqlLedger(tmp_path / "ledger.sqlite", FileAnchor(tmp_path / "ledger.anchor"), create=True) as ledger:
        watch(ledger, lambda statement, *_: statement == "COMMIT" and leaders.add(threading.get_ident()))
        with ThreadPoolExecutor(8) as pool:
            charges = [Entry(f"{number + 1:064x}", {KWH: Charge(1.0, 0.0)}, {}) for number in range(200)]
            allowed = {KWH: Charge(200.0, 0.0)}
            assert all(pool.map(lambda entry: ledger.charge([entry], allowed, TERMS)[0], charges))
        assert len(leaders) > 1
        assert ledger.verify().head.sequence == 200


def test_a_thread_that_is_interrupted_while_it_waits_does_not_stop_the_others(tmp_path, monkeypatch):
    entered, go_on = threading.Event(), threading.Event()

    def slow(_):
        entered.set()
        assert go_on.wait(30)

    def interrupted(turn):
        raise KeyboardInterrupt

    def entry(number):
        return [Entry(f"{number:064x}", {KWH: Charge(1.0, 0.0)}, {})], {KWH: Charge(9.0, 0.0)}, TERMS

    with SqlLedger(tmp_path / "ledger.sqlite", FileAnchor(tmp_path / "ledger.anchor"), create=True) as ledger:
        with ThreadPoolExecutor(1) as pool:
            leading = pool.submit(ledger._together.run, slow)
            assert entered.wait(30)
            with monkeypatch.context() as patched:
                patched.setattr("errorfloor.ledger.connections.Turn.wait", interrupted)
                with pytest.raises(KeyboardInterrupt):
                    ledger.charge(*entry(1))
            go_on.set()
            leading.result(30)
        assert ledger.charge(*entry(2)) == [True]
        assert ledger.verify().head.sequence == 1
