"""Registers of owners: the same people in several tables have one account, which is never below the sum of theirs."""

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

import errorfloor as ef
from errorfloor.access.current import Current
from errorfloor.accounts import Account
from errorfloor.catalogue import Catalogue, load
from errorfloor.engines import open_engine
from errorfloor.errors import AllowanceError, CatalogueError, LedgerError
from errorfloor.identity import KeyRing
from errorfloor.ledger import Record, open_ledger
from errorfloor.ledger.audit import Replay
from errorfloor.planning.loss_so_far import losses_so_far
from errorfloor.service import Database
from errorfloor.service.joining import join
from errorfloor.service.registering import register_all
from houses import register_house

PERSONS = Account("register persons", "", "")
WAGES, VISITS = Account("wages", "", ""), Account("visits", "", "")
WAGE = "SELECT avg(wage) AS mean FROM wages"
COST = "SELECT sum(cost) AS total FROM visits"


def declaration(name, private, register, **more):
    owner = {"column": "person", "floor": more.pop("floor", 0.1), **more.pop("owner", {})}
    if register is not None:
        owner["register"] = register
    table = {
        "source": f"{name}.csv",
        "version": more.pop("version", "1"),
        "row_key": ["id"],
        "public": {"id": "whole", "person": "text", "day": "date"},
        "private": {private: {"range": [0, 100], "resolution": 1, "floor": 1}},
        "owner": owner,
    }
    return table | more


class House:
    """Two tables about persons in a folder, declared anew as one likes."""

    def __init__(self, folder):
        self.folder = folder
        KeyRing.create(folder / "keys.json")
        self.write("wages", "wage", range(200))
        self.write("visits", "cost", range(150, 350))

    def write(self, name, private, persons):
        rows = (
            f"{number},P{person},2024-{number % 2 + 1:02}-05,{number % 100}\n" for number, person in enumerate(persons)
        )
        (self.folder / f"{name}.csv").write_text(f"id,person,day,{private}\n" + "".join(rows))

    def declare(self, wages=None, visits=None, only=("wages", "visits"), **more):
        """Declare the tables with these registers; give the catalogue."""
        tables = {
            "wages": declaration("wages", "wage", wages, **more),
            "visits": declaration("visits", "cost", visits, **more),
        }
        text = "\n".join(
            f"[tables.{name}]\n" + "".join(f"{word} = {toml(value)}\n" for word, value in tables[name].items())
            for name in only
        )
        (self.folder / "errorfloor.toml").write_text(text)
        return load(self.folder / "errorfloor.toml")

    def register(self, *registers, names=None, **more):
        return register_house(self.declare(*registers, **more), names=names)

    def open(self):
        return ef.open(self.folder / "errorfloor.toml")

    def spent(self):
        """Give what is spent of owners, by account."""
        with open_ledger(load(self.folder / "errorfloor.toml").place, self.folder) as ledger:
            ledger.verify()
            return {one: charge.raised_cosine for one, charge in ledger.accounts().items() if not one.column}


def toml(value):
    match value:
        case dict():
            return "{ " + ", ".join(f"{word} = {toml(one)}" for word, one in value.items()) + " }"
        case _:
            return json.dumps(value)


@pytest.fixture
def house(tmp_path):
    return House(tmp_path)


def test_charges_of_both_tables_add_up_in_one_account(house):
    house.register("persons", "persons")
    with house.open() as db:
        wage = db.ask(WAGE, max_error=10).charge[PERSONS].raised_cosine
        cost = db.ask(COST, max_error=900).charge[PERSONS].raised_cosine
        names = [one.name for one in db.left()]
    assert house.spent() == {PERSONS: pytest.approx(wage + cost)}
    assert sorted(names) == ["owners of register persons", "visits.cost", "wages.wage"]


def test_what_one_table_used_is_no_longer_there_for_the_other(house):
    house.register("persons", "persons")
    with house.open() as db:
        db.ask(WAGE, spend=0.95)
        with pytest.raises(AllowanceError, match="one person in all tables of the register persons be told apart"):
            db.ask(COST, spend=0.2)
        db.ask(COST, spend=0.04)
        said = db.ask(COST, spend=0.04).explain()
    assert "two histories of one person in all tables of the register persons" in said
    assert "Used of the allowance of owners of register persons: 99 %" in said.replace("98.9", "99").replace(
        "98.8", "99"
    )


