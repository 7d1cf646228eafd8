"""What is promised is the figure at the allowance; at the amount spent it stands beside, with its condition."""

import math
import tomllib
from dataclasses import replace

import pytest

from errorfloor.answering.answer import stated
from errorfloor.catalogue import Catalogue, PrivateColumn, allowance, entry_promise
from errorfloor.catalogue.allowance import OTHERS, exact_allowance, exact_owner_allowance
from errorfloor.errors import AllowanceError
from errorfloor.floors.prior import LatticeNormal
from errorfloor.ledger import Account, Charge, Entry, MemoryLedger
from errorfloor.server.pages.sheet import guarantee
from errorfloor.service.example import CATALOGUE, example_database


def test_what_is_promised_does_not_depend_on_what_was_spent(towns):
    database, promised = towns("plain", owner=True), set()
    for bound in (60.0, 50.0, 40.0):
        answer = database.ask("SELECT tariff, avg(kwh) AS mean FROM meters GROUP BY tariff", max_error=bound)
        owner, kwh = answer.standings
        promised.add((owner.promised, kwh.promised))
        assert owner.told_apart < owner.promised.told_apart
        assert kwh.told_apart < kwh.promised.told_apart and kwh.floor > kwh.promised.floor
    assert len(promised) == 1
    assert owner.promised.told_apart == pytest.approx(1 - owner.table.owner.floor, abs=1e-9)
    assert owner.promised.told_apart < 1 - owner.table.owner.floor  # rounded, it is what was declared
    assert kwh.promised.floor == kwh.column.floor


def test_the_promised_sentence_comes_first_and_the_other_has_its_condition(towns):
    answer = towns("plain", owner=True).ask("SELECT avg(kwh) AS mean FROM meters", max_error=20.0)
    owner, kwh = (standing.explain() for standing in answer.standings)
    times = f"{100 * (1 - answer.standings[0].table.owner.floor):g}"
    known = "Whatever is asked, even someone who knows all other"
    assert owner.startswith(f"{known} rows cannot tell which of two histories of one")
    assert f"true one more than {times} times in 100. If the questions so far had been fixed in advance: 5" in owner
    assert kwh.startswith(f"{known} entries cannot tell which of two values of kwh")
    assert (
        f"off by at least {answer.standings[1].column.floor:g} kWh (root mean square, worst case over 0 … 50 kWh" in kwh
    )
    assert "If the questions so far had been fixed in advance: 5" in kwh.split("clamped). ")[1]
    for said in (answer.explain(), answer._repr_html_()):
        assert "Whatever is asked" in said and "so far had been fixed in advance" in said
        assert "answers so far" not in said


def test_numbers_say_both_and_over_http_the_floor_at_the_allowance_is_sent(towns):
    answer = towns("plain", owner=True).ask("SELECT avg(kwh) AS mean FROM meters", max_error=20.0)
    owner, kwh = answer.to_dict()["accounts"]
    assert owner["promised_in_100"] >= owner["told_apart_in_100"]
    assert (owner["promised_floor"], kwh["promised_floor"]) == (None, answer.standings[1].column.floor)
    assert kwh["promised_in_100"] <= owner["promised_in_100"]  # two values of an entry are two histories
    sent = stated(answer)
    _, _, information = exact_allowance(answer.standings[1].column)
    assert sent["promised"]["information"] == [pytest.approx(information * (1 + OTHERS))]
    assert sent["floor"]["information"][0] < information
    assert answer.promised.any_estimator[0] >= answer.standings[1].column.floor
    assert sent["accounts"][1]["exact"]["promised"] == answer.standings[1].promised.told_apart


def test_the_sheet_says_what_answers_promise():
    with example_database() as database:
        answer = database.ask("SELECT avg(kwh) FROM meters", max_error=0.5)
        column = guarantee(database.catalogue).tables[0].private[0]
        assert float(column.times) == answer.to_dict()["accounts"][0]["promised_in_100"]


def test_under_a_prior_the_promise_is_the_floor_at_the_allowance():
    prior = "\n[tables.meters.private.kwh.prior]\nmean = 10\ndeviation = 8\n"
    declared = Catalogue.model_validate(tomllib.loads(CATALOGUE + prior)).tables["meters"].private["kwh"]
    promised = entry_promise(declared)
    law = LatticeNormal(mean=10.0, deviation=8.0, low=0.0, spacing=0.001, count=50_001)
    assert declared.floor * 0.5 < promised.against_prior < law.spread


def test_a_floor_that_is_raised_too_late_is_not_promised_back(towns):
    """More was spent than the new floor allows: what is stated is what was spent."""
    database = towns("plain", owner=True)
    owner = database.ask("SELECT avg(kwh) AS mean FROM meters", spend=0.9).standings[0]
    assert owner.promised.told_apart > owner.told_apart
    raised = owner.table.model_copy(update={"owner": owner.table.owner.model_copy(update={"floor": 0.45})})
    later = replace(owner, table=raised, allowance=Charge(*exact_owner_allowance(raised.owner)))
    assert later.used > 1
    assert later.promised.told_apart == owner.told_apart > 0.55
    assert later.capped == replace(owner.spent, information=later.allowance.information)


def test_a_refusal_compares_each_sum_with_its_own_fixed_limit():
    """Half of the information is left, and no evaluation error: a floor at the two sums would still be kept."""
    kwh, column = Account("meters", "kwh", ""), PrivateColumn(range=(0, 50), resolution="0.001", floor=2.0)
    information, evaluation = allowance(column)
    terms = {"meters": {"account_by": [], "owner": None, "units": {"kwh": "kWh"}}}
    ledger = MemoryLedger()

    def charge(number, *amounts):
        entry = Entry(f"{number:064x}", {kwh: Charge(*amounts)}, {})
        return ledger.charge([entry], {kwh: Charge(information, evaluation)}, terms)

    charge(1, information / 2, evaluation)
    with pytest.raises(AllowanceError, match="evaluation requested"):
        charge(2, 0.0, evaluation / 1e6)
    with pytest.raises(AllowanceError, match="information requested"):
        charge(3, math.nextafter(information / 2, math.inf), 0.0)
    charge(4, information / 2, 0.0)
