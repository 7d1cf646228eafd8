"""A plan foretells what asking then does: what questions take, which one is refused, and which floors allow all."""

import re

import pytest

from errorfloor.charging.settling import Grant
from errorfloor.errors import AllowanceError, CatalogueError, InputError, RefusedError
from errorfloor.planning.listed import _two_digits
from errorfloor.service.example import example_database
from town import open_town, write_town

AVERAGE = "SELECT avg(kwh) AS mean FROM meters"
BY_TARIFF = "SELECT tariff, avg(kwh) AS mean FROM meters GROUP BY tariff"
QUESTIONS = [
    {"sql": AVERAGE, "max_error": 0.02, "name": "mean"},
    {"sql": BY_TARIFF, "max_error": 0.1},
    {"sql": "SELECT sum(kwh) AS total FROM meters", "max_error": 40},
    {"sql": BY_TARIFF, "spend": 0.03},
]


def with_floor(database, floor):
    """Give the example with another floor, and a ledger in which nothing is charged."""
    table = database.catalogue.tables["meters"]
    column = table.private["kwh"].model_copy(update={"floor": floor})
    changed = table.model_copy(update={"private": {"kwh": column}})
    return database.renewed(database.catalogue.model_copy(update={"tables": {"meters": changed}}))


def ask_all(database, questions):
    """Ask in order; give what each took, and the place of the first that is refused."""
    taken = []
    for place, one in enumerate(questions):
        try:
            answer = database.ask(one["sql"], max_error=one.get("max_error"), spend=one.get("spend"))
        except AllowanceError:
            return taken, place
        taken.append(max((standing.used_by_this for standing in answer.standings), default=0.0))
    return taken, None


def test_what_each_question_takes_is_what_asking_it_takes():
    with example_database() as database:
        plan = database.plan(QUESTIONS)
        taken, refused = ask_all(database, QUESTIONS)
        assert [one["meters.kwh"] for one in plan.course.takes] == taken
        assert (plan.fits, refused) == (True, None)
        assert plan.course.used["meters.kwh"] == pytest.approx(database.left()[0].used, rel=1e-12)


def test_questions_about_different_places_of_a_range_are_added_place_by_place():
    questions = [
        {"sql": f"SELECT avg(above(kwh, {threshold}, 2)) AS share FROM meters", "max_error": 0.015}
        for threshold in (10, 20, "20.5", 30, 40)
    ]
    with example_database() as database:
        plan = database.plan(questions)
        assert plan.course.used["meters.kwh"] < 2.1 * plan.course.takes[0]["meters.kwh"]
        ask_all(database, questions[:2])
        assert database.plan(questions[2:]).so_far.used == pytest.approx(plan.course.used, rel=1e-9)
        ask_all(database, questions[2:])
        assert plan.course.used["meters.kwh"] == pytest.approx(database.left()[0].used, rel=1e-9)


@pytest.mark.parametrize("bound", [0.013, 0.009, 0.005])
def test_the_first_that_no_longer_fits_is_the_first_that_is_refused(bound):
    questions = [{"sql": AVERAGE, "max_error": bound * (1 + place / 100)} for place in reversed(range(8))]
    with example_database() as database:
        plan = database.plan(questions)
        _, refused = ask_all(database, questions)
    assert plan.course.first_unfit == refused
    assert refused is not None
    assert f"question {refused + 1} is the first that no longer fits" in plan.explain()


def test_what_is_asked_twice_counts_once_also_where_it_is_a_part():
    both = "SELECT avg(kwh) AS m, sum(kwh) AS total FROM meters"
    bounds = {"m": 0.02, "total": 40.0}
    with example_database() as database:
        plan = database.plan(
            [
                {"sql": AVERAGE, "max_error": 0.02},
                {"sql": "select AVG(kwh) as other from meters", "max_error": 0.02},
                {"sql": both, "max_error": bounds},
            ]
        )
        alone = database.plan([{"sql": "SELECT sum(kwh) AS total FROM meters", "max_error": 40}])
    assert plan.course.takes[1] == {}
    assert plan.course.takes[2] == alone.course.takes[0]


def test_the_largest_floor_allows_all_of_it_and_the_next_does_not():
    fixed = QUESTIONS[:3]
    with example_database() as database:
        largest = database.plan(fixed).accounts[0].largest["meters.kwh"]
        grid = _two_digits(0.01, 14)
        following = grid[grid.index(largest) + 1]
        at, above = (with_floor(database, floor).plan(fixed) for floor in (largest, following))
        assert (at.fits, above.fits) == (True, False)
        assert f"all of it fits with a floor of up to {largest:g} kWh" in at.explain()
        assert ask_all(with_floor(database, largest), fixed)[1] is None


def test_shares_of_different_places_that_fit_together_are_not_said_to_fit_under_no_floor():
    shares = [{"sql": f"SELECT avg(above(kwh, {at}, 2)) AS s FROM meters", "spend": 0.4} for at in (10, 25, 40)]
    with example_database() as database:
        plan = database.plan([*shares, {"sql": AVERAGE, "max_error": 0.02}])
        assert plan.fits
        assert "meters.kwh: all of it fits with a floor of up to 2 kWh." in plan.explain()
        wrong = database.plan([*shares, {"sql": AVERAGE, "max_error": 0.002}])
        assert not wrong.fits
        assert "meters.kwh: no floor allows all of it" in wrong.explain()


