"""What private values cannot move is answered without looking; what they can is never free; costs are public."""

import json
import time

import numpy as np
import pytest

from errorfloor.answering import releasing
from errorfloor.errors import ErrorFloorError
from errorfloor.ledger import MemoryLedger
from errorfloor.preparing.cell_noise import CellNoise
from errorfloor.preparing.cost import public_cost
from errorfloor.preparing.preparation import LEAST_SHARE
from errorfloor.support import HalfLine
from questions import ANSWERED
from town import open_town, write_town

CLOCK = (
    "SELECT ln(1 + power(power(1e-30*1e-30*greatest(sum(kwh)-{t},0),12),2)) AS y FROM meters WHERE household = 'h07'"
)
STATUS = ", ".join(f"ln(1+exp(-8000-sum(kwh))*greatest(sum(kwh)-{t},0)) AS y{t}" for t in range(15, 75))
PART = "FROM meters WHERE household = 'h07'"


@pytest.fixture
def scanned(monkeypatch):
    """The statements that look at private columns."""
    seen = []
    look = releasing.scanned

    def looked(prepared, engine):
        seen.append(prepared.sums and prepared.looked_up and prepared.statement)
        return look(prepared, engine)

    monkeypatch.setattr(releasing, "scanned", looked)
    return seen


@pytest.mark.parametrize("question", [CLOCK.format(t=17.583), f"SELECT {STATUS} {PART}"])
def test_an_output_that_no_private_value_moves_is_public_and_never_looked_up(towns, scanned, question):
    ledgers = [MemoryLedger(), MemoryLedger()]
    databases = [towns(kind, ledger=ledger) for kind, ledger in zip(("low", "high"), ledgers, strict=True)]
    answers = [database.ask(question, max_error=0.5) for database in databases]
    assert answers[0].to_arrow() == answers[1].to_arrow()
    assert set(answers[0].to_arrow().to_pylist()[0].values()) == {0.0}
    assert not any(scanned), "a private column was read"
    assert all(ledger.head().sequence == 0 for ledger in ledgers)
    assert "no private value moves it" in answers[0].explain()
    assert answers[0].fresh == ()


def test_rows_that_were_counted_for_the_price_are_not_counted_again(town, scanned):
    answer = town.ask("SELECT rooms, count(*) AS n, avg(kwh) AS mean FROM meters GROUP BY rooms", max_error=20)
    assert "count(*)" not in scanned[0] and "sum(" in scanned[0]
    alone = town.ask("SELECT rooms, count(*) AS n FROM meters GROUP BY rooms")
    assert not any(scanned[1:]), "the engine is asked for nothing once the price is known"
    assert alone.to_arrow()["n"] == answer.to_arrow()["n"]
    assert (
        sum(alone.to_arrow()["n"].to_pylist())
        == town.ask("SELECT count(*) AS n FROM meters").to_arrow()["n"][0].as_py()
    )


def test_a_constant_beside_other_outputs_leaves_them_as_they_are(town, scanned):
    both = town.ask(f"SELECT avg(kwh) AS mean, exp(-900-sum(kwh)) AS none {PART}", max_error=20)
    alone = town.ask(f"SELECT avg(kwh) AS mean {PART}", max_error=20)
    row, single = both.to_arrow().to_pylist()[0], alone.to_arrow().to_pylist()[0]
    assert row["none"] == 0.0 and {name: row[name] for name in single} == single
    assert alone.fresh == (False,), "the same label, charged once"
    assert len(scanned) == 1, "it is read from what is kept"
    priced = town.price(f"SELECT avg(kwh) AS mean {PART}", max_error=19)
    assert scanned[0] == priced.prepared.statement, "the constant asks for no sum of its own"
    assert both.to_dict()["cells"][0]["outputs"]["none"] == {"answer": 0.0, "exact": True, "unit": ""}


def test_a_constant_is_the_lattice_point_nearest_to_what_it_can_be(town):
    answer = town.ask(f"SELECT 7.123456 + exp(-900-sum(kwh)) AS y {PART}", max_error=0.5)
    assert answer.to_arrow().to_pylist() == [{"y": 7.123}]


def test_what_moves_by_more_than_a_grain_is_charged(town):
    quiet, loud = (
        town.price(f"SELECT {factor}*avg(kwh) AS y {PART}", max_error=0.5) for factor in ("1.8e-11", "2e-11")
    )
    assert quiet.prepared.outputs[0].constant is not None and not quiet.charge
    assert loud.prepared.outputs[0].constant is None
    assert {standing.used_by_this for standing in loud.standings} == {LEAST_SHARE}


def test_every_fresh_output_takes_a_millionth_of_the_allowance_at_least(towns):
    database = towns("plain", owner=True)
    price = database.price("SELECT avg(kwh) AS a, sum(peak)*1e-6 AS b FROM meters", max_error=4000)
    assert all(standing.used_by_this >= LEAST_SHARE * (1 - 1e-12) for standing in price.standings)
    asked = 0
    for bound in (4002, 4001, 4000):
        asked += any(database.ask("SELECT avg(kwh) AS a FROM meters", max_error=bound).fresh)
    entry = next(standing for standing in database.left() if standing.account.column == "kwh")
    assert asked == 3 and entry.used >= 3 * LEAST_SHARE * (1 - 1e-12)