def test_joining_late_starts_at_the_sum(house):
    house.register(only=("wages",))
    with house.open() as db:
        first = db.ask(WAGE, spend=0.3)
    before = house.spent()
    house.register("visitors", "visitors")
    register = Account("register visitors", "", "")
    assert house.spent() == {**before, register: before[WAGES]}
    with house.open() as db:
        db.ask(COST, spend=0.2)
        again = db.ask(WAGE, spend=0.3)
        assert again.to_arrow() == first.to_arrow() and again.fresh == (False,)  # what was released stays, and is free
        (standing,) = [one for one in again.standings if not one.account.column]
        assert standing.account == register and standing.used == pytest.approx(0.5, abs=0.001)
        assert [one.used for one in db.left() if one.account == register] == [pytest.approx(0.5, abs=0.001)]
        with pytest.raises(AllowanceError):
            db.ask(COST, spend=0.6)
    assert house.spent()[WAGES] == before[WAGES]  # its own account is charged no more
    house.register("visitors", "visitors")  # once more adds nothing
    assert house.spent()[register] == pytest.approx(before[WAGES] * 5 / 3, rel=0.01)


def test_two_charged_tables_bring_both_sums(house):
    house.write("visits", "cost", range(1000, 1200))
    house.register(None, None)
    with house.open() as db:
        db.ask(WAGE, spend=0.7)
        db.ask(COST, spend=0.6)
    before = house.spent()
    house.declare("persons", "persons")
    with pytest.raises(CatalogueError, match=r"before its owners were in the register 'persons'.*run errorfloor reg"):
        house.open()
    house.register("persons", "persons", names=["wages"])  # whichever is registered: both join
    assert house.spent() == {**before, PERSONS: pytest.approx(before[WAGES] + before[VISITS])}
    with house.open() as db:
        assert next(one for one in db.left() if one.account == PERSONS).promised.told_apart > 0.9  # what is true now
        with pytest.raises(AllowanceError, match="is used up"):
            db.ask("SELECT avg(cost) AS mean FROM visits", spend=0.01)


def test_a_charge_before_joining_is_refused_by_the_ledger_itself(house):
    house.register(only=("wages",))
    with house.open() as db:
        db.ask(WAGE, spend=0.3)
    catalogue = house.declare("persons", "persons")
    parts = {"engine": open_engine(catalogue.place, house.folder), "ledger": open_ledger(catalogue.place, house.folder)}
    with Database(catalogue, **parts, keys=KeyRing(house.folder / "keys.json")) as db:
        with pytest.raises(CatalogueError, match="run errorfloor register, which adds it"):
            db.ask(WAGE, spend=0.1)
        assert house.spent().keys() == {WAGES}


def test_nobody_leaves_a_register_or_goes_to_another(house):
    house.register("persons", "persons")
    for other in (None, "others"):
        house.declare(other, "persons")
        with house.open() as db, pytest.raises(CatalogueError, match='declare register = "persons" for wages'):
            db.ask(WAGE, spend=0.1)
        with pytest.raises(CatalogueError, match="stays theirs"):
            house.register(other, "persons")


def test_nobody_leaves_a_register_by_having_no_owner(house):
    house.register("persons", "persons")
    file = house.folder / "errorfloor.toml"
    lines = file.read_text().splitlines(keepends=True)
    owners = [place for place, line in enumerate(lines) if line.startswith("owner")]
    for left in (owners[:1], owners):
        file.write_text("".join(line for place, line in enumerate(lines) if place not in left))
        with pytest.raises(CatalogueError, match=r'declare register = "persons" for (wages|visits)'):
            house.open()
        with pytest.raises(CatalogueError, match="stays theirs"):
            register_all(load(file))


@pytest.mark.parametrize(
    ("registers", "is_refused"),
    [
        ((None, None), True),
        (("persons", None), True),
        ((None, "persons"), True),
        (("persons", "persons"), False),
        (("employees", "patients"), False),  # it was said that they are other people
    ],
)
def test_a_likely_copy_is_refused_unless_somebody_said_whether_it_is_one(house, registers, is_refused):
    house.register(*registers, only=("wages",))
    if not is_refused:
        house.register(*registers)
        return
    advice = 'Declare register = "persons" under owner for visits and for wages'
    with pytest.raises(CatalogueError, match=advice) as refused:
        house.register(*registers)
    assert not any(figure in str(refused.value) for figure in ("50", "25", "200"))
    with house.open() as db, pytest.raises(CatalogueError, match="visits is not registered"):
        db.ask(COST, max_error=900)


@pytest.mark.parametrize(("shared", "is_refused"), [(20, True), (19, False), (0, False)])
def test_a_tenth_of_the_smaller_tables_owners_is_enough(house, shared, is_refused):
    house.write("visits", "cost", [*range(shared), *range(1000, 1600 - shared)])
    house.register(only=("wages",))
    if is_refused:
        with pytest.raises(CatalogueError, match="a tenth of them or more"):
            house.register()
    else:
        house.register()


