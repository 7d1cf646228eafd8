"""What can still be asked is what is then answered: the simulator is compared with asking."""

import itertools

import pytest

from errorfloor.errors import AllowanceError, InputError
from errorfloor.service.example import example_database
from errorfloor.support import HalfLine, Interval

AVERAGE = "SELECT avg(kwh) AS mean FROM meters"
OTHER = AVERAGE.replace("kwh", "kwh + 1")  # at the same price


def ask_until_refused(database, bound, **options):
    """Ask for other answers of nearly the same price; give how many there were."""
    for number in itertools.count():
        try:
            database.ask(AVERAGE, max_error=bound * (1 - number * 1e-9), **options)
        except AllowanceError:
            break
    return number


@pytest.mark.parametrize("analyst", [None, "ada"])
def test_as_many_answers_as_are_foretold_can_be_given(analyst):
    with example_database(quota={"analyst": 0.5}) as database:
        database.ask(OTHER, spend=0.3)
        bound = database.price(AVERAGE, spend=0.03).max_error["mean"]
        foretold = database.simulate(AVERAGE, max_error=bound, analyst=analyst)
        assert foretold.binding == ("meters.kwh" if analyst is None else "the quota of analyst ada of meters.kwh")
        assert foretold.answers == ask_until_refused(database, bound, analyst=analyst)
        assert foretold.answers == (23 if analyst is None else 16)
        assert database.simulate(AVERAGE, max_error=bound, analyst=analyst).answers == 0


def test_the_least_bound_is_affordable_and_a_smaller_one_is_not():
    with example_database() as database:
        for spent in (0.0, 0.6, 0.35):
            if spent:
                database.ask(OTHER, spend=spent)
            simulation = database.simulate(AVERAGE, max_error=2.0)
            least = simulation.least_max_error["mean"]
            assert database.price(AVERAGE, max_error=least).affordable
            assert not database.price(AVERAGE, max_error=least * 0.985).affordable
        assert database.ask(AVERAGE, max_error=least).fresh == (True,)


def test_several_outputs_are_scaled_alike():
    sql = "SELECT avg(kwh) AS mean, sum(kwh) AS total FROM meters"
    with example_database() as database:
        least = database.simulate(sql, max_error={"mean": 1.0, "total": 3000.0}).least_max_error
        assert least["total"] / least["mean"] == pytest.approx(3000, rel=0.02)
        assert database.price(sql, max_error=least).affordable
        assert not database.price(sql, max_error={name: bound * 0.98 for name, bound in least.items()}).affordable


def test_simulating_charges_nothing_and_reads_nothing_private(town):
    import re

    asked = []
    query = town._engine.query

    def watched(sql):
        asked.append(sql)
        return query(sql)

    town._engine.query = watched
    town.simulate("SELECT tariff, avg(kwh) AS mean FROM meters GROUP BY tariff", max_error=0.5)
    assert asked
    assert not [sql for sql in asked if re.search(r"\bx\d", re.sub(r"\bx\d+ IS (NOT )?NULL", "", sql))]
    assert town.history() == []


def test_what_was_answered_before_is_said_to_be_free_and_priced_as_new():
    with example_database() as database:
        before = database.simulate(AVERAGE, spend=0.1)
        database.ask(AVERAGE, spend=0.1)
        after = database.simulate(AVERAGE, spend=0.1)
        assert (before.free, after.free) == (False, True)
        assert (before.answers, after.answers) == (10, 9)
        assert "was answered before, and is free" in after.explain()


def test_nothing_left_is_said_so():
    with example_database() as database:
        ((account, whole),) = database.price(AVERAGE, spend=0.5).prepared.plan.allowances.items()
        from errorfloor.ledger import Entry

        prepared = database.price(AVERAGE, spend=0.5).prepared
        database.ledger.charge([Entry("ab" * 32, {account: whole}, {})], {account: whole}, prepared.terms)
        simulation = database.simulate(AVERAGE, max_error=1.0)
        assert (simulation.answers, simulation.least_max_error) == (0, None)
        assert "0 more answers of this price can be given; meters.kwh ends them." in repr(simulation)


def test_public_answers_are_without_end_and_one_sided_noise_has_no_least_bound():
    with example_database() as database:
        counting = database.simulate("SELECT count(*) AS n FROM meters")
        assert (counting.answers, counting.binding, counting.least_max_error) == (None, None, None)
        assert "any number can be given" in counting.explain()
        above = database.simulate(AVERAGE, support=HalfLine(0.0), max_loss=10.0)
        assert above.answers > 0
        assert above.least_max_error is None
        aside = database.simulate(AVERAGE, support=Interval(0.0, 2.0))
        assert aside.answers == database.simulate(AVERAGE, max_error=1.0).answers
        with pytest.raises(InputError, match="give one of max_error, spend and support"):
            database.simulate(AVERAGE)


def test_a_simulation_as_data():
    with example_database(quota={"month": 0.5}) as database:
        plain = database.simulate(AVERAGE, spend=0.2).to_dict()
    assert (plain["answers"], plain["free"], plain["table"]) == (2, False, "meters")
    assert [(account["quota"], account["answers"]) for account in plain["accounts"]] == [(False, 5), (True, 2)]
    assert all(0.19 < account["used_after_next"] <= 0.4 for account in plain["accounts"])