def test_equal_outputs_are_one_label_and_one_charge(town):
    answer = town.ask(f"SELECT avg(kwh) AS a, avg(kwh) AS b {PART}", max_error=20)
    row = answer.to_arrow().to_pylist()[0]
    assert row["a"] == row["b"] and answer.fresh == (True, False)


def test_the_cost_of_an_answer_follows_from_public_facts(towns):
    costs = []
    for kind in ("plain", "nasty", "low", "high"):
        database = towns(kind)
        costs.append([public_cost(database.price(question, max_error=1000.0).prepared) for question in ANSWERED])
    assert costs[0] == costs[1] == costs[2] == costs[3]
    assert all(0 < cost < 1 for cost in costs[0])


def test_noise_is_drawn_before_the_private_columns_are_read(town, monkeypatch):
    order = []
    draw, look = CellNoise.draw, releasing.scanned
    monkeypatch.setattr(CellNoise, "draw", lambda *given: order.append("draw") or draw(*given))
    monkeypatch.setattr(releasing, "scanned", lambda *given: order.append("look") or look(*given))
    town.ask("SELECT avg(kwh) AS a, avg(peak) AS b FROM meters", max_error=5)
    assert order == ["draw", "draw", "look"]


def test_answers_of_wide_groups_are_those_of_single_ones(tmp_path):
    """A whole array of cells is computed at once; each is what it would be alone."""
    write_town(tmp_path / "town")
    with open_town(tmp_path / "town") as database:
        text = (
            "SELECT household, avg(kwh) AS a, ln(1 + sum(kwh)) AS b, var_pop(peak) AS c FROM meters GROUP BY household"
        )
        rows = database.ask(text, max_error={"a": 30, "b": 30, "c": 80}).to_arrow().to_pylist()
        frame = {row["household"]: row for row in rows}
        for household in ("h00", "h13"):
            exact = database.ask(
                f"SELECT count(*) AS n FROM meters WHERE household = '{household}'", max_error=1
            ).to_arrow()
            assert exact.to_pylist()[0]["n"] == 30
            assert abs(frame[household]["b"]) < 60
    assert len({row["a"] for row in rows}) > 12


def test_public_numbers_stay_exact(town):
    row = (
        town.ask(
            "SELECT count(*) AS n, sum(rooms) AS rooms, avg(rooms) AS mean, sum(area) AS area, count(*)/7 AS part, "
            "ln(count(*)) AS log FROM meters"
        )
        .to_arrow()
        .to_pylist()[0]
    )
    rooms = sum(1 + i % 6 for i in range(24)) * 30
    assert row["n"] == 720 and isinstance(row["n"], int)
    assert row["rooms"] == rooms and row["mean"] == rooms / 720
    assert row["part"] == 720 / 7 and row["log"] == pytest.approx(np.log(720), rel=1e-15)


@pytest.mark.parametrize("text", ["power(sum(kwh)*1e60, 4)", "1/(1 + sum(kwh)*1e-300)"])
def test_numbers_beyond_the_arithmetic_are_refused_or_answered_and_never_fail(town, text):
    try:
        answer = town.ask(f"SELECT {text} AS y {PART}", max_error=1e300)
    except ErrorFloorError as problem:
        assert problem.code != "answer-failed"
    else:
        json.dumps(answer.to_dict())


def test_a_private_output_that_is_null_everywhere_is_never_looked_up(towns, scanned):
    """It costs nothing, so that a look would be free, and off the grid of a network door."""
    for kind in ("low", "high"):
        answer = towns(kind).ask(
            f"SELECT power(sum(kwh), 9) + sum(kwh) FILTER (WHERE household = 'nobody') AS y {PART}", max_error=0.5
        )
        assert answer.to_arrow().to_pylist() == [{"y": None}] and not answer.charge
        assert "y has no value" in answer.explain()
    assert scanned == [(), ()], "a private column was read"


@pytest.mark.parametrize(
    ("wish", "number"),
    [({"max_error": 300.0}, 0.0), ({"max_error": 1.0}, 0.33), ({"support": HalfLine(0.0), "max_loss": 1.0}, 0.34)],
)
def test_what_is_said_of_a_constant_is_true(town, wish, number):
    """It is rounded to the lattice, and says by how much; it is never too small where that was asked for."""
    answer = town.ask(f"SELECT 1.0/3 + 1e-15*avg(kwh) AS y {PART}", **wish)
    assert answer.to_arrow().to_pylist() == [{"y": number}]
    assert abs(number - 1 / 3) < answer.max_error["y"] < abs(number - 1 / 3) * (1 + 1e-9)
    assert "of the truth" in answer.explain()


def test_functions_cost_what_they_take_on_a_single_cell(town):
    """Work beyond its public cost would leave the grid's first point to the clock; it is compared in CPU seconds."""
    text = "+".join(f"exp(-avg(kwh)-{i})+tanh(avg(kwh)-{i})+ln(1+avg(kwh)+{i})" for i in range(20))
    prepared = town.price(f"SELECT {text} AS y {PART}", max_error=200).prepared
    taken = []
    for _ in range(3):
        start = time.thread_time()
        releasing.look_and_release(prepared, town._engine, [town._key])
        taken.append(time.thread_time() - start)
    assert min(taken) < public_cost(prepared)
    assert public_cost(prepared) > 20 * 3 * 1e-3, "and not by accident"
