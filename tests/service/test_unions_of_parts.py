"""What follows from released parts of a table that grows states what those tell, and is given for nothing."""

import csv
import re

import pytest

import errorfloor as ef
from monthly import MONTHLY, corrected, grow, write_catalogue, write_months

FINE = "SELECT date_trunc('month', day) AS m, tariff, day, sum(kwh) AS s FROM meters GROUP BY 1, 2, 3"
MONTHS = "SELECT date_trunc('month', day) AS m, tariff, sum(kwh) AS s FROM meters GROUP BY 1, 2"
TARIFFS = "SELECT tariff, sum(kwh) AS s FROM meters GROUP BY tariff"
TOLD = "told_apart_in_100"


def declare(home, **corrections):
    write_catalogue(home, corrected(**corrections) if corrections else MONTHLY)
    file = home / "errorfloor.toml"
    file.write_text(file.read_text().replace("floor = 0.2", "floor = 0.01").replace("floor = 0.5", "floor = 0.01"))


@pytest.fixture
def home(tmp_path):
    write_months(tmp_path, [1, 2])
    declare(tmp_path)
    grow(tmp_path)
    return tmp_path


@pytest.fixture
def january(tmp_path):
    write_months(tmp_path, [1])
    declare(tmp_path)
    grow(tmp_path)
    return tmp_path


def opened(home):
    return ef.open(home / "errorfloor.toml")


def come(home, *months):
    """Register more months."""
    write_months(home, months)
    grow(home)


def truth(home, *names):
    """The sum of kwh by some columns; a month is named ``m``."""
    found = {}
    with (home / "meters.csv").open() as file:
        for row in csv.DictReader(file):
            key = tuple(row["day"][:7] if name == "m" else row[name] for name in names)
            found[key] = found.get(key, 0.0) + float(row["kwh"])
    return found


def check_truth(home, answer, *names):
    exact, rows = truth(home, *names), answer.to_arrow().to_pylist()
    assert len(rows) == len(exact)
    for row in rows:
        key = tuple(str(row[name])[:7] if name == "m" else row[name] for name in names)
        assert row["s_low"] - 1e-6 <= exact[key] <= row["s_high"] + 1e-6


def test_what_is_stated_of_a_cell_of_a_part_is_what_the_cells_that_it_follows_from_tell(home):
    """It was what noise of its own would have told: 50.1 in 100 instead of 91.1, and numbers off its step."""
    with opened(home) as db:
        fine = db.ask(FINE, max_error=60)
        priced, answer = db.price(MONTHS, max_error=4000), db.ask(MONTHS, max_error=4000, charge=False)
        rows = fine.to_arrow().to_pylist()
        ((_, parts), *_), kept = [(one["keys"], one["outputs"]["s"]) for one in fine.cells()], db.known()
    (said,), (own,) = answer.to_dict()["outputs"], fine.to_dict()["outputs"]
    assert answer.fresh == (False,) and len(kept) == 2
    assert said["from"] == {"answer": 2, "time": kept[1]["time"], "cells": 2, "answers": [1, 2]}
    assert {name: said[name] for name in ("noise", "step", "information")} == {
        name: own[name] for name in ("noise", "step", "information")
    }
    assert answer.max_error == {"s": 120.0} and said["standard_error"] == pytest.approx(own["standard_error"] * 2**0.5)
    for cell in answer.cells():
        stated = cell["outputs"]["s"]
        assert stated["entries"] == parts["entries"] and stated["max_error"] == 120
        assert stated["owner"][TOLD] >= parts["owner"][TOLD]
        mine = [row["s"] for row in rows if (row["m"], row["tariff"]) == (cell["keys"]["m"], cell["keys"]["tariff"])]
        assert stated["answer"] == pytest.approx(sum(mine))
        assert stated["certain_interval"] == pytest.approx([sum(mine) - 120, sum(mine) + 120])
    for one in (priced, answer):
        assert "It follows from up to 2 cells released on" in one.explain()
        assert "It follows from cells that were released before, and costs nothing." in one.summary()
        assert one.setting is None and not any(charge.raised_cosine for charge in one.charge.values())
    check_truth(home, answer, "m", "tariff")


