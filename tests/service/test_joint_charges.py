"""All outputs of a question are charged together, in one record, and what was released before is left out of it."""

import pytest

from errorfloor.service.example import example_database

MEAN, TOTAL = "avg(kwh) AS mean", "sum(kwh) AS total"
BOUNDS = {"mean": 0.5, "total": 2000.0, "again": 0.5}


def charged(database):
    return [
        (record["output"], sum(one["information"] + one["raised_cosine"] for one in record["charges"]))
        for record in database.history()
    ]


def test_one_record_pays_for_all_outputs_of_a_question():
    with example_database() as db:
        answer = db.ask(f"SELECT {MEAN}, {TOTAL} FROM meters", max_error=BOUNDS)
        (record,) = [one for one in db.ledger.entries() if one.charges]
    assert (answer.fresh, len(record.labels), record.note["output"]) == ((True, True), 2, "mean, total")


def test_what_was_released_before_is_left_out_of_the_joint_charge():
    with example_database() as one, example_database() as other:
        one.ask(f"SELECT {MEAN} FROM meters", max_error=0.5)
        both = f"SELECT {MEAN}, {TOTAL} FROM meters"
        price = one.price(both, max_error=BOUNDS)
        answer = one.ask(both, max_error=BOUNDS)
        other.ask(f"SELECT {TOTAL} FROM meters", max_error=2000.0)
        assert answer.fresh == (False, True)
        assert charged(one)[1] == charged(other)[0]
        assert price.charge == answer.charge
        assert not any(one.ask(both, max_error=BOUNDS).fresh)
        assert len(charged(one)) == 2


def test_an_output_that_is_asked_twice_is_charged_once():
    with example_database() as one, example_database() as other:
        answer = one.ask(f"SELECT {MEAN}, avg(kwh) AS again FROM meters", max_error=BOUNDS)
        other.ask(f"SELECT {MEAN} FROM meters", max_error=0.5)
        assert answer.fresh == (True, False)
        assert charged(one)[0][1] == charged(other)[0][1]
        row = answer.to_arrow().to_pylist()[0]
    assert row["mean"] == row["again"]


@pytest.mark.parametrize("outputs", [f"{MEAN}", f"{MEAN}, {TOTAL}", f"{MEAN}, {TOTAL}, var_pop(kwh) AS spread"])
def test_a_question_takes_the_share_that_is_to_be_spent_on_all_of_it(outputs):
    with example_database() as db:
        price = db.price(f"SELECT {outputs} FROM meters", spend=0.1)
    assert 0.098 < max(one.used_by_this for one in price.standings) <= 0.1
