"""What a standing question released stays: after erasures, restorations, kills, and beside other processes."""

import multiprocessing
import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

import errorfloor as ef
from errorfloor.answering.keeping import Keeper
from errorfloor.catalogue import load
from errorfloor.cli.app import run
from errorfloor.engines import open_engine
from errorfloor.errors import CatalogueError, ErrorFloorError, InputError, RefusedError
from errorfloor.following import period as followed_period
from errorfloor.following import period as followed_release
from errorfloor.following.period import PlannedPeriod
from errorfloor.identity import KeyRing
from errorfloor.ledger import open_ledger
from errorfloor.service.registering import accept_ledger, erase_with
from followed_house import HORIZON, SUM, House

BY_HOME = "SELECT home, sum(kwh) AS used FROM meters WHERE home < 3 GROUP BY home"
WIDE = {**HORIZON, "max_error": 4000.0}


@pytest.fixture
def house(tmp_path):
    made = House(tmp_path)
    made.register("1", 4)
    return made


def erased(house, home, version, months=4):
    """Erase a home: from the source, and from the vault, in a new version."""
    source = house.folder / "meters.csv"
    lines = source.read_text().splitlines()
    source.write_text("\n".join(one for one in lines if not one.startswith(f"{home},")) + "\n")
    catalogue = house.folder / "errorfloor.toml"
    catalogue.write_text(re.sub(r'version = "\d+"', f'version = "{version}"', catalogue.read_text()))
    declared = load(catalogue)
    with (
        open_ledger(declared.place, declared.folder) as ledger,
        open_engine(declared.place, declared.folder, read_only=False) as engine,
    ):
        erase_with(ledger, declared, "meters", {"home": str(home)}, engine=engine)


def test_an_erasure_does_not_end_a_standing_question(house):
    with house.open() as db:
        first = db.follow(SUM, **HORIZON).release("2024-02").to_pylist()
    erased(house, 7, "2")
    with house.open() as db:
        found = db.follow(SUM, **HORIZON)
        assert found.figures().to_pylist() == first
        later = found.release("2024-04").to_pylist()
        assert [one for one in later if one["month"] <= "2024-02" and one["region"] != "c"] == first
        versions = {one.note["part"]: one.note["version"] for one in db.ledger.entries() if "part" in one.note}
        assert versions == {"2024-01": "1", "2024-02": "1", "2024-03": "2", "2024-04": "2"}


def test_figures_that_name_somebody_are_forgotten_with_an_erasure(house):
    with house.open() as db:
        db.follow(SUM, **HORIZON).release("2024-01")
        found = db.follow(BY_HOME, **WIDE)
        found.release("2024-01")
        assert [one["question"] for one in db.following()] == [SUM, BY_HOME]
    erased(house, 1, "2")
    with house.open() as db:
        assert [one["question"] for one in db.following()] == [SUM]
        again = db.follow(BY_HOME, **WIDE)
        assert not again.fresh and again.released == ("2024-01",)
        assert again.figures().num_rows == 0
        with pytest.raises(CatalogueError, match=r"2024-01 was first released from .* not kept"):
            again.release("2024-02")
        texts = [kept.text for kept in db.ledger.kept_page()]
        assert not any('"period":"2024-01"' in one and "home" in one for one in texts)


def test_what_lasts_makes_no_room_for_other_answers(house):
    with house.open() as db:
        first = db.follow(SUM, **HORIZON).release("2024-02")
        db.ledger.room = 14_000
        for bound in range(100, 150):
            db.ask("SELECT region, sum(kwh) AS used FROM meters GROUP BY region", max_error=float(bound) * 100)
        kept = list(db.ledger.kept_page())
        assert sum(one.size for one in kept if not one.lasts) <= 14_000
        assert sum(one.lasts for one in kept) == 3
        assert Keeper(db.ledger, KeyRing(house.folder / "keys.json").keys).check().kept == len(kept)
    with house.open() as db:
        db.ledger.room = 2**10  # less than a month takes
        assert db.follow(SUM, **HORIZON).release("2024-02") == first
        db.follow(SUM, **HORIZON).release("2024-03")
        assert sum(one.lasts for one in db.ledger.kept_page()) == 4