def test_where_a_part_has_no_cells_to_follow_from_every_part_is_charged_as_itself(january):
    with opened(january) as db:
        db.ask(FINE, max_error=60)
    come(january, 1, 2)
    with opened(january) as db:
        answer = db.ask(MONTHS, max_error=4000)
        assert answer.fresh == (True,) and "from" not in answer.to_dict()["outputs"][0]
        assert answer.max_error == {"s": 4000.0} and len(db.known()) == 3
        assert "follows from" not in answer.summary()
        assert db.ask(MONTHS, max_error=4000, charge=False).to_arrow() == answer.to_arrow()


def test_a_part_that_has_an_answer_of_its_own_keeps_it(january):
    with opened(january) as db:
        before = db.ask(MONTHS, max_error=300).to_arrow().to_pylist()
        own = db.ask(MONTHS, max_error=300).cells()
        db.ask(FINE, max_error=60)
    come(january, 1, 2)
    with opened(january) as db:
        fine = db.ask(FINE, max_error=60)
        answer = db.ask(MONTHS, max_error=300, charge=False)
        assert [row["s"] for row in answer.to_arrow().to_pylist()[:2]] == [row["s"] for row in before]
        check_truth(january, answer, "m", "tariff")
        told = [cell["outputs"]["s"]["entries"]["kwh"][TOLD] for cell in answer.cells()]
        least = [cell["outputs"]["s"]["entries"]["kwh"][TOLD] for cell in (*own, *fine.cells()[-2:])]
        assert all(one >= other for one, other in zip(told, least, strict=True))
        forgotten = db.known()[0]["number"]
        db.ledger.forget(lambda one: one.number == forgotten)
    with opened(january) as db:  # it was charged: it is drawn again, and never replaced
        again = db.ask(MONTHS, max_error=300)
        assert [row["s"] for row in again.to_arrow().to_pylist()[:2]] == [row["s"] for row in before]
        assert "from" not in again.to_dict()["outputs"][0]


def test_a_sum_over_parts_follows_from_what_was_released_of_each(home):
    with opened(home) as db:
        months = db.ask(MONTHS, max_error=100)
        answer = db.ask(TARIFFS, max_error=900, charge=False)
        assert answer.max_error == {"s": 200.0} and answer.fresh == (False,)
        told = {cell["outputs"]["s"]["entries"]["kwh"][TOLD] for cell in (*months.cells(), *answer.cells())}
        assert len(told) == 1
        for cell in answer.cells():
            mine = [one for one in months.cells() if one["keys"]["tariff"] == cell["keys"]["tariff"]]
            assert cell["outputs"]["s"]["owner"][TOLD] >= max(one["outputs"]["s"]["owner"][TOLD] for one in mine)
        check_truth(home, answer, "tariff")
        assert db.price(TARIFFS, max_error=199).to_dict()["outputs"][0].get("from") is None
        first = TARIFFS.replace("GROUP", "WHERE day < '2024-02-01' GROUP")
        assert db.ask(first, max_error=100, charge=False).max_error == {"s": 100.0}
        some = TARIFFS.replace("GROUP", "WHERE day < '2024-02-02' GROUP")  # a day of February
        assert "from" not in db.price(some, max_error=900).to_dict()["outputs"][0]
        known = len(db.known())
    come(home, 1, 2, 3)
    with opened(home) as db:
        assert "from" not in db.price(TARIFFS, max_error=900).to_dict()["outputs"][0]
        db.ask(MONTHS, max_error=100)
        assert db.ask(TARIFFS, max_error=900, charge=False).max_error == {"s": 300.0}
        assert len(db.known()) == known + 1


def test_a_corrected_part_is_another(home):
    with opened(home) as db:
        db.ask(FINE, max_error=60)
    write_months(home, [1, 2], changed={(2, 7)})
    declare(home, m02="2")
    grow(home, corrections=True)
    with opened(home) as db:
        for sql in (MONTHS, TARIFFS):
            assert "from" not in db.price(sql, max_error=4000).to_dict()["outputs"][0]
        db.ask(FINE, max_error=60)
        check_truth(home, db.ask(MONTHS, max_error=4000, charge=False), "m", "tariff")
        check_truth(home, db.ask(TARIFFS, max_error=4000, charge=False), "tariff")