def test_a_candidate_is_priced_as_if_it_were_declared():
    with example_database() as database:
        plan = database.plan(QUESTIONS, {"meters": {"kwh": [1, 5]}})
        declared, *others = plan.accounts[0].candidates
        assert (declared.floor, declared.declared, declared.used) == (2.0, True, plan.course.used["meters.kwh"])
        for line in others:
            beside = with_floor(database, line.floor).plan(QUESTIONS)
            assert line.used == beside.course.used["meters.kwh"]
            assert line.first_unfit == beside.course.first_unfit
            assert line.bounds == {3: beside.questions[3].max_error}, "what is asked by a share has other bounds"
        assert [line.first_unfit is None for line in plan.accounts[0].candidates] == [True, True, False]
        assert "Two values 5 kWh apart are told apart at most 99.3 times in 100" in others[0].meaning


def test_owners_are_considered_with_their_distance_and_their_period(tmp_path):
    write_town(tmp_path, owner=True)
    questions = [{"sql": BY_TARIFF, "max_error": 5}]
    owners = [0.2, {"floor": 0.2, "apart": {"kwh": 5}}, {"floor": 0.2, "per": {"column": "day", "period": "week"}}]
    with open_town(tmp_path) as database:
        plan = database.plan(questions, {"meters": {"owner": owners}})
        table = database.catalogue.tables["meters"]
        (account,) = [one for one in plan.accounts if one.name == "owners of meters"]
        for line, owner in zip(account.candidates[1:], owners, strict=True):
            declared = {**dict(table.owner), **(owner if isinstance(owner, dict) else {"floor": owner})}
            changed = type(table).model_validate({**dict(table), "owner": declared})
            other = database.renewed(database.catalogue.model_copy(update={"tables": {"meters": changed}}))
            assert line.used == pytest.approx(max(s.used for s in other.price(BY_TARIFF, max_error=5).standings), 1e-12)
        whole, near, weekly = account.candidates[1:]
        assert near.used < whole.used / 50
        assert weekly.used < whole.used
        assert set(account.largest) == {
            "owners of meters",
            "owners of meters, kwh 5 apart",
            "owners of meters, per week",
        }
        assert "differ by at most 5 kWh in each kwh" in near.meaning


def test_owners_by_another_column_are_named_for_it(tmp_path):
    write_town(tmp_path, owner=True)
    with open_town(tmp_path) as database:
        declared = database.catalogue.tables["meters"].owner
        others = [{"column": "rooms"}, {"column": "rooms", "floor": 0.3}, 0.3]
        plan = database.plan([{"sql": BY_TARIFF, "max_error": 5}], {"meters": {"owner": others}})
    (account,) = [one for one in plan.accounts if one.name == "owners of meters"]
    floors = [f"{declared.floor:g}", f"{declared.floor:g} by rooms", "0.3 by rooms", "0.3"]
    assert [one.what for one in account.candidates] == floors
    assert set(account.largest) == {"owners of meters", "owners of meters by rooms"}
    assert account.candidates[2].used > account.candidates[3].used, "there are fewer rooms than households"


def test_what_was_spent_on_hidden_tables_does_not_show(town):
    public = town.within(Grant("t", tables=("homes",)))
    questions = [{"sql": "SELECT count(*) AS n FROM homes"}]
    before = public.plan(questions).to_dict()
    town.ask(AVERAGE, max_error=20)
    assert public.plan(questions).to_dict() == before


def test_wider_bounds_make_it_fit_and_are_about_the_least():
    questions = [{"sql": AVERAGE, "max_error": 0.008}, {"sql": BY_TARIFF, "max_error": {"mean": 0.03}}]
    with example_database() as database:
        plan = database.plan(questions)
        assert not plan.fits
        wide = [
            {**QUESTIONS[0], "max_error": 0.008 * plan.wider},
            {"sql": BY_TARIFF, "max_error": {"mean": 0.03 * plan.wider}},
        ]
        narrow = [{**QUESTIONS[0], "max_error": 0.008 * (plan.wider - 0.2)}, questions[1]]
        assert database.plan(wide).fits
        assert not database.plan(narrow).fits
        assert f"With every max_error {plan.wider:g} times as wide" in plan.explain()


def test_no_bound_beyond_the_range_is_advised():
    one = "SELECT household, avg(kwh) AS mean FROM meters GROUP BY household"
    with example_database(households=20) as database:
        assert database.plan([{"sql": one, "max_error": 1}]).wider == 7.0
        assert with_floor(database, 13).plan([{"sql": one, "max_error": 1}]).wider is None


