"""What is said is true: clamping, softness, intervals of what is possible, real digits; in short and in full."""

import io
import re
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from errorfloor.display import text_table
from errorfloor.preparing.rounding import cut
from patients import open_patients
from questions import ANSWERED
from recorded import WIDE, opened
from town import open_town, write_town

SOFT = [
    ("avg(above(kwh, 10, 2))", "a is the share of rows with kwh above 10 kWh, softened over 9 … 11 kWh"),
    (
        "avg(between(kwh, 5, 10, 1))",
        "a is the share of rows with kwh between 5 and 10 kWh, softened over 4.5 … 5.5 kWh and 9.5 … 10.5 kWh",
    ),
    ("sum(above(2 * kwh, 10, 2))", "a has thresholds softened over 9 … 11"),
]
POSSIBLE = [
    ("avg(above(kwh, 10, 2))", 5.0, [0.0, 1.0]),
    ("avg(between(kwh, 5, 10, 1))", 5.0, [0.0, 1.0]),
    ("avg(kwh)", 400.0, [0.0, 50.0]),
    ("avg(peak)", 20.0, [0.5, 10.0]),
    ("sum(kwh)", 1e5, [0.0, 35600.0]),
    ("var_pop(kwh)", 4000.0, [0.0, 625.0]),
    ("avg(kwh)", 1e9, [0.0, 50.0]),  # a hundredth of its step is far more than what is possible
    ("avg(peak)", 1e6, [0.5, 10.0]),
    ("avg(above(kwh, 10, 2))", 1e7, [0.0, 1.0]),
]


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    folder = tmp_path_factory.mktemp("words") / "town"
    write_town(folder)
    with open_town(folder) as database:
        yield database


def asked(database, formula, bound):
    database.ledger.forget(lambda one: True)  # else a wide bound would be answered from a narrow one
    return database.ask(f"SELECT {formula} AS a FROM meters", max_error=bound)


@pytest.mark.parametrize(("formula", "bound", "ends"), POSSIBLE)
def test_ends_are_cut_to_what_is_possible_and_hold_the_truth(town, formula, bound, ends):
    (row,) = asked(town, formula, bound).to_arrow().to_pylist()
    assert [row["a_low"], row["a_high"]] == ends
    narrow = asked(town, formula, bound / 50).cells()[0]["outputs"]["a"]
    low, high = narrow["certain_interval"]
    assert ends[0] <= low <= high <= ends[1]
    assert low <= narrow["answer"] + bound / 50 and narrow["answer"] - bound / 50 <= high


@pytest.mark.parametrize("step", ["0.1", "1000"])
def test_what_is_possible_is_rounded_outwards_however_near_a_round_number_it_is(step):
    """Nearer than what evaluation errs, it is taken for that number; a value may be declared just below another."""
    possible = np.array([0.99999999, 1 - 1e-13]), np.array([5.00000001, 5 + 1e-13])
    low, high = cut(np.array([2.0, 2.0]), (np.array([-50.0]), np.array([50.0])), possible, step, slice(None))
    assert 0.99 < low[0] < 0.99999999 and 5.00000001 < high[0] < 5.01
    assert (low[1], high[1]) == (1.0, 5.0)


def test_what_is_kept_is_cut_alike(tmp_path):
    write_town(tmp_path / "town")
    text = "SELECT tariff, avg(above(kwh, 10, 2)) AS a FROM meters GROUP BY tariff"
    with open_town(tmp_path / "town") as first:
        fresh = first.ask(text, max_error=0.9).to_arrow()
        book = first.ledger
        with open_town(tmp_path / "town", ledger=book, make=False) as second:
            again = second.ask(text, max_error=0.9)
            assert again.prepared.is_kept and again.to_arrow().equals(fresh)


def test_ends_have_the_digits_of_their_step():
    generator = np.random.default_rng(5)
    for step, places in (("0.001", 5), ("0.1", 3), ("10", 0), ("1000", 0)):
        size = float(step)
        values = np.rint(generator.uniform(-1e6, 1e6, 500)) * Fraction(step).numerator / Fraction(step).denominator
        bound = np.full(500, 731.4 * size)
        endless = np.full(500, np.inf)
        low, high = cut(values, (-bound, bound), (-endless, endless), step)
        for value, one, other in zip(values.tolist(), low.tolist(), high.tolist(), strict=True):
            exact = Fraction(repr(value)), Fraction(repr(731.4)) * Fraction(step)
            assert Fraction(repr(one)) == exact[0] - exact[1] and Fraction(repr(other)) == exact[0] + exact[1]
            assert len(repr(one).partition(".")[2]) <= max(places, 1)
        third = np.full(500, 1000 * size / 3)
        low, high = cut(values, (-third, third), (-endless, endless), step)
        assert (low <= values - third).all() and (high >= values + third).all()
        assert (high - low <= 2 * third + size / 40).all()


