"""The path from a table to an answer by commands alone, and what wrong ones say."""

import json
import shutil

import pytest

from commands import run
from town import write_town

AVERAGE = "SELECT tariff, avg(kwh) AS mean FROM meters GROUP BY tariff"


@pytest.fixture(scope="module")
def registered(tmp_path_factory):
    folder = tmp_path_factory.mktemp("town")
    write_town(folder)
    shown = run("register", cwd=folder)
    assert shown.returncode == 0, shown.stderr
    assert "meters version 1: 720 rows, registered" in shown.stdout
    assert "values outside 0 … 50 kWh are clamped" in shown.stdout
    return folder


@pytest.fixture
def folder(registered, tmp_path):
    """A town of one's own: what is asked here is charged here."""
    shutil.copytree(registered, tmp_path / "town")
    return tmp_path / "town"


def test_a_table_is_registered_once(folder):
    shown = run("register", "--table", "meters", "--json", cwd=folder)
    assert json.loads(shown.stdout) == [{"table": "meters", "version": "1", "rows": 720, "fresh": False}]


def test_a_changed_source_needs_a_new_version(folder):
    write_town(folder, seed=2)
    shown = run("register", cwd=folder)
    assert shown.returncode == 2
    assert "version" in shown.stderr
    assert "Traceback" not in shown.stderr


def test_ask_prints_the_table_on_stdout_and_the_statement_on_stderr(folder):
    shown = run("ask", AVERAGE, "--max-error", "0.5", cwd=folder)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.splitlines()[0].split() == ["tariff", "mean"]
    assert "± 0.5 kWh" in shown.stdout
    assert "certainly within ±0.5 kWh of the truth" in shown.stderr
    again = run("ask", "-", "--max-error", "0.5", cwd=folder, text=AVERAGE)
    assert again.stdout == shown.stdout


def test_what_was_spent_is_remembered_between_commands(folder):
    first = json.loads(run("ask", AVERAGE, "--spend", "0.6", "--over-limit", "--json", cwd=folder).stdout)
    assert first["accounts"][0]["used"] > 0.5
    shown = run("ask", "SELECT avg(kwh) FROM meters", "--spend", "0.6", cwd=folder)
    assert shown.returncode == 3
    assert "declared floor is 0.5 kWh" in shown.stderr
    assert "ask with bounds at least" in shown.stderr
    assert shown.stdout == ""


def test_price_charges_nothing(folder):
    for _ in range(2):
        price = json.loads(run("price", AVERAGE, "--max-error", "0.5", "--json", cwd=folder).stdout)
        assert price["accounts"][0]["used"] == price["accounts"][0]["used_by_this"] > 0


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_an_answer_is_written_to_a_file(folder, ending):
    shown = run("ask", AVERAGE, "--max-error", "0.5", "--output", f"out.{ending}", cwd=folder)
    assert shown.returncode == 0, shown.stderr
    assert (folder / f"out.{ending}").stat().st_size > 50


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["ask", AVERAGE], 2, "give one of --max-error, --spend and --noise, got none"),
        (["ask", AVERAGE, "--max-error", "much"], 2, "--max-error must be a number"),
        (["ask", AVERAGE, "--max-error", "-5"], 2, "--max-error must be a number above 0, such as 0.5"),
        (["ask", AVERAGE, "--spend", "5"], 2, "such as 0.05 for 5 %; got 5"),
        (["ask", AVERAGE, "--max-error", "mean=0.5", "--max-error", "2"], 2, "each needs its output"),
        (["ask", AVERAGE, "--noise", "wide"], 2, "--noise must be an interval such as -0.5..0.5, or 0.."),
        (["ask", AVERAGE, "--noise", "0.."], 2, "--noise 0.. has no bound above: give the mean square"),
        (["ask", AVERAGE, "--noise", "5.."], 2, "--noise must be an interval such as -0.5..0.5, or 0.."),
        (["ask", AVERAGE, "--noise", "0..1,0..1"], 2, "--noise must be an interval"),
        (["ask", AVERAGE, "--max-error", "1", "--max-loss", "1"], 2, "--max-loss goes with --noise 0.. only"),
        (["ask", AVERAGE, "--max-error", "1", "--noise=-1..1"], 2, "got --max-error and --noise"),
        (["ask", AVERAGE, "--max-error", "0.5", "--output", "out.xls"], 2, "must end in .csv, .parquet or .arrow"),
        (["ask", "SELECT max(kwh) FROM meters", "--max-error", "0.5"], 2, "above("),
        (["ask", "SELECT avg(kwh) FROM metres", "--max-error", "0.5"], 2, "meters"),
        (["ask", "hello", "--max-error", "0.5"], 2, "errorfloor: "),
        (["ask", AVERAGE, "--max-error", "0.5", "--catalogue", "none.toml"], 2, "errorfloor init"),
        (["register", "--table", "cars"], 2, "declares no table 'cars'"),
    ],
)
def test_mistakes_are_named_in_one_line_and_nothing_is_charged(folder, arguments, code, words):
    shown = run(*arguments, cwd=folder)
    assert shown.returncode == code, shown.stderr
    assert words in shown.stderr
    assert "Traceback" not in shown.stderr
    price = json.loads(run("price", AVERAGE, "--max-error", "0.5", "--json", cwd=folder).stdout)
    assert price["accounts"][0]["used"] == price["accounts"][0]["used_by_this"]


def test_asking_before_registering_says_what_to_do(tmp_path):
    write_town(tmp_path / "new")
    shown = run("ask", AVERAGE, "--max-error", "0.5", cwd=tmp_path / "new")
    assert shown.returncode == 2
    assert "errorfloor register" in shown.stderr


def test_an_existing_file_is_not_replaced_by_an_answer(folder):
    before = (folder / "meters.parquet").read_bytes()
    shown = run("ask", AVERAGE, "--max-error", "0.5", "--output", "meters.parquet", cwd=folder)
    assert shown.returncode == 2
    assert "--overwrite" in shown.stderr
    assert (folder / "meters.parquet").read_bytes() == before


def test_counts_need_no_bound_and_an_unaffordable_price_names_one(folder):
    shown = run("ask", "SELECT count(*) AS n FROM meters", cwd=folder)
    assert shown.returncode == 0, shown.stderr
    assert "720" in shown.stdout
    price = run("price", AVERAGE, "--max-error", "0.001", cwd=folder)
    assert "Refused if asked" in price.stdout
    assert "ask with bounds at least" in price.stdout
