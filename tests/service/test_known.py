"""What is kept can be found by those who may ask; a question only by whose it is, by owners, or if it is shared."""

import pytest

from errorfloor.answering.answer import stated
from errorfloor.charging.settling import Grant
from errorfloor.errors import InputError
from town import open_town, write_town

MINE, YOURS = "SELECT avg(kwh) AS mean FROM meters", "SELECT tariff, sum(peak) AS peak FROM meters GROUP BY tariff"
JOINED = "SELECT h.people, avg(kwh) AS a FROM meters JOIN homes h USING (household) GROUP BY h.people"


@pytest.fixture
def asked(town):
    town.ask(MINE, max_error=2, analyst="ada")
    town.ask(YOURS, max_error=300, analyst="bob")
    return town


def test_the_custodian_finds_everything_with_its_bounds(asked):
    first, second = asked.known()
    assert (first["question"], first["analyst"], first["wish"]) == (MINE, "ada", {"max_error": 2.0})
    assert first["outputs"] == [{"name": "mean", "unit": "kWh", "exact": False, "low": -2.0, "high": 2.0}]
    assert (second["cells"], second["table"], second["version"]) == (2, "meters", "1")
    assert [one["number"] for one in asked.known(after=first["number"])] == [second["number"]]
    assert [one["question"] for one in asked.history()] == [MINE, YOURS]


def test_an_analyst_finds_that_there_is_more_but_not_what_others_asked(asked):
    first, second = asked.known(analyst="ada")
    assert first["question"] == MINE
    assert (second["question"], second["wish"], second["analyst"]) == (None, None, None)
    assert (second["outputs"], second["cells"], second["bytes"]) == ([], None, None)
    assert "peak" not in str(second) and "bob" not in str(second)
    assert [one["question"] for one in asked.history(analyst="ada")] == [MINE, None]
    assert asked.ask(YOURS, max_error=300, analyst="ada", charge=False).fresh == (
        False,
    )  # if they ask the same, it is free


HIDDEN = "SELECT tariff, rooms, sum(kwh) AS s FROM meters WHERE household = 'h07' GROUP BY tariff, rooms"
GUESSES = [f"SELECT sum(kwh) AS s FROM meters WHERE household = 'h{i:02d}'" for i in range(24)]


def test_a_number_that_follows_from_what_others_asked_does_not_say_from_which_answer_or_when(town):
    town.ask(HIDDEN, max_error=300, analyst="ada")
    (own,) = town.known(analyst="ada")
    for analyst, told in (("bob", False), ("ada", True), (None, True)):
        prices = [town.price(guess, max_error=300, analyst=analyst) for guess in GUESSES]
        (found,) = [one for one in prices if "from" in one.to_dict()["outputs"][0]]
        answer = town.ask(GUESSES[7], max_error=300, analyst=analyst, charge=False)
        assert found.prepared.question.where == answer.prepared.question.where
        for one in (found, answer):
            where = {"answer": own["number"], "time": own["time"]} if told else {"answer": None, "time": None}
            assert one.to_dict()["outputs"][0]["from"] == {**where, "cells": 1}
            assert ("released on " in one.explain(), "released before, and costs nothing" in one.explain()) == (
                told,
                not told,
            )
            assert (own["time"][:10] in one.explain() + one.summary() + str(stated(one))) is told


def test_nothing_that_follows_from_a_question_stands_beside_the_line_of_one_that_is_hidden(town):
    town.ask(HIDDEN, max_error=300, analyst="ada")
    (line,), (entry,) = town.known(analyst="bob"), town.history(analyst="bob")
    shown = {name for name, value in {**line, **entry}.items() if value not in (None, [], "")}
    assert shown == {"number", "time", "table", "version", "shared", "sequence", "key", "hash"}
    (mine,), (whole,) = town.history(analyst="ada"), town.history()
    assert mine == whole and whole["charges"] and whole["label"] and whole["analyst"] == "ada"


def test_what_is_asked_while_questions_are_shared_is_shown_to_all_and_what_was_asked_before_is_not(tmp_path):
    write_town(tmp_path)
    file = tmp_path / "errorfloor.toml"
    with open_town(tmp_path) as town:
        town.ask(MINE, max_error=2, analyst="ada")
        ledger = town.ledger
        written = file.read_text()
        file.write_text(written.replace('version = "1"', 'version = "1"\nquestions = "shared"', 1))
        with open_town(tmp_path, ledger=ledger, make=False) as shared:
            shared.ask(YOURS, max_error=300, analyst="ada")
            assert [one["question"] for one in shared.known(analyst="bob")] == [None, YOURS]
            assert [one["analyst"] for one in shared.known(analyst="bob")] == [None, None]
            total = "SELECT sum(peak) AS peak FROM meters"
            assert shared.price(total, max_error=600, analyst="bob").to_dict()["outputs"][0]["from"]["answer"] == 2


def test_a_grant_shows_what_was_asked_of_its_tables_alone(asked):
    asked.ask(JOINED, max_error=30)
    assert len(asked.within(Grant("t", tables=("meters",))).known()) == 2  # the third reads homes, too
    assert len(asked.within(Grant("t", tables=("meters", "homes"))).known()) == 3
    assert asked.within(Grant("t", tables=("homes",))).known() == []


def test_a_page_that_is_none_is_refused(asked):
    for wrong in ({"after": -1}, {"limit": 0}, {"limit": 1001}, {"after": "x"}, {"after": True}, {"limit": True}):
        with pytest.raises(InputError, match="after must be at least 0 and limit 1 to 1000"):
            asked.known(**wrong)