def test_forgetting_all_answers_leaves_what_was_followed(house, monkeypatch, capsys):
    with house.open() as db:
        first = db.follow(SUM, **HORIZON).release("2024-01")
        db.ask("SELECT avg(kwh) FROM meters", max_error=5.0)
    monkeypatch.chdir(house.folder)
    monkeypatch.setattr("sys.argv", ["errorfloor", "ledger", "forget", "--all"])
    with pytest.raises(SystemExit):
        run()
    assert "forgot 1 kept answer" in capsys.readouterr().out
    with house.open() as db:
        assert db.follow(SUM, **HORIZON).figures() == first
        assert db.known() == []  # what is followed is not asked


def test_standing_questions_are_listed_and_found_by_name(house):
    with house.open() as db:
        db.follow(SUM, **HORIZON, analyst="ada").release("2024-02")
        db.follow("SELECT sum(kwh) AS all_of_it FROM meters", **WIDE)
    with house.open() as db:
        ours, theirs = db.following()
        assert (ours["question"], ours["analyst"], ours["released"]) == (SUM, "ada", ["2024-01", "2024-02"])
        assert (ours["since"], ours["until"], ours["part"], ours["mine"]) == ("2024-01", "2025-12", "month", True)
        assert ours["blocks"] == [{"since": "2024-01", "until": "2025-12", "max_error": 400.0}]
        (took,) = ours["charged"]
        assert took["name"] == "meters.kwh" and 0 < took["share"] < 1
        seen = {one["id"]: one for one in db.following("bob")}
        assert [one["question"] for one in seen.values()] == [None, None]
        hidden = seen[ours["id"]]
        assert hidden["output"] is hidden["keys"] is hidden["charged"] is hidden["analyst"] is None
        assert hidden["released"] == ours["released"] and not hidden["mine"]
        found = db.followed(ours["id"], analyst="bob")
        assert found.figures() == db.followed(ours["id"]).figures() == db.followed(ours["id"]).release("2024-02")
        assert found.release("2024-02") == found.figures()
        for refused in (lambda: found.release("2024-03"), found.cancel, lambda: found.extend("2026-12")):
            with pytest.raises(RefusedError, match="is followed by somebody else"):
                refused()
        assert db.followed(ours["id"], analyst="ada").release("2024-03").num_rows == 9
        assert db.followed(theirs["id"]).shape.output == "all_of_it"
        with pytest.raises(InputError, match="there is no standing question 'x'"):
            db.followed("x")
        assert db.within(ef.service.database.Grant("t", ("other",))).following() == []


def test_the_same_words_have_the_same_figures_under_their_own_names(house):
    with house.open() as db:
        first = db.follow(SUM, **HORIZON).release("2024-01")
        other = db.follow("SELECT region AS area, sum(kwh) AS kwh_used FROM meters GROUP BY region", **HORIZON)
        assert not other.fresh
        found = other.figures()
        assert found.column_names[:3] == ["month", "area", "kwh_used"]
        assert found.column("kwh_used") == first.column("used")


def test_a_cancel_is_seen_by_others_at_their_next_release(house):
    with house.open() as one, house.open() as other:
        here, there = one.follow(SUM, **HORIZON), other.follow(SUM, **HORIZON)
        first = there.release("2024-01")
        here.cancel()
        assert there.cancelled and there.to_dict()["cancelled"]
        with pytest.raises(RefusedError, match="was cancelled, and 2024-02 was not released before"):
            there.release("2024-02")
        assert there.release("2024-01") == there.figures() == first
        with pytest.raises(RefusedError, match="was cancelled: follow a new one"):
            there.extend("2026-12")


def released_beside(folder, place):
    with ef.open(folder / "errorfloor.toml") as db:
        found = db.follow(SUM, **HORIZON)
        place.wait(30)
        return found.release("2024-04", moving=2).to_pylist()


def test_two_processes_that_release_at_once_give_the_same_figures_and_one_record(house):
    with house.open() as db:
        db.follow(SUM, **HORIZON)
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager:
        barrier = manager.Barrier(2)
        with context.Pool(2) as pool:
            one, other = pool.starmap(released_beside, [(house.folder, barrier)] * 2)
    assert one == other
    with house.open() as db:
        names = [one.note["part"] for one in db.ledger.entries() if "part" in one.note]
        assert names == ["2024-01", "2024-02", "2024-03", "2024-04"]
        assert sum(one.lasts for one in db.ledger.kept_page()) == 5
        assert db.follow(SUM, **HORIZON).release("2024-04", moving=2).to_pylist() == one