def test_bounds_that_tell_nothing_are_named():
    sql = "SELECT tariff, avg(kwh) AS mean FROM meters WHERE household < 10 GROUP BY tariff"
    with example_database() as database:
        plan = database.plan([{"sql": sql, "spend": 0.001, "name": "few"}, {"sql": AVERAGE, "max_error": 0.5}])
        (line, other), said = plan.questions, plan.explain()
    assert line.least["mean"] < line.max_error["mean"]
    assert (line.is_wide, other.is_wide, other.least) == (True, False, {})
    assert line.bound == "±31.15 to ±72.61 kWh"
    assert "few: its widest bound tells no more than the middle of what is possible" in said


def test_history_counts_only_where_it_is_said():
    with example_database() as database:
        before = database.plan(QUESTIONS, {"meters": {"kwh": [1, 3]}})
        assert before.so_far is None
        database.ask(AVERAGE, max_error=0.02)
        database.ask("SELECT avg(kwh) AS other FROM meters WHERE tariff = 'Std'", max_error=0.02)
        after = database.plan(QUESTIONS, {"meters": {"kwh": [1, 3]}})
        assert after.course == before.course
        assert [line.used for line in after.accounts[0].candidates] == [
            line.used for line in before.accounts[0].candidates
        ]
        assert after.so_far.takes[0] == {}, "it was released, and is free"
        spent = database.left()[0].used
        assert after.so_far.used["meters.kwh"] == pytest.approx(
            spent + before.course.used["meters.kwh"] - before.course.takes[0]["meters.kwh"], rel=1e-9
        )
        assert "With what was spent so far" in after.explain()
        assert [line.possible for line in after.accounts[0].candidates] == [True, False, True]
        with pytest.raises(CatalogueError, match="must not fall"):
            with_floor(database, 1.0).ask(AVERAGE, max_error=0.5)


def test_planning_charges_nothing_and_reads_nothing_private(town):
    asked = []
    query = town._engine.query
    town._engine.query = lambda sql: asked.append(sql) or query(sql)
    town.plan([{"sql": BY_TARIFF, "max_error": [0.5, 1]}], {"meters": {"kwh": [1, 2], "peak": [0.2]}})
    assert asked
    assert not [sql for sql in asked if re.search(r"\bx\d", re.sub(r"\bx\d+ IS (NOT )?NULL", "", sql))]
    assert town.history() == []


def test_other_bounds_are_priced_and_not_counted():
    with example_database() as database:
        plan = database.plan([{"sql": AVERAGE, "max_error": [0.02, 0.05]}])
        assert plan.questions[0].others[0][1] == database.plan([{"sql": AVERAGE, "max_error": 0.05}]).course.takes[0]
        assert plan.course == database.plan([{"sql": AVERAGE, "max_error": 0.02}]).course


def test_public_questions_take_nothing():
    with example_database() as database:
        plan = database.plan([{"sql": "SELECT count(*) AS n FROM meters", "max_error": 1}])
        assert (plan.fits, plan.course.used, plan.accounts) == (True, {}, ())
        assert "together use nothing: they fit" in plan.explain()


def test_a_question_that_no_door_would_let_pass_is_named():
    with example_database() as database:
        said = database.plan([{"sql": AVERAGE, "spend": 0.2, "name": "all of us"}]).explain()
    assert "all of us takes more than the 10 % that one question may ([limit] question)" in said


MISTAKES = [
    ([], {}, InputError, "a plan is about a list of questions, such as "),
    ([{"sq": 1}], {}, InputError, "question 1 has 'sq', but a question has sql, max_error, spend, name: did you mean"),
    ([QUESTIONS[0], {"max_error": 1}], {}, InputError, "question 2 needs its SQL, such as"),
    ([{"sql": AVERAGE, "max_error": []}], {}, InputError, "question 1 has an empty list of bounds"),
    ([{"sql": AVERAGE, "max_error": -1}], {}, InputError, "question 1 cannot be planned: max_error must be positive"),
    ([{"sql": AVERAGE}], {}, InputError, "question 1: give one of max_error, spend and support, got none"),
    ([{"sql": "SELECT max(kwh) FROM meters", "max_error": 1, "name": "top"}], {}, RefusedError, "question 1 (top): "),
    (QUESTIONS, {"meterz": {}}, InputError, "candidates.meterz names no declared table: did you mean meters?"),
    (QUESTIONS, {"meters": {"kw": [1]}}, InputError, "candidates.meters.kw is no private column of meters, nor owner"),
    (QUESTIONS, {"meters": {"kwh": 1}}, InputError, "candidates.meters.kwh needs a list of 1 to 50 floors"),
    (QUESTIONS, {"meters": {"kwh": [20]}}, InputError, "candidates.meters.kwh cannot be declared: private.kwh.floor"),
    (QUESTIONS, {"meters": {"owner": [0.2]}}, InputError, "cannot be declared: owner.column is missing"),
    (QUESTIONS, [1], InputError, "candidates are given by table"),
]


@pytest.mark.parametrize(("questions", "candidates", "kind", "words"), MISTAKES)
def test_mistakes_are_said_with_their_place(questions, candidates, kind, words):
    with example_database(households=20) as database, pytest.raises(kind, match=re.escape(words)):
        database.plan(questions, candidates)
