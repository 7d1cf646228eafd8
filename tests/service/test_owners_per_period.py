"""Owners whose two histories differ within one period only: each has an allowance, and rows never change theirs."""

import datetime

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import errorfloor as ef
from errorfloor.attacks import World, judge
from errorfloor.attacks.repetition import OwnerRows, OwnerTotal
from errorfloor.catalogue import Catalogue, load
from errorfloor.errors import AllowanceError, CatalogueError
from errorfloor.ledger import MemoryLedger
from errorfloor.server.pages.sheet import guarantee
from errorfloor.service.dummy import dummy_rows
from errorfloor.service.registering import register_all
from town import open_town, write_town

AVERAGE = "SELECT avg(kwh) AS mean FROM meters"
MONTH = 'per = { column = "day", period = "month" }'
HISTORIES = "two histories of one household that differ within one month only"


def declare(folder, words, under="[tables.meters.owner]\n"):
    file = folder / "errorfloor.toml"
    file.write_text(file.read_text().replace(under, f"{under}{words}\n"))


def rewrite(folder, change):
    """Change the table of meters, whose rows go by a number from then on."""
    table = pq.read_table(folder / "meters.parquet")
    if "number" not in table.column_names:
        table = table.append_column("number", pa.array(range(table.num_rows)))
        declare(folder, 'number = "whole"', "[tables.meters.public]\n")
        file = folder / "errorfloor.toml"
        file.write_text(file.read_text().replace('row_key = ["household", "day"]', 'row_key = ["number"]'))
    pq.write_table(change(table), folder / "meters.parquet")


def with_column(table, name, values):
    return table.set_column(table.column_names.index(name), name, values)


def on_day(chosen, day):
    """Put chosen rows on a day."""
    return lambda table: with_column(
        table, "day", pa.array([day if row in chosen else old for row, old in enumerate(table["day"].to_pylist())])
    )


@pytest.fixture
def town(tmp_path):
    """Give a function that opens the town with owners whose histories differ within some period, or anywhere."""
    opened = []

    def make(per, ledger=None, change=None, more=""):
        folder = tmp_path / f"town-{len(opened)}"
        write_town(folder, owner=True)
        declare(folder, per)
        declare(folder, more, "[tables.meters]\n")
        if change is not None:
            rewrite(folder, change)
        opened.append(open_town(folder, ledger=ledger))
        return opened[-1]

    yield make
    for database in opened:
        database.close()


def owners(database, sql=AVERAGE, **bound):
    """Give what a question costs owners, by the cell of their account."""
    charge = database.price(sql, **(bound or {"max_error": 5.0})).charge
    return {account.cell: one.raised_cosine for account, one in charge.items() if not account.column}


def test_each_month_is_charged_what_its_worst_owner_moves_in_it(town):
    whole, months = owners(town(""))[""], owners(town(MONTH))
    days = {"2013-01": 12, "2013-02": 18}  # of thirty, with a reading in all of them for somebody
    assert months.keys() == {f'["{month}"]' for month in days}
    for month, count in days.items():
        assert months[f'["{month}"]'] == pytest.approx(whole * (count / 30) ** 2, rel=1e-6)


@pytest.mark.parametrize(
    ("period", "cells"),
    [
        ("day", {f'["{datetime.date(2013, 1, 20) + datetime.timedelta(days=d)}"]' for d in range(30)}),
        ("week", {f'["2013-W{week:02}"]' for week in range(3, 9)}),
        ("quarter", {'["2013-Q1"]'}),
        ("year", {'["2013"]'}),
    ],
)
def test_periods_have_names(town, period, cells):
    assert owners(town(MONTH.replace("month", period))).keys() == cells


def test_a_whole_number_may_be_a_batch(town):
    batches = owners(town('per = { column = "rooms" }'))
    assert batches.keys() == {f"[{rooms}]" for rooms in range(1, 7)}


def test_a_month_that_a_question_does_not_read_costs_nothing(town):
    database = town(MONTH)
    january = AVERAGE + " WHERE day < DATE '2013-02-01'"
    assert owners(database, january).keys() == {'["2013-01"]'}
    assert owners(database, AVERAGE + " WHERE day < DATE '2013-01-01'") == {}
    database.ask(january, max_error=5.0)
    spent = {account.cell for account in database.ledger.accounts() if not account.column}
    assert spent == {'["2013-01"]'}


def test_rows_without_a_date_are_a_period_of_their_own(town):
    database = town(MONTH, change=on_day(range(29), None))
    assert owners(database).keys() == {"[null]", '["2013-01"]', '["2013-02"]'}
    with pytest.raises(AllowanceError, match="differ within the rows without day only"):
        database.ask(AVERAGE + " WHERE day IS NULL", max_error=0.1)


def test_entries_are_charged_as_before(town):
    def entries(database):
        charge = database.price(AVERAGE, max_error=5.0).charge
        return {account: one for account, one in charge.items() if account.column}

    assert entries(town(MONTH)) == entries(town(""))