def test_parts_with_different_bounds_each_count_with_their_own(january):
    with opened(january) as db:
        near = db.ask(MONTHS, max_error=40).cells()
    come(january, 1, 2)
    with opened(january) as db:
        far = db.ask(MONTHS, max_error=400).cells()[2:]
        answer = db.ask(TARIFFS, max_error=900, charge=False)
        assert answer.max_error == {"s": 440.0} and answer.to_dict()["outputs"][0]["step"] == "0.1"
        check_truth(january, answer, "tariff")
        (cell, *_) = answer.cells()
        assert cell["outputs"]["s"]["entries"] == near[0]["outputs"]["s"]["entries"]
        months = db.ask(MONTHS, max_error=500, charge=False).cells()
        told = [[one["outputs"]["s"]["entries"]["kwh"][TOLD] for one in cells] for cells in (months, [*near, *far])]
        assert all(one >= own for one, own in zip(*told, strict=True))  # of groups that are alike the worst is stated


def test_an_output_of_its_own_stays_beside_one_that_follows_from_finer_cells(home):
    both = MONTHS.replace("sum(kwh) AS s", "sum(kwh) AS s, avg(kwh) AS a, count(*) AS n")
    with opened(home) as db:
        db.ask(FINE, max_error=60)
        own = db.ask(MONTHS.replace("sum(kwh) AS s", "avg(kwh) AS a"), max_error=3).to_arrow()["a"]
        answer = db.ask(both, max_error={"s": 500, "a": 3}, charge=False)
        assert answer.fresh == (False, False) and answer.to_arrow()["a"] == own
        assert answer.max_error == {"s": 120.0, "a": 3.0, "n": 0.0}
        check_truth(home, answer, "m", "tariff")
        more = both.replace("count(*) AS n", "var_pop(kwh) AS n")
        assert db.ask(more, max_error={"s": 500, "a": 3, "n": 90}).fresh == (True, False, True)


def test_of_two_conditions_one_may_choose_a_part_and_the_other_cells(home):
    with opened(home) as db:
        db.ask(MONTHS, max_error=60)
        where = "WHERE day < '2024-02-01' AND tariff = 'A'"
        some = f"SELECT date_trunc('month', day) AS m, sum(kwh) AS s FROM meters {where} GROUP BY 1"
        (row,) = db.ask(some, max_error=500, charge=False).to_arrow().to_pylist()
        assert row["s_low"] - 1e-6 <= truth(home, "m", "tariff")["2024-01", "A"] <= row["s_high"] + 1e-6
        few = some.replace("'2024-02-01'", "'2024-01-02'")
        assert "from" not in db.price(few, max_error=5000).to_dict()["outputs"][0]


def test_a_condition_that_finds_no_row_of_a_part_takes_none_of_its_cells(tmp_path):
    write_months(tmp_path, [1, 2])
    file = tmp_path / "meters.csv"
    lines = [re.sub("^H0,(.*2024-02.*),A,", r"H0,\1,C,", one) for one in file.read_text().splitlines()]
    file.write_text("\n".join(lines) + "\n")
    declare(tmp_path)
    grow(tmp_path)
    exact = truth(tmp_path, "tariff")
    assert ("C",) in exact
    with opened(tmp_path) as db:
        db.ask(MONTHS, max_error=60)
        of_c = " FROM meters WHERE tariff = 'C'"
        for sql in (f"SELECT sum(kwh) AS s{of_c}", f"SELECT tariff, sum(kwh) AS s{of_c} GROUP BY tariff"):
            (row,) = db.ask(sql, max_error=900, charge=False).to_arrow().to_pylist()
            assert row["s_low"] <= exact["C",] <= row["s_high"]
        nobody = db.price("SELECT sum(kwh) AS s FROM meters WHERE tariff = 'no'", max_error=900)
        assert "from" not in nobody.outputs()[0]


def test_an_older_answer_that_does_not_serve_hides_none_that_does(home):
    by_month = "SELECT date_trunc('month', day) AS m, sum(kwh) AS s FROM meters GROUP BY 1"
    with opened(home) as db:
        db.ask(by_month, max_error=900)
        db.ask(by_month, max_error=100)
        db.ask(MONTHS, max_error=80)
        assert db.ask("SELECT sum(kwh) AS s FROM meters", max_error=1000, charge=False).max_error == {"s": 200.0}
        some = db.ask("SELECT sum(kwh) AS s FROM meters WHERE tariff = 'A'", max_error=900, charge=False)
        assert some.max_error == {"s": 160.0}