def test_a_charged_table_that_is_not_declared_any_more_is_compared_too(house):
    house.register(only=("wages",))
    with house.open() as db:
        db.ask(WAGE, spend=0.3)
    with pytest.raises(CatalogueError, match="two allowances"):
        house.register(only=("visits",))


def test_other_types_of_owners_are_not_compared(house):
    catalogue = house.declare(only=("wages",))
    register_all(catalogue)
    visits = declaration("visits", "cost", None) | {"public": {"id": "whole", "person": "date", "day": "date"}}
    (house.folder / "visits.csv").write_text("id,person,day,cost\n1,2024-01-01,2024-01-05,3\n")
    both = {name: table.model_dump() for name, table in catalogue.tables.items()} | {"visits": visits}
    register_all(Catalogue(tables=both, folder=house.folder), ["visits"])


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"owner": {"column": "person", "floor": 0.2, "register": "persons"}}, "floor"),
        ({"noises": "any"}, "noises"),
        (
            {
                "owner": {
                    "column": "person",
                    "floor": 0.1,
                    "register": "persons",
                    "per": {"column": "day", "period": "month"},
                }
            },
            "per",
        ),
    ],
)
def test_tables_of_a_register_promise_the_same(changed, word):
    wages = declaration("wages", "wage", "persons")
    visits = declaration("visits", "cost", "persons") | changed
    with pytest.raises(ValueError, match=f"declare the same {word} for visits and wages"):
        Catalogue(tables={"wages": wages, "visits": visits})


def test_a_register_has_a_name_like_a_table():
    with pytest.raises(ValueError, match="names a register 'all persons'; a name is a letter followed by"):
        Catalogue(tables={"wages": declaration("wages", "wage", "all persons")})


def test_a_running_server_waits_until_all_have_joined(house):
    house.register(None, None, only=("wages",))
    with house.open() as db:
        db.ask(WAGE, spend=0.3)
        times = iter(range(100, 1000, 10))
        current = Current(db, house.folder / "errorfloor.toml", clock=lambda: next(times))
        catalogue = house.declare("persons", only=("wages",))
        assert current() is db
        register_all(catalogue)
        assert current().catalogue == catalogue


def test_a_table_that_protects_records_may_be_in_a_register(house):
    people = {"source": "wages.csv", "version": "1", "protects": "records", "columns": {"wage": {"range": [0, 100]}}}
    people["owner"] = {"column": "person", "floor": 0.1, "rows": 1, "register": "persons"}
    visits = declaration("visits", "cost", "persons")
    catalogue = Catalogue(tables={"people": people, "visits": visits}, folder=house.folder)
    register_all(catalogue)
    parts = {"engine": open_engine(catalogue.place, house.folder), "ledger": open_ledger(catalogue.place, house.folder)}
    with Database(catalogue, **parts, keys=KeyRing(house.folder / "keys.json")) as db:
        count = db.ask("SELECT count(*) AS n FROM people", max_error=100).charge[PERSONS]
        cost = db.ask(COST, max_error=900).charge[PERSONS]
        assert db.ledger.accounts()[PERSONS].raised_cosine == pytest.approx(count.raised_cosine + cost.raised_cosine)
        assert db.ledger.terms(("people",)) is not None  # what a charge of the register alone is about, is pinned
        assert db.ledger.pinned("people").keys() >= {("people", "snapshot", "people", "1"), ("people", "register")}
        db.ledger.verify()


def test_periods_of_two_tables_are_one_period(house):
    per = {"owner": {"per": {"column": "day", "period": "month"}}}
    house.register("persons", "persons", **per)
    with house.open() as db:
        wage = db.ask(WAGE + " WHERE day < DATE '2024-02-01'", max_error=20).charge
        cost = db.ask(COST, max_error=900).charge
    january, february = (replace(PERSONS, cell=f'["2024-0{month}"]') for month in (1, 2))
    both = wage[january].raised_cosine + cost[january].raised_cosine
    assert house.spent() == {january: pytest.approx(both), february: pytest.approx(cost[february].raised_cosine)}


def test_epsilon_counts_every_charge_once(house):
    house.write("visits", "cost", range(1000, 1200))
    house.register(None, None)
    with house.open() as db:
        db.ask(WAGE, spend=0.01)
        db.ask(COST, spend=0.01)
    house.register("persons", "persons")
    with house.open() as db:
        db.ask("SELECT avg(wage * wage) AS square FROM wages", spend=0.01)
        found = [losses_so_far(db.catalogue, db.ledger, name, delta=0.1) for name in ("wages", "visits")]
    assert found[0] == found[1]
    assert [(one.account, one.records) for one in found[0]] == [(PERSONS, 3)]


