"""A plan by command: what it prints, and which line of the file a mistake is in."""

import json
import tomllib

import pytest

from commands import run
from errorfloor.service import open_database
from town import write_town

PLAN = """
# what the council wants to publish
[candidates.meters]
kwh = [0.2, 1]

[candidates.homes]

[[questions]]
name = "by tariff"
sql = '''
SELECT tariff, avg(kwh) AS mean
FROM meters
GROUP BY tariff
'''
max_error = [0.5, 1]

[[questions]]
sql = "SELECT sum(peak) AS total FROM meters"
spend = 0.02
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("town")
    write_town(folder)
    assert run("register", cwd=folder).returncode == 0
    return folder


def planned(folder, text, *options):
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    return run("plan", "plan.toml", *options, cwd=folder)


def test_plan_prints_tables_on_stdout_and_charges_nothing(folder):
    shown = planned(folder, PLAN)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.splitlines()[0].split() == ["question", "bound", "meters.kwh", "meters.peak", "together"]
    assert "From an empty ledger, all questions together use" in shown.stdout
    assert "0.5 kWh (declared)" in shown.stdout
    with open_database(folder / "errorfloor.toml") as database:
        assert database.history() == []


def test_json_is_what_the_database_gives_for_the_words_of_the_file(folder):
    shown = planned(folder, PLAN, "--json")
    with open_database(folder / "errorfloor.toml") as database:
        assert json.loads(shown.stdout) == database.plan(**tomllib.loads(PLAN)).to_dict()


def test_a_dry_plan_needs_no_table_and_says_so(folder):
    assert "The rows are dummies" in planned(folder, PLAN, "--dry").stdout


MISTAKES = [
    (PLAN.replace("spend", "spent"), "plan.toml, line 17: question 2 has 'spent', but a question has"),
    (PLAN.replace("avg(kwh)", "max(kwh)"), "plan.toml, line 8: question 1 (by tariff): `max(kwh)` is not supported"),
    (PLAN.replace("kwh = [0.2, 1]", "kwh = [20]"), "plan.toml, line 4: candidates.meters.kwh cannot be declared"),
    (PLAN.replace("candidates.homes", "candidates.homs"), "plan.toml, line 6: candidates.homs names no declared table"),
    (PLAN.replace("max_error = [", "max_error = [["), "plan.toml is not TOML: "),
    (PLAN + "[floors]\n", "plan.toml, line 20: 'floors' is no word of a plan, which has questions and candidates"),
    ("[candidates]\n", "plan.toml has no question: add a section [[questions]]"),
    ("candidates.meters.kwh = [99]\n" + PLAN.replace("[candidates.meters]\nkwh = [0.2, 1]", ""), "plan.toml, line 1: "),
]


@pytest.mark.parametrize(("text", "words"), MISTAKES)
def test_a_mistake_names_the_line(folder, text, words):
    shown = planned(folder, text)
    assert shown.returncode == 2
    assert words in shown.stderr
    assert "Traceback" not in shown.stderr


def test_a_missing_plan_says_what_one_looks_like(folder):
    shown = run("plan", "none.toml", cwd=folder)
    assert shown.returncode == 2
    assert "there is no plan none.toml: write one with a section [[questions]]" in shown.stderr
