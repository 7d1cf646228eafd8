"""Cross tables by one command: margins that add up, every form, the same sentences and exit codes as a question's."""

import csv
import io
import json
import shutil
from decimal import Decimal

import pytest

from commands import run
from patients import visits, write_patients
from town import write_town

USED = ("table", "meters", "--rows", "tariff", "--columns", "rooms", "--value", "sum(kwh) AS used")
BY_WEEK = ("--rows", "tariff", "--rows", "household", "--columns", "date_trunc('week', day) AS week")


@pytest.fixture(scope="module")
def registered(tmp_path_factory):
    folder = tmp_path_factory.mktemp("town")
    write_town(folder)
    assert run("register", cwd=folder).returncode == 0
    return folder


@pytest.fixture
def folder(registered, tmp_path):
    shutil.copytree(registered, tmp_path / "town")
    return tmp_path / "town"


def read(text, keys):
    """Read a cross table in CSV: its title, and the number in each row and column; a missing one is 0."""
    (title,), head, *lines = csv.reader(io.StringIO(text))
    found = {
        (*line[:keys], name): Decimal(number or 0)
        for line in lines
        for name, number in zip(head[keys:], line[keys:], strict=True)
    }
    return title, found


def test_margins_are_sums_of_what_is_shown_to_the_last_digit(folder):
    shown = run(*USED, "--max-error", "300", "--csv", cwd=folder)
    assert shown.returncode == 0, shown.stderr
    title, cells = read(shown.stdout, 1)
    assert title == "used, kWh, by tariff and rooms"
    tariffs, rooms = ("Std", "ToU"), [str(one) for one in range(1, 7)]
    for tariff in tariffs:
        assert cells[tariff, "total"] == sum(cells[tariff, one] for one in rooms)
    for one in (*rooms, "total"):
        assert cells["total", one] == sum(cells[tariff, one] for tariff in tariffs)


def test_subtotals_of_several_keys_add_up(folder):
    shown = run("table", "meters", *BY_WEEK, "--value", "sum(kwh)", "--max-error", "3000", "--csv", cwd=folder)
    _, cells = read(shown.stdout, 2)
    weeks = {week for *_, week in cells}
    for week in weeks:
        parts = {
            tariff: [n for (t, home, w), n in cells.items() if (t, w) == (tariff, week) and home != "total"]
            for tariff in ("Std", "ToU")
        }
        assert [cells[tariff, "total", week] for tariff in parts] == [sum(found) for found in parts.values()]
        assert cells["total", "", week] == sum(map(sum, parts.values()))


def test_it_is_the_question_by_cube_and_is_charged_once(folder):
    shown = run(*USED, "--max-error", "300", cwd=folder)
    assert shown.stdout.splitlines()[1].split() == ["tariff", *"123456", "total"]
    assert "used is certainly within ±300 kWh of the truth" in shown.stderr
    sql = "SELECT tariff, rooms, sum(kwh) AS used FROM meters GROUP BY CUBE (tariff, rooms)"
    asked = json.loads(run("ask", sql, "--max-error", "300", "--json", cwd=folder).stdout)
    assert asked["accounts"][0]["used_by_this"] == 0
    again = json.loads(run(*USED, "--max-error", "300", "--json", cwd=folder).stdout)
    table = again.pop("tables")[0]
    assert {word: again[word] for word in ("cells", "outputs")} == {word: asked[word] for word in ("cells", "outputs")}
    grid = [
        [low, high]
        for lows, highs in zip(table["low"], table["high"], strict=True)
        for low, high in zip(lows, highs, strict=True)
    ]
    keys = [
        dict(zip(("tariff", "rooms"), (*row, *column), strict=True))
        for row in table["rows"]
        for column in table["columns"]
    ]
    found = {str(one["keys"]): one["outputs"]["used"]["certain_interval"] for one in asked["cells"]}
    assert {str(key): ends for key, ends in zip(keys, grid, strict=True) if ends != [None, None]} == found


def test_a_price_charges_nothing(folder):
    for _ in range(2):
        shown = run(*USED, "--max-error", "300", "--price", "--json", cwd=folder)
        price = json.loads(shown.stdout)
        assert price["accounts"][0]["used"] == price["accounts"][0]["used_by_this"] > 0
    assert "certainly within ±300 kWh" in run(*USED, "--max-error", "300", "--price", cwd=folder).stdout