def test_plans_consider_the_register_once_and_for_all_of_its_tables(house):
    house.register("persons", "persons")
    with house.open() as db:
        questions = [{"sql": WAGE, "max_error": 10}, {"sql": COST, "max_error": 900}]
        plan = db.plan(questions, {"wages": {"owner": [0.2]}})
    (owners,) = [one for one in plan.accounts if one.name == "owners of register persons"]
    assert [one.floor for one in owners.candidates] == [0.1, 0.2]
    assert owners.candidates[0].used == pytest.approx(sum(owners.candidates[0].takes))
    assert all(one > 0 for one in owners.candidates[0].takes)
    assert [two > one for one, two in zip(*(line.takes for line in owners.candidates), strict=True)] == [True, True]


KILLED = """
import os, signal, sys
from errorfloor.catalogue import load
from errorfloor.ledger.book import Book
from errorfloor.service.registering import register_all

write = Book.append

def append(book, records, totals, terms):
    if sys.argv[2] == "before" and totals:
        os.kill(os.getpid(), signal.SIGKILL)
    write(book, records, totals, terms)
    if sys.argv[2] == "within" and totals:
        os.kill(os.getpid(), signal.SIGKILL)

Book.append = append
register_all(load(sys.argv[1]))
"""


@pytest.mark.parametrize("moment", ["before", "within"])
def test_a_kill_while_joining_leaves_all_of_it_or_nothing(house, moment):
    house.register(only=("wages",))
    with house.open() as db:
        db.ask(WAGE, spend=0.3)
    before = house.spent()
    house.declare("persons", "persons")
    command = [sys.executable, "-c", KILLED, str(house.folder / "errorfloor.toml"), moment]
    assert subprocess.run(command, env=os.environ, timeout=60).returncode == -signal.SIGKILL
    assert house.spent() == before
    with pytest.raises(CatalogueError, match="run errorfloor register"):
        house.open()
    house.register("persons", "persons")
    assert house.spent() == {**before, PERSONS: before[WAGES]}


def test_an_older_ledger_that_knows_nothing_of_the_register_is_refused(house):
    house.register(only=("wages",))
    with house.open() as db:
        db.ask(WAGE, spend=0.3)
    older = {file.name: file.read_bytes() for file in house.folder.glob("ledger.sqlite*")}
    house.register("persons", "persons")
    joined = {file.name: file.read_bytes() for file in house.folder.glob("ledger.sqlite*")}
    for files, is_refused in ((older, True), (joined, False)):
        for file in house.folder.glob("ledger.sqlite*"):
            file.unlink()
        for name, content in files.items():
            (house.folder / name).write_bytes(content)
        if is_refused:
            with pytest.raises(LedgerError, match="older"), house.open() as db:
                db.ask(COST, spend=0.1)
        else:
            with house.open() as db:
                db.ask(COST, spend=0.1)


def test_owners_are_compared_on_every_engine(house, engine_place):
    catalogue = house.declare().model_copy(update={"place": engine_place.place})
    register_all(catalogue, ["wages"])
    with pytest.raises(CatalogueError, match="owners of visits are owners of wages, too"):
        register_all(catalogue, ["visits"])
    both = house.declare("persons", "persons").model_copy(update={"place": engine_place.place})
    assert [one.fresh for one in register_all(both)] == [False, True]


def test_quotas_come_along_and_exports_have_it(house):
    house.register(only=("wages",))
    file = house.folder / "errorfloor.toml"
    quota = "\n[quota]\nanalyst = 0.5\n"
    file.write_text(file.read_text() + quota)
    with house.open() as db:
        db.ask(WAGE, spend=0.3, analyst="ada")
    house.declare("persons", "persons")
    file.write_text(file.read_text() + quota)
    register_all(load(file))
    with house.open() as db:
        (mine,) = [one for one in db.quotas("ada") if one.account.table == PERSONS.table]
        assert mine.used == pytest.approx(0.6, abs=0.01)
        with pytest.raises(AllowanceError, match="the quota of analyst ada of the owners of register persons"):
            db.ask(COST, spend=0.25, analyst="ada")
        records = [one.to_json() for one in db.ledger.entries()]
    replay = Replay()
    for _ in replay.through(map(Record.from_json, json.loads(json.dumps(records)))):
        pass
    restored = {one: total.rounded_up().raised_cosine for one, total in replay.totals.items() if not one.column}
    assert {one: amount for one, amount in restored.items() if not one.holder} == house.spent()


def test_those_who_join_at_once_add_it_once(house):
    house.register(only=("wages",))
    with house.open() as db:
        db.ask(WAGE, spend=0.3)
    before, catalogue = house.spent(), house.declare("persons", "persons")

    def joins(_):
        with open_ledger(catalogue.place, house.folder) as ledger:
            join(ledger, "wages", catalogue.tables["wages"])

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(joins, range(4)))
    assert house.spent() == {**before, PERSONS: before[WAGES]}
