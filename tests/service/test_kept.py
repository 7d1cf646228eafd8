"""What was released is kept: asked again it is read, whatever the process and the key, and never if it is another's."""

import os
import shutil
import sqlite3
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from errorfloor.answering import keeping
from errorfloor.errors import CatalogueError, LedgerError
from errorfloor.identity import KeyRing
from errorfloor.ledger import FileAnchor, SqlLedger, tables
from errorfloor.ledger.shelf import LAST
from errorfloor.ledger.upgrade import add_shelf
from town import open_town, write_town

AVERAGE = "SELECT tariff, avg(kwh) AS mean, count(*) AS n FROM meters GROUP BY tariff"
POSTGRESQL = any(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or shutil.which("initdb") is not None


class Home:
    """A town whose ledger lasts, to be opened again and again as another process would."""

    def __init__(self, folder, ledger):
        self.folder, self.ledger = folder, ledger
        write_town(folder, owner=True)
        self.made = False

    def open(self):
        place = SqlLedger(self.ledger, FileAnchor(self.folder / "ledger.anchor"), create=not self.made)
        database = open_town(self.folder, ledger=place, make=not self.made)
        self.made = True
        return database

    def file(self, statement, *values):
        """Change the ledger behind everybody's back."""
        with sqlite3.connect(self.ledger) as connection:
            return connection.execute(statement, values).fetchall()


@pytest.fixture(params=["sqlite", *(["postgresql"] if POSTGRESQL else [])])
def home(request, tmp_path):
    """A home with a ledger on each database in turn."""
    ledger = tmp_path / "town" / "ledger.sqlite"
    return Home(
        tmp_path / "town", request.getfixturevalue("postgresql_database") if request.param != "sqlite" else ledger
    )


@pytest.fixture
def sqlite_home(tmp_path):
    return Home(tmp_path / "town", tmp_path / "town" / "ledger.sqlite")


def rows(answer):
    return answer.to_arrow().to_pylist()


def test_asked_again_after_a_restart_it_is_read_and_nothing_is_scanned_drawn_or_charged(home, scans, monkeypatch):
    wishes = [(AVERAGE, {"max_error": 20}), ("SELECT sum(kwh) AS total FROM meters", {"spend": 0.001})]
    with home.open() as first:
        before = [first.ask(text, **wish) for text, wish in wishes]
        spent = first.ledger.accounts()
    assert scans
    scans.clear()
    monkeypatch.setattr("errorfloor.preparing.cell_noise.CellNoise.draw", lambda *_: pytest.fail("nothing is drawn"))
    with home.open() as again:
        after = [again.ask(text, **wish) for text, wish in wishes]
        priced = again.price(AVERAGE, max_error=20)
        assert again.ledger.accounts() == spent
    assert not scans
    for one, other in zip(before, after, strict=True):
        assert one.to_arrow().equals(other.to_arrow())
        assert one.cells() == other.cells()
        assert one.max_error == other.max_error
        assert (one.promised.root == other.promised.root).all()
        assert not any(other.fresh)
    assert not any(charge.information for charge in priced.charge.values())


def test_groups_that_were_left_out_are_still_said_to_be(sqlite_home):
    text = "SELECT tariff, avg(kwh) AS mean FROM meters GROUP BY tariff HAVING count(*) >= 300"
    with sqlite_home.open() as first:
        before = first.ask(text, max_error=20).to_dict()["left_out"]
    with sqlite_home.open() as again:
        assert again.ask(text, max_error=20).to_dict()["left_out"] == before == 1


def test_other_names_another_order_and_a_limit_are_the_same_question(sqlite_home, scans):
    with sqlite_home.open() as first:
        whole = rows(first.ask(AVERAGE, max_error=20))
    scans.clear()
    with sqlite_home.open() as again:
        text = "SELECT count(*) AS k, avg(kwh) AS m FROM meters GROUP BY tariff ORDER BY m DESC LIMIT 1"
        (one,) = rows(again.ask(text, max_error=20))
    assert not scans
    best = max(whole, key=lambda row: row["mean"])
    assert (one["m"], one["m_low"], one["k"]) == (best["mean"], best["mean_low"], best["n"])


def test_outputs_that_were_released_in_other_questions_are_put_together(sqlite_home, scans):
    with sqlite_home.open() as first:
        mean = rows(first.ask("SELECT rooms, avg(kwh) AS y FROM meters GROUP BY rooms", max_error=20))
        peak = rows(first.ask("SELECT rooms, sum(peak) AS y FROM meters GROUP BY rooms", max_error=3000))
        both = "SELECT rooms, sum(peak) AS b, avg(kwh) AS a FROM meters GROUP BY rooms"
        separate = first.price(both, max_error={"a": 20, "b": 3000})
    scans.clear()
    with sqlite_home.open() as again:
        answer = again.ask(both, max_error={"a": 20, "b": 3000})
        assert not scans
        assert [(row["a"], row["b"]) for row in rows(answer)] == [
            (one["y"], two["y"]) for one, two in zip(mean, peak, strict=True)
        ]
        assert answer.charge.keys() == separate.charge.keys()
        more = "SELECT rooms, avg(kwh) AS a, avg(peak) AS c FROM meters GROUP BY rooms"
        mixed = again.ask(more, max_error=20)
        assert mixed.fresh == (False, True)  # only what is new is charged and drawn
        assert [row["a"] for row in rows(mixed)] == [one["y"] for one in mean]


def test_a_charge_that_was_never_kept_is_drawn_again_alike_and_free_also_under_a_newer_key(home, monkeypatch):
    with home.open() as first:
        monkeypatch.setattr(keeping.Keeper, "keep", lambda *_, **__: False)  # as if it had died
        before = first.ask(AVERAGE, max_error=20)
        assert list(first.ledger.kept_page()) == []
    monkeypatch.undo()
    KeyRing(home.folder / "keys.json").rotate()
    with home.open() as again:
        after = again.ask(AVERAGE, max_error=20)
        assert after.to_arrow().equals(before.to_arrow()) and after.fresh == (False,)
        assert len(list(again.ledger.kept_page())) == 1
    with home.open() as later:
        assert later.ask(AVERAGE, max_error=20, charge=False).to_arrow().equals(before.to_arrow())


def test_killed_between_the_charge_and_the_shelf_it_is_charged_once_and_comes_back(sqlite_home):
    with sqlite_home.open() as first:
        records = first.ledger.head().sequence
    code = f"""
    import os, pathlib, signal, sys
    sys.path[:0] = {[str(Path(__file__).parents[1])]!r}
    from errorfloor.answering.keeping import Keeper
    from test_kept import AVERAGE, Home
    Keeper.keep = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
    home = Home.__new__(Home)
    home.folder, home.made = pathlib.Path({str(sqlite_home.folder)!r}), True
    home.ledger = home.folder / "ledger.sqlite"
    home.open().ask(AVERAGE, max_error=20)
    """
    path = os.pathsep.join(
        [str(Path(__file__).parent), str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    )
    died = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], env={**os.environ, "PYTHONPATH": path})
    assert died.returncode == -9
    with sqlite_home.open() as again:
        assert again.ledger.head().sequence == records + 1
        answer = again.ask(AVERAGE, max_error=20)
        assert answer.fresh == (False,)
        assert again.ledger.head().sequence == records + 1
        (kept,) = again.ledger.kept_page()
        assert kept.facts["sql"] == AVERAGE


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE ledger_kept SET content = CAST(substr(content, 1, 400) || x'00' || substr(content, 402) AS BLOB)",
        "UPDATE ledger_kept SET text = replace(text, '\"high\":20', '\"high\":19')",
        "UPDATE ledger_kept SET text = '{' || text",
        "UPDATE ledger_kept SET seal = '" + "0" * 64 + "'",
    ],
)
def test_what_was_changed_is_refused_and_once_forgotten_drawn_again(sqlite_home, change):
    with sqlite_home.open() as first:
        before = rows(first.ask(AVERAGE, max_error=20))
    sqlite_home.file(change)
    with sqlite_home.open() as again:
        with pytest.raises(LedgerError, match="kept answer 1 was changed by something else: restore"):
            again.ask(AVERAGE, max_error=20)
        assert again.ledger.forget(lambda one: one.number == 1) == 1
        answer = again.ask(AVERAGE, max_error=20)
        assert (rows(answer), answer.fresh) == (before, (False,))


