"""Towns with equal public parts look alike from outside, whatever their private values are."""

import io
import json
import logging

import pytest

from errorfloor.errors import ErrorFloorError
from errorfloor.ledger import MemoryLedger
from exact_formulas import values_seen
from questions import ANSWERED, CANCELLATION, REFUSED

KINDS = ["plain", "nasty", "low", "high"]


def outside_view(database, ledger, questions=(*ANSWERED, *REFUSED)):
    """Everything that may be seen but the released numbers: prices, labels, refusals, messages, ledger entries."""
    seen = []
    for question in questions:
        for wish in ({"max_error": 1000.0}, {"spend": 1e-4}, {"max_error": 1e-9}):
            try:
                price = database.price(question, **wish)
                seen.append(
                    [question, price.to_dict(), price.explain(), [str(o.label) for o in price.prepared.outputs]]
                )
                if wish != {"max_error": 1e-9}:
                    answer = database.ask(question, **wish)
                    seen.append(
                        [answer.fresh, answer.explain(), answer.to_dict()["accounts"], answer.table.schema.names]
                    )
                else:
                    database.ask(question, **wish)
            except ErrorFloorError as problem:
                seen.append([question, problem.code, str(problem), repr(problem.fields)])
    seen.append([[s.to_dict() for s in database.left()]])
    # of the ledger all but when it was, and the hashes that depend on that
    seen.extend([record.to_json() | dict.fromkeys(("time", "previous", "hash"))] for record in ledger.entries())
    return json.dumps(seen, default=str, ensure_ascii=False)


def test_prices_labels_refusals_messages_and_ledger_do_not_depend_on_private_values(towns):
    logged = io.StringIO()
    handler = logging.StreamHandler(logged)
    logging.getLogger().addHandler(handler)
    views, logs = {}, {}
    try:
        for kind in KINDS:
            ledger = MemoryLedger()
            database = towns(kind, ledger=ledger)
            logged.seek(0)
            logged.truncate()
            views[kind] = outside_view(database, ledger)
            logs[kind] = logged.getvalue()
    finally:
        logging.getLogger().removeHandler(handler)
    for kind in KINDS[1:]:
        assert views[kind] == views["plain"]
        assert logs[kind] == logs["plain"]
    assert len(views["plain"]) > 10_000


def test_the_view_shows_a_public_difference(towns):
    """The comparison above can fail: a town with owners has another view."""
    views = []
    for owner in (False, True):
        ledger = MemoryLedger()
        views.append(outside_view(towns("plain", owner=owner, ledger=ledger), ledger, ANSWERED[:2]))
    assert views[0] != views[1]


@pytest.mark.parametrize("kind", KINDS)
def test_the_cancellation_attack_is_answered_as_the_line_that_it_is(towns, kind):
    """Two towns whose readings differ around the step give sums that differ by the slope, not by a jump."""
    database = towns(kind)
    answer = database.ask(CANCELLATION, max_error=0.01)
    values = values_seen(answer.prepared, database._engine)
    assert values[0][0] == pytest.approx(0.5 * 712, abs=1e-4)  # 712 readings are present; the rest is 1e-9 of them


def test_values_that_are_not_numbers_or_outside_the_range_are_clamped_alike(towns):
    database = towns("nasty")
    exact = values_seen(
        database.price("SELECT sum(kwh) AS a, sum(peak) AS b FROM meters", max_error=1e3).prepared, database._engine
    )
    assert all(float(column[0]) == float(column[0]) for column in exact)
    assert 0 <= exact[0][0] <= 50 * 720
    assert 0.5 * 720 <= exact[1][0] <= 10 * 720