def test_who_comes_second_reads_the_snapshot_of_who_came_first(house, monkeypatch):
    """Between planning and pinning a month, another process releases it, in another version."""
    with house.open() as db:
        found, honest = db.follow(SUM, **HORIZON), followed_release.planned
        expected = []

        def overtaken(*words):
            made = honest(*words)
            monkeypatch.setattr(followed_release, "planned", honest)
            with ThreadPoolExecutor(1) as pool:
                expected.append(pool.submit(released_in_another_version).result())
            return made

        def released_in_another_version():
            house.register("2", 4, shift=lambda month: 1.0)
            with house.open() as other:
                return other.follow(SUM, **HORIZON).release("2024-01").to_pylist()

        monkeypatch.setattr(followed_release, "planned", overtaken)
        assert found.release("2024-01").to_pylist() == expected[0]


@pytest.mark.parametrize("where", ["pinned", "looked", "kept"])
def test_a_kill_loses_nothing(house, where):
    with house.open() as db:
        db.follow(SUM, **HORIZON)
    child = os.fork()
    if child == 0:
        try:
            if where == "pinned":
                followed_period.values_before_noise = lambda *_: os._exit(7)
            elif where == "looked":
                followed_period.pack = lambda *_: os._exit(7)
            else:
                honest = PlannedPeriod.read_and_keep
                PlannedPeriod.read_and_keep = lambda self, *words: (honest(self, *words), os._exit(7))
            with house.open() as db:
                db.follow(SUM, **HORIZON).release("2024-01")
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    house.register("2", 4, shift=lambda month: 1.0)
    with house.open() as db:
        found = db.follow(SUM, **HORIZON)
        assert found.released == ("2024-01",)
        assert (found.figures().num_rows > 0) == (where == "kept")
        found.release("2024-02")
        versions = {one.note["part"]: one.note["version"] for one in db.ledger.entries() if "part" in one.note}
        assert versions == {"2024-01": "1", "2024-02": "2"}
        db.ledger.verify()


def test_after_a_ledger_was_accepted_older_standing_questions_release_nothing_new(house):
    """A month was released; ledger and shelf are put back from before; its rows have changed meanwhile."""
    catalogue = load(house.folder / "errorfloor.toml")
    with house.open() as db:
        found = db.follow(SUM, **HORIZON)
        first = found.release("2024-01").to_pylist()
    backup = house.folder / "backup"
    backup.mkdir()
    for file in house.folder.glob("ledger*"):
        shutil.copy(file, backup)
    with house.open() as db:
        seen = db.follow(SUM, **HORIZON).release("2024-02").to_pylist()
    for file in house.folder.glob("ledger*"):
        file.unlink()
    for file in backup.glob("ledger*"):
        if "anchor" not in file.name:
            shutil.copy(file, house.folder)
    accept_ledger(catalogue)
    house.register("2", 5, shift=lambda month: 1.0 if month == 2 else 0.0)
    with house.open() as db:
        found = db.follow(SUM, **HORIZON)
        assert not found.fresh and found.outlived and db.following()[0]["outlived"]
        assert found.figures().to_pylist() == first
        with pytest.raises(RefusedError, match="the ledger was accepted since this question was charged"):
            found.release("2024-02")
        spent = db.ledger.accounts()
        wider = found.extend("2025-12", max_error=900.0)
        assert wider.fresh and db.ledger.accounts() != spent
        rows = wider.release("2024-03").to_pylist()
        assert [one for one in rows if one["month"] == "2024-01" and one["region"] != "c"] == first
        again = {one["region"]: one["used"] for one in rows if one["month"] == "2024-02"}
        assert all(again[one["region"]] != one["used"] for one in seen if one["month"] == "2024-02")
        assert db.follow(SUM, **HORIZON).names == wider.names == found.names
        assert db.follow(SUM, **{**HORIZON, "max_error": 700.0}).release("2024-02").num_rows == 4  # a new one
    with house.open() as db:
        assert db.follow(SUM, **HORIZON).release("2024-03").to_pylist() == rows


