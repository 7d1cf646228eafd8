"""What whoever asks may have overlooked is said: values that no row has, and bounds that promise nothing."""

import pytest

from errorfloor.errors import RefusedError
from errorfloor.ledger import FileAnchor, SqlLedger
from errorfloor.service import open_database
from errorfloor.support import HalfLine, Interval
from monthly import JANUARY, grow, write_catalogue, write_months
from patients import open_patients, visits
from town import open_town, write_town

ABSENT = [
    ("tariff = 'Night'", "No row of meters has tariff = 'Night': there are 'Std' and 'ToU'."),
    ("tariff IN ('Std', 'Night')", "No row of meters has tariff = 'Night': there are 'Std' and 'ToU'."),
    ("tariff <> 'Night'", "No row of meters has tariff = 'Night': there are 'Std' and 'ToU'."),
    (
        "household IN ('a', 'b', 'c', 'd', 'e')",
        "No row of meters has household = 'a', 'b', 'c' or 2 more: there are 'h00', 'h01', 'h02', 'h03', 'h04', "
        "'h05', 'h06', 'h07', 'h08', 'h09' and 14 more.",
    ),
    ("rooms = 7", "No row of meters has rooms = 7: there are 1, 2, 3, 4, 5 and 6."),
    ("area = 12.34", "No row of meters has area = 12.34: there are 33 values, from 30 to 55.2."),
    ("day = DATE '2026-01-01'", "No row of meters has day = 2026-01-01: there are 30 values, from 2013-01-20 to "),
    ("tariff = '\n" + "x" * 99 + "'", "No row of meters has tariff = '\\n" + "x" * 39 + "…': there are "),
]
PRESENT = ["tariff = 'Std'", "rooms = 6 AND household = 'h00'", "rooms IN (1, 7)", "day < DATE '2000-01-01'"]
VACUOUS = [
    ("avg(kwh)", {"max_error": 1e9}, "The bound of a says nothing beyond the declared range; one below ±25 kWh would."),
    ("avg(kwh)", {"max_error": 25}, "The bound of a says nothing beyond the declared range; one below ±25 kWh would."),
    (
        "avg(kwh) - avg(peak)",
        {"max_error": 50},
        "The bound of a says nothing beyond the declared ranges; one below ±29.75 would.",
    ),
    (
        "avg(kwh)",
        {"support": Interval(0.0, 60.0)},
        "The bound of a says nothing beyond the declared range; one narrower than 50 kWh would.",
    ),
    (
        "histogram(kwh, 10, 20)",
        {"max_error": 360},
        "The bound of a says nothing beyond the declared range; one below ±360 would.",
    ),
]
TELLING = [
    ("avg(kwh)", {"max_error": 24.9}),
    ("avg(kwh)", {"support": Interval(0.0, 49.0)}),
    ("avg(kwh)", {"support": HalfLine(0.0), "max_loss": 1e9}),
    ("histogram(kwh, 10, 20)", {"max_error": 350}),
    ("count(*)", {}),
]


@pytest.fixture(scope="module")
def towns(tmp_path_factory):
    found = {}
    for kind in ("low", "high"):
        folder = tmp_path_factory.mktemp("remarks") / kind
        write_town(folder, kind)
        found[kind] = open_town(folder)
    yield found
    for one in found.values():
        one.close()


@pytest.mark.parametrize(("where", "said"), ABSENT)
def test_a_value_that_no_row_has_is_said_with_those_that_there_are(towns, where, said):
    """By prices, answers and what is asked again, in short and in full; and no private value changes it."""
    sql = f"SELECT avg(kwh) AS a FROM meters WHERE {where}"
    for town in towns.values():
        price, answer, again = town.price(sql, max_error=20), town.ask(sql, max_error=20), town.ask(sql, max_error=20)
        for one in (price, answer, again):
            (remark,) = one.remarks()
            assert remark.startswith(said)
            assert remark in one.summary().split("\n") and remark in one.explain().split("\n")


def test_every_engine_says_the_same_of_values(engine_place, tmp_path):
    write_town(tmp_path / "town")
    with open_town(tmp_path / "town", engine_place.place) as town:
        for where, said in ABSENT:
            (remark,) = town.price(f"SELECT avg(kwh) AS a FROM meters WHERE {where}", max_error=20).remarks()
            assert remark.startswith(said)


@pytest.mark.parametrize("where", PRESENT)
def test_values_that_there_are_go_without_saying(towns, where):
    assert towns["low"].price(f"SELECT avg(kwh) AS a FROM meters WHERE {where}", max_error=20).remarks() == []


BOUNDS = [
    ("avg(kwh) AS a", {"a": 20, "b": 3}, "max_error names b, which is no output of this question."),
    ("avg(kwh) AS a, count(*) AS n", {"a": 20, "tariff": 1, "A": 2}, "max_error names tariff and A, which are no"),
    (
        "avg(kwh) AS a",
        {"a": 20} | dict.fromkeys("qrstu", 1),
        "max_error names q, r, s and 2 more, which are no outputs",
    ),
    ("avg(kwh) AS a, count(*) AS n", {"a": 20, "n": 1}, ""),
    ("histogram(kwh, 10, 20) AS h", {"h": 100}, ""),
    ("histogram(kwh, 10, 20) AS h", {"h_to_10": 100, "h_10_to_20": 100, "h_from_20": 100}, ""),
    ("median(kwh) AS m, stddev(kwh) AS s", {"m": 100, "s": 100}, ""),
    ("sum(peak) AS s, sum(sum(peak)) OVER (ORDER BY tariff) AS r", {"s": 900, "r": 900}, ""),
]