def test_no_number_of_an_answer_has_digits_that_are_not_real(town):
    text = "SELECT rooms, tariff, avg(kwh) AS a, sum(peak) AS b FROM meters GROUP BY {}"
    for keys in ("rooms, tariff", "ROLLUP (rooms, tariff)"):
        answer = town.ask(text.format(keys), max_error=7.3)
        sink = io.BytesIO()
        pyarrow.csv.write_csv(answer.to_arrow(), sink)
        assert not re.search(rb"\d\.\d{11}", sink.getvalue())
        assert not re.search(r"\d\.\d{11}", answer._repr_html_())


def test_every_sentence_about_a_private_column_says_what_it_is_clamped_to(tmp_path):
    with opened(tmp_path / "town", "plain") as database:
        for text in ANSWERED:
            price = database.price(text, max_error=WIDE["plain"])
            moved = any(one.added is not None for one in price.shown)
            for said in (price.explain(), price.summary()):
                assert ("clamped to" in said) == moved, (text, said)
            assert ("Clamped means: a value of" in price.explain()) == moved


@pytest.mark.parametrize(("formula", "words"), SOFT)
def test_softened_thresholds_are_called_that(town, formula, words):
    price = town.price(f"SELECT {formula} AS a FROM meters", max_error=300.0)
    assert f"{words}: values in there count in part." in price.explain()
    assert "thresholds softened over " in price.summary()


def test_a_summary_is_two_sentences_and_a_line_of_what_was_used(town):
    answer = town.ask("SELECT tariff, avg(kwh) AS mean, count(*) AS n FROM meters GROUP BY tariff", max_error=3.0)
    first, second, used = answer.summary().split("\n")
    assert first == "mean is certainly within ±3 kWh of the truth, with kwh clamped to 0 … 50 kWh; n is exact."
    assert second.startswith(
        "Whatever is asked, even someone who knows every other entry names the true one of two values"
    )
    assert second.endswith(" times in 100.")
    assert re.fullmatch(r"Used of allowances: meters\.kwh .+ %; by this answer: .+ %\.", used)
    assert repr(answer) == f"{answer.text()}\n\n{answer.summary()}"
    assert "<details>" in answer._repr_html_() and "Everything that is stated" in answer._repr_html_()


def test_many_accounts_are_said_in_few_words(tmp_path):
    write_town(tmp_path / "town")
    file = tmp_path / "town" / "errorfloor.toml"
    divided = 'version = "1"\naccount_by = ["household"]\n'
    file.write_text(file.read_text().replace('version = "1"\n', divided, 1) + "\n[quota]\nanalyst = 0.5\n")
    with open_town(tmp_path / "town") as database:
        answer = database.ask(
            "SELECT household, avg(kwh) AS a FROM meters GROUP BY household", max_error=24, analyst="ada"
        )
        assert len(answer.standings) == 24 == len(answer.quotas)
        assert len(answer.explain().split()) < 250 and len(answer.summary().split()) < 80
        assert answer.explain().count("It is the most used of 24 parts of this account.") == 2


def test_a_cut_interval_is_shown_in_place_of_the_bound():
    outputs = [{"name": "a", "exact": False, "low": -0.5, "high": 0.5, "step": "0.001", "unit": "kWh"}]
    table = pa.table({"a": [0.2, 7.0], "a_low": [0.0, 6.5], "a_high": [0.7, 7.5]})
    assert text_table(table, outputs).split("\n")[2:] == ["0.200 (0 … 0.7) kWh", "7.000 ± 0.5 kWh"]


def test_a_table_that_hides_records_shows_its_columns_and_no_count(tmp_path):
    with open_patients(tmp_path / "patients") as database:
        assert "patients, version 1: hides who is there; " in repr(database)
        assert "<td>at most 10,000</td>" in database._repr_html_()
        (row,) = database.ask("SELECT count(*) AS n FROM patients", max_error=9000).to_arrow().to_pylist()
        assert 0 <= row["n_low"] < row["n_high"] <= 10_000  # what is declared, whoever is there
