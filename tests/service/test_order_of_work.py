"""Charge, then look, then draw, then answer: a failure may waste allowance, and never leaks."""

import re
import traceback

import pytest

from errorfloor.errors import AllowanceError, AnswerFailedError
from errorfloor.ledger import MemoryLedger

AVERAGE = "SELECT tariff, avg(kwh) AS mean FROM meters GROUP BY tariff"


class Watched:
    """An engine or ledger that writes down what is asked of it, and fails where it is told to."""

    def __init__(self, inner, log, fails=lambda name, arguments: False):
        self._inner, self._log, self._fails = inner, log, fails

    def __getattr__(self, name):
        value = getattr(self._inner, name)
        if not callable(value):
            return value

        def call(*arguments, **options):
            self._log.append((name, arguments))
            if self._fails(name, arguments):
                raise RuntimeError("reading 17.231 of h03 overflows")  # what an engine might say of a private value
            return value(*arguments, **options)

        return call


def watched(town, fails=lambda name, arguments: False):
    log = []
    town._engine = Watched(town._engine, log, fails)
    town.ledger = Watched(town.ledger, log)
    return log


def reads_private(name, arguments):
    """A query that uses a private column otherwise than to see where it is null, which is public here."""
    return name == "query" and re.search(r"\bx\d", re.sub(r"\bx\d+ IS (NOT )?NULL", "", arguments[0])) is not None


def test_private_columns_are_read_only_after_the_charge(town):
    log = watched(town)
    town.ask(AVERAGE, max_error=0.5)
    private = [i for i, (name, arguments) in enumerate(log) if reads_private(name, arguments)]
    charged = [i for i, (name, _) in enumerate(log) if name == "settling"]
    assert len(private) == 1
    assert len(charged) == 1
    assert charged[0] < private[0]


def test_price_and_refusals_never_read_private_columns(town):
    log = watched(town)
    town.price(AVERAGE, max_error=0.5)
    with pytest.raises(AllowanceError):
        town.ask(AVERAGE, max_error=1e-5)
    assert not [1 for name, arguments in log if reads_private(name, arguments)]


def test_a_failure_after_the_charge_says_one_fixed_thing_and_stays_charged(town):
    engine, ledger = town._engine, town.ledger
    watched(town, fails=reads_private)
    with pytest.raises(AnswerFailedError) as failed:
        town.ask(AVERAGE, max_error=0.5)
    shown = "".join(traceback.format_exception(failed.value))
    assert "17.231" not in shown
    assert failed.value.__context__ is None
    town._engine, town.ledger = engine, ledger
    assert town.left()[0].used > 0
    again = town.ask(AVERAGE, max_error=0.5)
    assert again.fresh == (False,)


def test_a_refused_charge_leaves_nothing(towns):
    ledger = MemoryLedger()
    town = towns("plain", ledger=ledger)
    with pytest.raises(AllowanceError):
        town.ask(AVERAGE, max_error=1e-5)
    assert list(ledger.entries()) == []