@pytest.mark.parametrize(("outputs", "bounds", "said"), BOUNDS)
def test_a_bound_for_what_is_no_output_is_said_in_prices_and_answers(towns, outputs, bounds, said):
    sql = f"SELECT tariff, {outputs} FROM meters GROUP BY tariff"
    for town in towns.values():
        for one in (town.price(sql, max_error=bounds), *(town.ask(sql, max_error=bounds) for _ in range(2))):
            found = [remark for remark in one.remarks() if "max_error names" in remark]
            assert len(found) == bool(said) and all(remark.startswith(said) for remark in found)
            for line in found:
                assert line in one.summary().split("\n") and line in one.explain().split("\n")


def test_a_count_of_rows_that_are_not_there_says_so_and_asks_for_misspelt_ones(towns):
    counted = towns["low"].ask("SELECT count(*) AS n FROM meters WHERE tariff = 'Night'")
    assert counted.to_arrow().to_pylist() == [{"n": 0}]
    assert counted.remarks() == ["No row of meters has tariff = 'Night': there are 'Std' and 'ToU'."]
    with pytest.raises(RefusedError, match="did you mean 'h07'"):
        towns["low"].ask("SELECT count(*) AS n FROM meters WHERE household = 'h070'")


def test_values_of_fewer_rows_than_groups_must_have_are_not_listed(towns):
    sql = "SELECT tariff, avg(kwh) AS a FROM meters WHERE tariff = 'Night' GROUP BY tariff HAVING count(*) >= {}"
    assert towns["low"].price(sql.format(300), max_error=20).remarks() == [
        "No row of meters has tariff = 'Night': there is 'Std'."
    ]
    assert towns["low"].price(sql.format(900), max_error=20).remarks() == [
        "No row of meters has tariff = 'Night': no value of tariff has so many."
    ]


def test_what_is_kept_says_it_in_another_process(tmp_path):
    sql = "SELECT avg(kwh) AS a, count(*) AS n FROM meters WHERE tariff IN ('Std', 'Night', 'Day')"
    anchor = FileAnchor(tmp_path / "ledger.anchor")
    write_town(tmp_path / "town")
    with open_town(tmp_path / "town", ledger=SqlLedger(tmp_path / "ledger.sqlite", anchor, create=True)) as town:
        first = town.ask(sql, max_error=20)
    with open_town(tmp_path / "town", ledger=SqlLedger(tmp_path / "ledger.sqlite", anchor), make=False) as town:
        again = town.ask(sql, max_error=20)
        assert again.prepared.is_kept and not any(again.fresh)
        alone = town.ask(sql.replace("count(*)", "avg(peak)"), max_error=20)
    said = "No row of meters has tariff = 'Day' or 'Night': there are 'Std' and 'ToU'."
    assert said in first.remarks() and first.remarks() == again.remarks() and said in alone.remarks()


def test_of_a_table_that_grows_it_is_said_of_the_parts_that_are_read(tmp_path):
    write_months(tmp_path, (1, 2))
    write_catalogue(tmp_path)
    grow(tmp_path)
    with open_database(tmp_path / "errorfloor.toml") as database:
        asked = JANUARY.replace(" GROUP", " AND batch IN (2, 3) GROUP")
        assert database.price(asked, max_error=8).remarks() == [
            "No row of the parts of meters that are read has batch = 2 or 3: there is 1."
        ]


def test_dummy_rows_say_nothing_of_values(towns):
    assert towns["low"].dry().price("SELECT avg(kwh) AS a FROM meters WHERE rooms = 77", max_error=20).remarks() == []


def test_nothing_is_said_of_rows_where_records_are_protected(tmp_path):
    with open_patients(tmp_path / "patients", visits()) as database:
        assert database.price("SELECT count(*) AS n FROM patients WHERE sex = 'x'", max_error=100).remarks() == []


@pytest.mark.parametrize(("formula", "wish", "said"), VACUOUS)
def test_a_bound_that_promises_nothing_is_said_to(towns, formula, wish, said):
    for town in towns.values():
        sql = f"SELECT {formula} AS a FROM meters"
        price, answer = town.price(sql, **wish), town.ask(sql, **wish)
        assert price.remarks() == answer.remarks() == [said]
        assert said in price.summary().split("\n") and said in answer.explain().split("\n")


@pytest.mark.parametrize(("formula", "wish"), TELLING)
def test_a_bound_that_promises_something_is_not(towns, formula, wish):
    assert towns["low"].price(f"SELECT {formula} AS a FROM meters", **wish).remarks() == []


def test_groups_in_which_a_bound_promises_nothing_are_counted(towns):
    sql = "SELECT tariff, sum(kwh) AS a FROM meters GROUP BY tariff"
    price = towns["low"].price(sql, max_error=7000)
    counted = towns["low"].ask("SELECT tariff, count(kwh) AS n FROM meters GROUP BY 1").to_arrow().to_pylist()
    rows = {row["tariff"]: row["n"] for row in counted}
    assert min(rows.values()) * 25 < 7000 < max(rows.values()) * 25
    (said,) = price.remarks()
    assert said == (
        f"In 1 of 2 groups the bound of a says nothing beyond the declared range; one below ±{rows['ToU'] * 25} kWh "
        f"would."
    )


def test_many_such_outputs_are_said_in_few_words(towns):
    columns = ", ".join(f"avg(kwh + {place}) AS a{place}" for place in range(5))
    said = towns["low"].price(f"SELECT {columns} FROM meters", max_error=100).remarks()
    assert len(said) == 4 and said[-1] == "So it is with 2 more outputs."


def test_a_table_that_protects_records_says_it_of_its_declarations(tmp_path):
    with open_patients(tmp_path / "patients", visits()) as database:
        said = database.price("SELECT count(*) AS n FROM patients", max_error=1e9).remarks()
    assert said == ["The bound of n says nothing beyond the declarations; one below ±5000 would."]
