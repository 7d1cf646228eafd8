"""Standing questions of others neither hide one's own, nor take long, nor reach a terminal as commands."""

import datetime
import time
from dataclasses import replace

import pytest

from errorfloor.accounts import PERIODS
from errorfloor.cli.app import run
from errorfloor.errors import AllowanceError, InputError
from errorfloor.following import standing as followed_list
from errorfloor.following.horizon import Horizon, _days
from errorfloor.following.period import names_of
from followed_house import HORIZON, SUM, House

MEAN = "SELECT avg(kwh) AS mean FROM meters"
ALL = "SELECT sum(kwh) AS used FROM meters"


@pytest.fixture
def house(tmp_path):
    made = House(tmp_path)
    made.register("1", 2)
    return made


@pytest.mark.parametrize("part", PERIODS)
def test_periods_are_those_that_days_have_one_by_one(part):
    day, every = datetime.date(1999, 12, 27), {}
    while day.year < 2009:
        name = PERIODS[part](day)
        every[name] = every.get(name, (day, day))[0], day
        day += datetime.timedelta(days=1)
    names = [name for name in every if "2000" <= name[:4] <= "2008"]
    for first in range(0, len(names) - 2, max(1, len(names) // 7)):
        chosen = names[first : first + 499]
        assert dict(Horizon.of("day", part, chosen[0], chosen[-1]).days) == {name: every[name] for name in chosen}
    with pytest.raises(InputError, match="since and until name the first and the last"):
        Horizon.of("day", part, names[3], names[1])


def test_a_long_horizon_is_found_at_once():
    _days.cache_clear()
    begin = time.thread_time()
    for year in range(2, 12):
        assert len(Horizon.of("day", "year", f"{year:04}", f"{year + 498:04}").names) == 499
    with pytest.raises(InputError, match="with 2 to 500 of them"):
        Horizon.of("day", "day", "0002-01-01", "0500-01-01")
    with pytest.raises(InputError, match="with 2 to 500 of them"):
        Horizon.of("day", "day", "0002-13-01", "9998-01-01")
    assert time.thread_time() - begin < 2  # one took more than a second


def test_where_a_wider_bound_would_not_help_less_time_is_advised(house):
    """What is booked beside the noise of a long horizon is the same for every bound."""
    long = {"since": "1990-01", "until": "2029-12"}
    with house.open() as db, pytest.raises(AllowanceError, match="ask for less time") as refused:
        for bound in range(9):
            db.follow(ALL, **long, max_error=1e9 + bound)
    assert "max_error of at least" not in str(refused.value)
    with house.open() as db:
        with pytest.raises(AllowanceError, match="ask for less time"):
            db.follow(ALL, **long, max_error=1e12)
        assert db.follow(ALL, since="1990-01", until="1999-12", max_error=1e9).fresh


def test_a_question_is_found_by_its_name_however_many_are_listed(house, monkeypatch):
    monkeypatch.setattr(followed_list, "MOST", 2)
    with house.open() as db:
        name = db.follow(SUM, **HORIZON, analyst="ada").name
        for bound in range(3):
            db.follow(ALL, since="2024-01", until="2024-02", max_error=1e9 + bound, analyst="mallory")
        assert len(db.following()) == 2 and name not in [one["id"] for one in db.following()]
        assert db.followed(name, analyst="ada").name == name
        with pytest.raises(InputError, match="there is no standing question"):
            db.followed("0" * 16)


@pytest.mark.parametrize("bound", [1e308, 1e80, 1e-300])
def test_a_bound_beyond_what_can_be_computed_is_refused_as_it_is_for_an_answer(house, bound):
    with house.open() as db:
        ours = db.follow(SUM, **HORIZON)
        wide = {**HORIZON, "max_error": bound}
        for work in (
            lambda: db.ask(SUM, max_error=bound),
            lambda: db.follow(SUM, **wide),
            lambda: db.follow_price(MEAN, **wide, least_rows=10),
            lambda: ours.extend("2026-12", max_error=bound),
        ):
            with pytest.raises(InputError, match=r"max_error must lie between 1e-75 and 1e\+75, got "):
                work()
        with pytest.raises(InputError, match=r"max_error × least_rows must lie between"):
            db.follow_price(MEAN, **{**HORIZON, "max_error": 1e70}, least_rows=10**12)


def test_what_lasts_pushes_no_other_answer_out(house):
    with house.open() as db:
        db.ask(SUM, max_error=500.0)
        (kept,) = db.ledger.kept_page()
        db.ledger.room = 4 * kept.size
        found = db.follow(SUM, **HORIZON)
        found.release("2024-02")
        assert sum(one.size for one in db.ledger.kept_page() if one.lasts) > kept.size
        for bound in (600.0, 700.0):
            db.ask(SUM, max_error=bound)
        assert kept.number in [one.number for one in db.ledger.kept_page()]


def test_what_is_kept_goes_by_the_number_that_was_drawn_with_the_charge(house):
    with house.open() as db:
        block = db.follow(SUM, **HORIZON).blocks[0]
        other = replace(block, drawn="0" * 32)
        assert block.part("2024-01") == other.part("2024-01")
        assert not set(names_of(block, "2024-01")) & set(names_of(other, "2024-01"))


def test_words_of_others_reach_a_terminal_without_control_characters(house, monkeypatch, capsys):
    asked = "SELECT sum(kwh) AS s FROM meters WHERE region <> '\x1b]0;owned\x07\x1b[2J'"
    with house.open() as db:
        db.follow(asked, **HORIZON, analyst="mallory")
        db.ask(asked, max_error=400.0, analyst="mallory")
    monkeypatch.chdir(house.folder)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    for words in (["follow", "--list"], ["ledger", "known"]):
        monkeypatch.setattr("sys.argv", ["errorfloor", *words])
        with pytest.raises(SystemExit):
            run()
        shown = capsys.readouterr().out
        assert "\x1b" not in shown and "\x07" not in shown
        assert r"region <> '\x1b]0;owned\x07\x1b[2J'" in shown