def test_divided_accounts_of_entries_stay_beside_periods(town):
    charge = town(MONTH, more='account_by = ["tariff"]').price(AVERAGE, max_error=5.0).charge
    assert {(account.column, account.cell) for account in charge} == {
        ("kwh", '["Std"]'), ("kwh", '["ToU"]'), ("", '["2013-01"]'), ("", '["2013-02"]'),
    }  # fmt: skip


def test_one_month_used_up_leaves_the_other(town):
    database = town(MONTH)
    january, february = (AVERAGE + f" WHERE day {side} DATE '2013-02-01'" for side in ("<", ">="))
    database.ask(january, spend=0.99)
    with pytest.raises(AllowanceError, match="differ within the month 2013-01 only be told apart more often"):
        database.ask(AVERAGE, max_error=4.0)
    database.ask(february, max_error=4.0)


def test_every_sentence_says_which_histories_are_meant(town):
    database = town(MONTH)
    said = database.price(AVERAGE, max_error=5.0).explain()
    assert "cannot tell which of two histories of one household that differ within the month 2013-02 only, both" in said
    assert "the most used of 2 parts" in said
    assert guarantee(database.catalogue).tables[0].histories == HISTORIES
    assert database.tables()[0]["owner"]["per"] == {"column": "day", "period": "month"}
    near = town(f"{MONTH}\napart = {{ kwh = 5 }}")
    assert (
        guarantee(near.catalogue).tables[0].histories
        == "two histories of one household that differ by at most 5 kWh in each kwh and within one month only"
    )


@pytest.mark.parametrize(("first", "then"), [("", MONTH), (MONTH, ""), (MONTH, MONTH.replace("month", "year"))])
def test_the_period_is_fixed_with_the_first_charge(town, first, then):
    ledger = MemoryLedger()
    town(first, ledger).ask(AVERAGE, max_error=20.0)
    with pytest.raises(CatalogueError, match="the accounts of meters were opened with per = "):
        town(then, ledger).ask(AVERAGE, max_error=21.0)


def test_a_release_is_charged_by_month(town):
    def cost(per):
        database = town(per)
        report = database.release(
            "meters",
            database.catalogue.folder / "out.parquet",
            columns={"kwh": ef.Interval(-30_000, 30_000)},
            batch="b",
        )
        return {one.account.cell: one.charge.raised_cosine for one in report.standings if not one.account.column}

    months, whole = cost(MONTH), cost("")
    assert months['["2013-02"]'] == pytest.approx(whole[""] * 18 / 30, rel=1e-6)


@pytest.mark.parametrize("attack", [OwnerTotal(), OwnerRows()])
def test_adversaries_keep_the_promise_of_one_month(town, attack):
    declared = town(MONTH).catalogue
    rows = {name: dummy_rows(one).slice(0, 40) for name, one in declared.tables.items()}
    days = [datetime.date(2013, 1 + row % 2, 1 + row % 28) for row in range(rows["meters"].num_rows)]
    place = rows["meters"].column_names.index("day")
    rows["meters"] = rows["meters"].set_column(place, "day", pa.array(days))
    with World(Catalogue(tables=dict(declared.tables)), "meters", None, rows, seed=3) as world:
        mine = world.secret.mine
        found = judge(attack, world, runs=40, seed=3)
    assert len({days[row].month for row in mine}) == 1
    assert not found.beaten
    assert found.right > 24  # what is allowed is enough to see something


@pytest.mark.parametrize(
    ("per", "said"),
    [
        ('per = { column = "dya", period = "month" }', "did you mean day"),
        ('per = { column = "day" }', 'period = "month", or another of day, week, month, quarter, year'),
        ('per = { column = "rooms", period = "month" }', "is for dates, and rooms is declared 'whole'"),
        ('per = { column = "day", period = "months" }', "month"),
        ('per = { column = "kwh", period = "month" }', "which is private"),
        ('per = { column = "day", perod = "month" }', "did you mean period"),
    ],
)
def test_periods_that_cannot_be_meant_are_refused(town, per, said):
    with pytest.raises(CatalogueError, match=said):
        town(per)


# -- rows stay in their periods from version to version


@pytest.fixture
def versions(tmp_path):
    """Register the town, and give a function that registers another version of it."""
    write_town(tmp_path, owner=True)
    declare(tmp_path, MONTH)
    rewrite(tmp_path, lambda table: table)
    file = tmp_path / "errorfloor.toml"
    register_all(load(file))

    def next_version(change):
        rewrite(tmp_path, change)
        file.write_text(file.read_text().replace('version = "1"', 'version = "2"'))
        register_all(load(file))

    return next_version