def test_the_command_lists_extends_and_cancels(house, monkeypatch, capsys):
    def runs(*words, code=0):
        monkeypatch.chdir(house.folder)
        monkeypatch.setattr("signal.signal", lambda *_: None)
        monkeypatch.setattr("sys.argv", ["errorfloor", "follow", *words])
        with pytest.raises(SystemExit) as end:
            run()
        assert (end.value.code or 0) == code
        return capsys.readouterr()

    asked = [SUM, "--since", "2024-01", "--until", "2024-03", "--max-error", "400"]
    assert runs("--list").err == "nothing is followed\n"
    assert "all 3 are paid for" in runs(*asked, "--price").out
    assert runs("--list").out == ""
    assert "used_total" in runs(*asked, "--through", "2024-02").out
    (line, text) = runs("--list").out.splitlines()
    name = line.partition(":")[0]
    assert "2024-01 … 2024-03, 2 months released (up to 2024-02); took" in line and text.strip() == SUM
    assert runs("--id", name).out.startswith("month")
    priced = runs("--id", name, "--extend", "2024-06", "--max-error", "500", "--price")
    assert "bounds add up to ±900 kWh" in priced.out
    told = runs("--id", name, "--extend", "2024-06", "--max-error", "500")
    assert told.err.index("bounds add up to ±900 kWh") < told.err.index(f"{name}: ")
    assert "2024-01 … 2024-06" in runs("--list").out
    assert "It is cancelled." in runs("--id", name, "--cancel").err
    assert "; cancelled; took" in runs("--list").out
    assert "was cancelled" in runs("--id", name, "--through", "2024-03", code=2).err
    assert "give a question to follow" in runs(code=2).err
    assert "--since, --max-error" in runs(SUM, "--until", "2024-03", code=2).err


def heard(work):
    """What somebody hears who tries something: an explanation, or a refusal."""
    try:
        found = work()
        return found.explain() if hasattr(found, "explain") else ""
    except ErrorFloorError as problem:
        return type(problem).__name__, str(problem)


def seen_of(house):
    """All that a standing question shows of a house but its figures, and what is drawn at random."""
    with house.open() as db:
        found = db.follow(SUM, **HORIZON)
        mean = db.follow("SELECT region, avg(kwh) AS mean FROM meters GROUP BY region", **HORIZON, least_rows=40)
        said = [
            heard(lambda: db.follow(SUM, **{**HORIZON, "max_error": 1.0})),
            heard(lambda: db.follow_price(SUM, **{**HORIZON, "max_error": 50.0})),
            heard(lambda: found.release("2024-05")),
            heard(lambda: found.release("2024-03")),
            heard(lambda: mean.release("2024-02")),
            heard(lambda: found.extend("2026-12")),
            heard(lambda: found.extend("2027-12")),
            heard(found.cancel),
            heard(lambda: found.release("2024-04")),
            mean.wider(),
        ]
        table = found.figures(moving=2)
        said += [(name, table.column(name).null_count, str(table.schema.field(name))) for name in table.column_names]
        for record in db.ledger.entries():
            charges = {account: total.to_json() for account, total in record.charges.items()}
            said.append((charges, {name: one for name, one in record.note.items() if name not in ("drawn", "read")}))
        for kept in db.ledger.kept_page():
            words = ("sql", "wish", "table", "cells", "outlives")
            said.append(({name: kept.facts[name] for name in words}, [one["name"] for one in kept.facts["outputs"]]))
        every = db.following()
        return said + [{name: one[name] for name in one if name not in ("id", "time")} for one in every]


def test_refusals_records_and_names_do_not_depend_on_private_numbers(tmp_path):
    """Two houses with the same public rows and other numbers."""
    one, other = House(tmp_path / "one"), House(tmp_path / "other")
    shutil.copy(one.folder / "keys.json", other.folder / "keys.json")
    one.register("1", 4)
    other.register("1", 4, shift=lambda month: 3.3 * month)
    assert one.truth != other.truth
    assert seen_of(one) == seen_of(other)


def test_what_goes_on_reads_nothing_of_the_months_that_it_takes_over(house):
    with house.open() as db:
        old = db.follow(SUM, **HORIZON).release("2024-03").to_pylist()
        db.ledger.forget(lambda kept: kept.facts["wish"].get("period") == "2024-02")
        db.ledger.accept()
    with house.open() as db:
        found = db.follow(SUM, **HORIZON)
        assert found.figures().num_rows == 2  # those of January; March is kept, and no total reaches it
        longer = found.extend("2026-12")
        assert longer.blocks[1].horizon.names[0] == "2024-02"
        rows = longer.release("2024-03").to_pylist()
        for month, same in (("2024-01", True), ("2024-02", False), ("2024-03", False)):
            before = {one["region"]: one["used"] for one in old if one["month"] == month}
            now = {one["region"]: one["used"] for one in rows if one["month"] == month}
            assert all((before[region] == now[region]) == same for region in "ab")
        assert longer.to_dict()["released"] == ["2024-01", "2024-02", "2024-03"]
