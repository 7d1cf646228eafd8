"""A refusal's advice: every bound that must be widened is named, and what is advised is affordable."""

import re

import pytest

from errorfloor.accounts import percent
from errorfloor.answering.asking import Attendant, attended_by
from errorfloor.errors import AllowanceError
from errorfloor.service import open_database
from serving import write_pay


def advised(message):
    """The bounds as they would be typed again."""
    text = re.search(r"\(max_error (.*?) here\)", message)[1]
    if "=" not in text:
        return float(text)
    return {name: float(bound) for name, bound in (part.split("=") for part in text.split(", "))}


@pytest.fixture
def database(tmp_path):
    with open_database(write_pay(tmp_path, floor=1e8)) as opened:
        yield opened


@pytest.mark.parametrize(
    ("sql", "bound", "names"),
    [
        ("SELECT avg(wage) AS mean FROM pay WHERE person < 9", 50.0, None),
        ("SELECT avg(wage) AS mean, avg(wage) * 2 AS total FROM pay WHERE person < 9", 1e3, None),
        (
            "SELECT avg(wage) AS mean, sum(wage) AS total, var_pop(wage) AS spread FROM pay WHERE person < 25",
            {"mean": 1e3, "total": 7000.0, "spread": 1e12},
            {"mean", "total", "spread"},
        ),
    ],
)
def test_all_bounds_that_must_be_widened_are_named_and_suffice(database, sql, bound, names):
    with pytest.raises(AllowanceError) as refused:
        database.ask(sql, max_error=bound)
    wider = advised(str(refused.value))
    assert isinstance(wider, float) if names is None else set(wider) == names
    assert database.price(sql, max_error=wider).affordable
    database.ask(sql, max_error=wider)


@pytest.mark.parametrize("wish", [{"max_error": 1e3}, {"max_error": 5e6}, {"spend": 0.6}])
def test_what_is_advised_takes_no_more_than_one_question_may(database, wish):
    """Whether an allowance would break or only the limit: following the advice is never refused."""
    limited = Attendant()
    limited.question = 0.05
    sql = "SELECT avg(wage) AS mean FROM pay WHERE person < 90"
    with attended_by(limited):
        with pytest.raises(AllowanceError) as refused:
            database.ask(sql, **wish)
        message = str(refused.value)
        answer = database.ask(sql, max_error=advised(message))
    (standing,) = answer.standings
    assert 0.04 < standing.used_by_this <= 0.05
    assert f"which takes {percent(standing.used_by_this)} of the allowance" in message


def test_a_share_above_the_limit_is_advised_the_limit(tmp_path):
    limited = Attendant()
    limited.question = 0.05
    sql = "SELECT age, avg(wage) AS mean FROM pay GROUP BY age"
    with open_database(write_pay(tmp_path, floor=10.0)) as database, attended_by(limited):
        with pytest.raises(
            AllowanceError, match=r"\[limit\] question.*ask with a spend of at most 0.0(5|49\d); or"
        ) as refused:
            database.ask(sql, spend=0.2)
        share = float(re.search(r"a spend of at most ([\d.]+);", str(refused.value))[1])
        assert database.ask(sql, spend=share).fresh == (True,)


def test_an_output_that_was_answered_before_keeps_its_bound(database):
    database.ask("SELECT avg(wage) AS mean FROM pay", max_error=5e7)
    both = "SELECT avg(wage) AS mean, sum(wage) AS total FROM pay"
    with pytest.raises(AllowanceError) as refused:
        database.ask(both, max_error=5e7)
    wider = advised(str(refused.value))
    assert wider["mean"] == 5e7
    answer = database.ask(both, max_error=wider)
    assert answer.fresh == (False, True)


def test_how_much_wider_is_written_without_an_exponent(database):
    with pytest.raises(AllowanceError, match=r"at least [\d.]+ times as wide"):
        database.ask("SELECT avg(wage) AS mean FROM pay WHERE person < 9", max_error=1.0)