def test_several_values_are_a_table_each(folder):
    shown = run(*USED, "--value", "count(*) AS n", "--max-error", "300", "--html", cwd=folder)
    assert shown.stdout.count("<table>") == shown.stdout.count("</table>\n") == 2
    assert "<caption>n by tariff and rooms</caption>" in shown.stdout and '<th scope="row">total</th>' in shown.stdout
    assert "<td>720</td></tr>\n</tbody>" in shown.stdout


def test_bounds_that_differ_are_shown(folder):
    shown = run("table", "meters", "--rows", "tariff", "--value", "avg(kwh)", "--spend", "0.02", cwd=folder)
    assert [line.count("±") for line in shown.stdout.splitlines()] == [0, 0, 0, 1, 1, 1]


def test_totals_of_cells_with_noise_of_their_own_show_both_bounds(folder):
    shown = run("table", "meters", "--rows", "tariff", "--value", "sum(kwh)", "--spend", "0.00002", cwd=folder)
    bounds = [line.rpartition("± ")[2] for line in shown.stdout.splitlines()[3:]]
    assert bounds[0] == bounds[1] and float(bounds[2]) == pytest.approx(2 * float(bounds[0]))


def test_rows_can_be_chosen_and_dates_are_keys(folder):
    shown = run("table", "meters", *BY_WEEK, "--value", "count(*)", "--where", "rooms < 3", "--json", cwd=folder)
    table = json.loads(shown.stdout)["tables"][0]
    assert table["rows"][-1] == [None, None] and table["columns"][:1] == [["2013-01-14"]]
    assert table["numbers"][-1][-1] == 8 * 30 and "low" not in table


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([*USED], 2, "give one of --max-error, --spend and --noise, got none"),
        ([*USED, "--max-error", "0.01"], 3, "its declared floor is 0.5 kWh"),
        ([*USED, "--max-error", "300", "--csv", "--html"], 2, "at most one of --csv, --html and --json"),
        (["table", "meters", "--rows", "tariff, rooms", "--value", "sum(kwh)"], 2, "repeat the option for each"),
        (["table", "meters", "--rows", " ", "--value", "sum(kwh)"], 2, "--rows takes one key, got ' '"),
        (["table", "meters", "--rows", "kwh", "--value", "count(*)"], 2, "kwh"),
        (["table", "metres", "--rows", "tariff", "--value", "sum(kwh)", "--spend", "0.01"], 2, "meters"),
        (
            ["table", "meters", "--rows", "tariff", "--value", "median(kwh)", "--spend", "0.01"],
            2,
            "by several groupings",
        ),
    ],
)
def test_mistakes_have_the_words_and_codes_of_a_question(folder, arguments, code, words):
    shown = run(*arguments, cwd=folder)
    assert (shown.returncode, shown.stdout) == (code, ""), shown.stderr
    assert words in shown.stderr and "Traceback" not in shown.stderr


def test_texts_that_would_be_formulas_are_quoted(tmp_path):
    write_town(tmp_path)
    run("register", cwd=tmp_path)
    key = "CASE WHEN rooms < 3 THEN '=1+1' ELSE 'many' END AS size"
    shown = run("table", "meters", "--rows", key, "--columns", "tariff", "--value", "count(*)", "--csv", cwd=tmp_path)
    assert [line.partition(",")[0] for line in shown.stdout.splitlines()[2:]] == ["'=1+1", "many", "total"]
    named = run("table", "meters", "--rows", "tariff", "--value", 'count(*) AS "=1+1"', "--csv", cwd=tmp_path)
    assert named.stdout.splitlines()[:2] == ["'=1+1 by tariff", "tariff,'=1+1"]


def test_a_table_that_hides_records_shows_every_declared_group(tmp_path):
    write_patients(tmp_path, visits(people=40))
    command = ("table", "patients", "--rows", "sex", "--columns", "region", "--value", "count(*) AS visits")
    shown = run(*command, "--max-error", "400", "--csv", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    _, cells = read(shown.stdout, 1)
    assert len(cells) == 4 * 5
    regions = ("elsewhere", "north", "south", "west")
    for sex in ("f", "m", "other", "total"):
        assert cells[sex, "total"] == sum(cells[sex, one] for one in regions)
    assert "whether a patient is in the table" in shown.stderr