def test_an_answer_is_never_given_in_place_of_another(sqlite_home):
    with sqlite_home.open() as first:
        first.ask(AVERAGE, max_error=20)
        first.ask(AVERAGE, max_error=10)
    sqlite_home.file("UPDATE ledger_kept_outputs SET number = 3 - number")
    with sqlite_home.open() as again, pytest.raises(LedgerError, match="was changed by something else"):
        again.ask(AVERAGE, max_error=20)


def test_an_answer_from_the_shelf_of_a_newer_ledger_is_charged_before_it_is_given(sqlite_home, tmp_path):
    with sqlite_home.open() as first:
        spent = first.ledger.accounts()
    for name in ("ledger.sqlite", "ledger.anchor"):
        shutil.copy(sqlite_home.folder / name, tmp_path / name)
    with sqlite_home.open() as newer:
        before = rows(newer.ask(AVERAGE, max_error=20))
        charged = newer.ledger.accounts()
    shelf = [(name, sqlite_home.file(f"SELECT * FROM {name}")) for name in ("ledger_kept", "ledger_kept_outputs")]
    for file in sqlite_home.folder.glob("ledger.sqlite*"):
        file.unlink()
    for name in ("ledger.sqlite", "ledger.anchor"):  # both: the ledger alone would be refused
        shutil.copy(tmp_path / name, sqlite_home.folder / name)
    for name, kept in shelf:
        for row in kept:
            sqlite_home.file(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", *row)
    with sqlite_home.open() as older:
        assert older.ledger.accounts() == spent
        answer = older.ask(AVERAGE, max_error=20)
        assert answer.fresh == (True,) and older.ledger.accounts() == charged
        assert rows(answer) == before


def test_an_older_ledger_serves_nothing(sqlite_home, tmp_path):
    with sqlite_home.open() as first:
        first.ask(AVERAGE, max_error=20)
    shutil.copy(sqlite_home.ledger, tmp_path / "older")
    with sqlite_home.open() as newer:
        newer.ask(AVERAGE, max_error=19)
    shutil.copy(tmp_path / "older", sqlite_home.ledger)
    with pytest.raises(LedgerError, match="older"):
        sqlite_home.open()


def test_another_version_or_another_vault_is_another_question(sqlite_home):
    with sqlite_home.open() as first:
        first.ask(AVERAGE, max_error=20)
    file = sqlite_home.folder / "errorfloor.toml"
    written = file.read_text()
    file.write_text(written.replace('version = "1"', 'version = "2"', 1))
    ledger = SqlLedger(sqlite_home.ledger, FileAnchor(sqlite_home.folder / "ledger.anchor"))
    with open_town(sqlite_home.folder, ledger=ledger, anew=True) as second:
        from errorfloor.service.registering import enter_all

        enter_all(second.ledger, second._engine)
        assert second.ask(AVERAGE, max_error=20).fresh == (True,)
    file.write_text(written)
    shutil.rmtree(sqlite_home.folder / "vault.duckdb")
    ledger = SqlLedger(sqlite_home.ledger, FileAnchor(sqlite_home.folder / "ledger.anchor"))
    with (
        open_town(sqlite_home.folder, ledger=ledger, anew=True) as remade,
        pytest.raises(CatalogueError, match="is not the snapshot that was charged under that version"),
    ):
        remade.ask(AVERAGE, max_error=20)


def test_a_ledger_of_the_version_before_is_given_a_shelf_and_loses_nothing(sqlite_home):
    with sqlite_home.open() as first:
        before = rows(first.ask(AVERAGE, max_error=20))
    for statement in (
        "DROP TABLE ledger_kept",
        "DROP TABLE ledger_kept_outputs",
        "UPDATE ledger_schema SET version = 4",
    ):
        sqlite_home.file(statement)
    with pytest.raises(
        LedgerError, match=r"version 4, this program has 5\): stop every server, then run errorfloor upgrade"
    ):
        sqlite_home.open()
    assert add_shelf(sqlite_home.ledger) and not add_shelf(sqlite_home.ledger)
    assert sqlite_home.file("SELECT version FROM ledger_schema") == [(tables.VERSION,)]
    for _ in range(2):
        with sqlite_home.open() as again:
            assert again.ledger.verify().head.sequence == 3
            answer = again.ask(AVERAGE, max_error=20)
            assert (rows(answer), answer.fresh) == (before, (False,))


def test_what_is_too_large_is_drawn_again(sqlite_home, monkeypatch):
    monkeypatch.setattr(keeping, "MOST_BYTES", 100)
    with sqlite_home.open() as first:
        before = rows(first.ask(AVERAGE, max_error=20))
        assert list(first.ledger.kept_page()) == []
    with sqlite_home.open() as again:
        assert rows(again.ask(AVERAGE, max_error=20, charge=False)) == before


def test_the_oldest_make_room_and_are_drawn_again_alike_and_free(home):
    bounds = [1e5 - number for number in range(60)]  # a wider one would follow from what is kept
    with home.open() as first:
        first.ledger.room = 24_000
        before, sizes = [], []
        for bound in bounds:
            before.append(rows(first.ask(AVERAGE, max_error=bound)))
            sizes.append(sum(one.size for one in first.ledger.kept_page()))
        spent, numbers = first.ledger.accounts(), [one.number for one in first.ledger.kept_page()]
    assert max(sizes) <= 24_000 and sizes[-1] > 12_000
    assert numbers == list(range(numbers[0], 61)) and numbers[0] > 1
    with home.open() as again:
        again.ledger.room = 24_000
        for bound, was in zip(bounds, before, strict=True):
            assert rows(again.ask(AVERAGE, max_error=bound, charge=False)) == was
        assert again.ledger.accounts() == spent


def test_what_takes_all_the_room_is_not_kept_and_takes_nothing_else_away(sqlite_home):
    with sqlite_home.open() as first:
        first.ask(AVERAGE, max_error=20)
        first.ledger.room = 1000
        first.ask(AVERAGE, max_error=19)
        assert [one.number for one in first.ledger.kept_page()] == [1]


def test_answers_that_are_forgotten_while_others_ask_for_them_come_back_alike(home):
    with home.open() as first:
        before = {bound: rows(first.ask(AVERAGE, max_error=bound)) for bound in (22, 21, 20)}
        spent = first.ledger.accounts()
    done = threading.Event()

    def forget():
        with home.open() as other:
            while not done.is_set():
                other.ledger.forget(lambda _: True)

    with ThreadPoolExecutor(1) as pool:
        forgetting = pool.submit(forget)
        try:
            for _ in range(5):
                with home.open() as again:  # which has nothing in memory
                    assert {one: rows(again.ask(AVERAGE, max_error=one, charge=False)) for one in before} == before
        finally:
            done.set()
        forgetting.result()
    with home.open() as last:
        assert last.ledger.accounts() == spent


ASKING = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from errorfloor.ledger import FileAnchor, SqlLedger
from town import open_town

folder = Path(sys.argv[2])
ledger = SqlLedger(sys.argv[3] if "://" in sys.argv[3] else Path(sys.argv[3]), FileAnchor(folder / "ledger.anchor"))
with open_town(folder, ledger=ledger, make=False) as database:
    print("open", flush=True)
    sys.stdin.readline()
    for number in range(12):
        answer = database.ask("SELECT tariff, avg(kwh) AS mean FROM meters GROUP BY tariff", max_error=1e5 - number)
        print(answer.to_arrow().to_pylist(), flush=True)
"""


def test_two_processes_that_ask_the_same_at_once_keep_one_answer_and_pay_once(home):
    with home.open() as first:
        begun = first.ledger.head().sequence
    command = [sys.executable, "-c", ASKING, str(Path(__file__).parents[1]), str(home.folder), str(home.ledger)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    both = [subprocess.Popen(command, **pipes) for _ in range(2)]
    for one in both:
        assert one.stdout.readline() == "open\n"
    for one in both:
        one.stdin.write("\n")
        one.stdin.flush()
    told = [one.communicate(timeout=120)[0].splitlines() for one in both]
    assert [one.returncode for one in both] == [0, 0]
    assert told[0] == told[1] and len(told[0]) == 12
    with home.open() as last:
        assert len(list(last.ledger.kept_page())) == 12
        assert last.ledger.verify().head.sequence == begun + 12
        assert len({one.asked for kept in last.ledger.kept_page() for one in kept.outputs}) == 12


def test_a_shelf_that_cannot_be_written_costs_nobody_an_answer(sqlite_home, monkeypatch):
    def full(*_):
        raise LedgerError("the disk of the ledger is full")

    with sqlite_home.open() as first:
        monkeypatch.setattr(SqlLedger, "keep", full)
        answer = first.ask(AVERAGE, max_error=20)
        assert answer.fresh == (True,)


def test_what_is_free_to_ask_takes_no_room_on_the_shelf(sqlite_home):
    text = "SELECT tariff, sum(kwh) AS total FROM meters GROUP BY tariff"
    with sqlite_home.open() as town:
        first = town.ask(text, spend=0.01)
        for step in range(1, 4):
            again = town.ask(text, spend=0.01 * (1 - 1e-9 * step), charge=False)  # another wish, with the same bound
            assert again.to_arrow().equals(first.to_arrow())
            more = text.replace(" AS total", f" AS total, count(*) + {step} AS n")
            assert not any(town.ask(more, max_error=first.max_error["total"], charge=False).fresh)
        assert len(list(town.ledger.kept_page())) == 1
        assert town.ask(text.replace(" AS total", " AS total, avg(peak) AS peak"), max_error=first.max_error["total"])
        assert len(list(town.ledger.kept_page())) == 2, "what is charged is kept"


def test_what_is_forgotten_is_in_no_file_of_the_ledger_while_others_have_it_open(sqlite_home):
    def seen():
        return [file.name for file in sqlite_home.folder.glob("ledger.sqlite*") if b"Mrs Miller" in file.read_bytes()]

    with sqlite_home.open() as town, sqlite_home.open() as other:
        town.ask("SELECT avg(kwh) AS y FROM meters WHERE household <> 'Mrs Miller'", max_error=20)
        assert seen()
        assert other.ledger.forget(lambda _: True) == 1
        assert not seen()


def test_answers_that_are_passed_over_hide_no_older_one(home):
    """More of somebody else's than are looked through; in each, two outputs over the same."""
    sql = "SELECT sum(kwh) AS s, sum(kwh) AS t FROM meters"
    with home.open() as database:
        for place in range(LAST + 5):
            database.ask(
                sql,
                max_error={"s": 16000 - 50 * place, "t": 19000 - 50 * place},
                analyst="anna" if place in (0, 2) else "bob",
            )
        every = list(database.ledger.kept_page())
        (what,) = {output["over"] for output in every[0].facts["outputs"]}
        mine = database.ledger.kept_over([what], chosen=lambda said: said["analyst"] == "anna")
        assert [one.number for one in mine] == [every[2].number, every[0].number]
        newest = [one.number for one in database.ledger.kept_over([what])]
        assert newest == [one.number for one in reversed(every)][:LAST]