@pytest.mark.parametrize("day", [datetime.date(2013, 2, 1), datetime.date(2014, 1, 20), None])
def test_a_row_may_not_change_its_month(versions, day):
    with pytest.raises(CatalogueError, match="some row of meters has a different month of day than in version '1'"):
        versions(on_day([0], day))


def test_a_row_may_change_its_day_within_the_month(versions):
    versions(on_day([0], datetime.date(2013, 1, 31)))


def test_rows_of_several_months_may_not_come_back_under_other_keys(versions):
    with pytest.raises(CatalogueError, match="in several cells of month of day"):
        versions(lambda table: with_column(table, "number", pc.add(table["number"], 10_000)))


def test_a_month_more_may_come(versions):
    def more(table):
        added = with_column(table.slice(0, 30), "number", pc.add(table["number"].slice(0, 30), 10_000))
        return pa.concat_tables([table, on_day(range(30), datetime.date(2013, 3, 1))(added)])

    versions(more)


def test_versions_that_were_registered_before_are_compared_when_a_period_is_declared(tmp_path):
    write_town(tmp_path, owner=True)
    file = tmp_path / "errorfloor.toml"
    rewrite(tmp_path, lambda table: table)
    register_all(load(file))
    rewrite(tmp_path, on_day([0], datetime.date(2013, 2, 1)))
    file.write_text(file.read_text().replace('version = "1"', 'version = "2"'))
    register_all(load(file))
    declare(tmp_path, MONTH)
    with pytest.raises(CatalogueError, match="some row of meters has a different month of day than in version '1'"):
        register_all(load(file))


LIFE = f"{MONTH}\nlife = 0.03"


def test_an_account_for_life_is_kept_beside_those_of_months(town):
    whole, months, both = owners(town("")), owners(town(MONTH)), owners(town(LIFE))
    assert both == {**months, **whole}
    grouped = "SELECT tariff, rooms, sum(kwh) AS total FROM meters GROUP BY tariff, rooms"
    whole, months, both = (owners(town(per), grouped, max_error=500.0) for per in ("", MONTH, LIFE))
    assert both == {**months, **whole}


def test_either_account_refuses_what_it_does_not_cover(town):
    database = town(LIFE)
    spent = [
        database.ask(AVERAGE + f" WHERE day < DATE '2013-02-01' AND rooms <> {rooms}", spend=0.3)
        for rooms in (91, 92, 93)
    ]
    with pytest.raises(AllowanceError, match="differ within the month 2013-01 only be told apart"):
        database.ask(AVERAGE + " WHERE day < DATE '2013-02-01' AND rooms <> 94", spend=0.3)
    found = {one.account.cell: one for one in database.left() if not one.account.column}
    assert found.keys() == {"", '["2013-01"]'}
    assert 0.8 < found['["2013-01"]'].used <= 0.9 and found[""].used < found['["2013-01"]'].used
    assert found[""].promised.times == "97" and found['["2013-01"]'].promised.times == "95"
    assert "two histories of one household, both within" in spent[0].explain()
    assert "differ within the month 2013-01 only, both within" in spent[0].explain()
    database.ask(AVERAGE, spend=0.1)
    with pytest.raises(AllowanceError, match="two histories of one household be told apart"):
        database.ask(AVERAGE + " WHERE rooms <> 95", max_error=0.6)
    database.ledger.verify()


def test_life_needs_periods_and_is_promised_no_more_than_one_of_them(tmp_path):
    write_town(tmp_path / "town", owner=True)
    declare(tmp_path / "town", "life = 0.03")
    with pytest.raises(CatalogueError, match="life: is for an account beside those of periods: declare per, too"):
        load(tmp_path / "town" / "errorfloor.toml")
    declare(tmp_path / "town", MONTH)
    file = tmp_path / "town" / "errorfloor.toml"
    file.write_text(file.read_text().replace("life = 0.03", "life = 0.2"))
    with pytest.raises(CatalogueError, match=r"declare a life of at most 0\.05"):
        load(file)


@pytest.mark.parametrize(("before", "after"), [(MONTH, LIFE), (LIFE, MONTH), (LIFE, LIFE.replace("0.03", "0.02"))])
def test_an_account_for_life_counts_from_the_first_charge_or_never(town, before, after):
    ledger = MemoryLedger()
    town(before, ledger).ask(AVERAGE, max_error=5.0)
    with pytest.raises(CatalogueError, match="declare it as it was"):
        town(after, ledger).ask(AVERAGE, max_error=6.0)


def test_a_plan_and_a_page_know_both_accounts(town):
    database = town(LIFE)
    plan = database.plan([{"sql": AVERAGE, "max_error": 5.0}], {"meters": {"owner": [0.04]}})
    (line,) = [one for one in plan.accounts if one.name == "owners of meters"]
    assert 0 < line.candidates[0].used < 1 and line.largest["owners of meters, per month"] > 0.04
    (meters,) = guarantee(database.catalogue).tables
    assert (meters.owner_times, meters.life_times) == ("95", "97")
