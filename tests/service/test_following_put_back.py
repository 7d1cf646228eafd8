"""Standing questions whose house was put back, or is declared otherwise since: nothing new under an old noise."""

import shutil

import pytest

import errorfloor as ef
from errorfloor.catalogue import load
from errorfloor.errors import RefusedError
from errorfloor.following import block as followed_block
from errorfloor.identity import KeyRing
from errorfloor.ledger import open_ledger
from errorfloor.service.registering import accept_ledger, create_ledger, registering
from followed_house import HORIZON, SUM, House

TWO_DATES = """
[tables.meters]
source = "meters.csv"
version = "{version}"
row_key = ["home", "day", "booked"]
public = {{ home = "whole", day = "date", booked = "date", region = "text" }}
private.kwh = {{ range = [0, 10], resolution = 0.1, floor = 0.5, unit = "kWh" }}
grows_by = {{ column = "{column}", part = "month" }}
"""


@pytest.fixture
def house(tmp_path):
    made = House(tmp_path)
    made.register("1", 4)
    return made


def lost(house):
    """Lose ledger, anchor and vault, and begin with an empty ledger."""
    for one in house.folder.iterdir():
        if one.name.startswith("ledger") or "vault" in one.name:
            shutil.rmtree(one) if one.is_dir() else one.unlink()
    create_ledger(load(house.folder / "errorfloor.toml"))


def check_nothing_new(house):
    house.register("2", 5, shift=lambda month: 1.0 if month == 2 else 0.0)
    with house.open() as db:
        found = db.follow(SUM, **HORIZON)
        assert not found.fresh and found.outlived
        with pytest.raises(RefusedError, match="the ledger was accepted since this question was charged"):
            found.release("2024-02")


def test_an_old_export_in_a_new_ledger_releases_nothing_new(house):
    with house.open() as db:
        db.follow(SUM, **HORIZON)
        export = list(db.ledger.entries())
        db.follow(SUM, **HORIZON).release("2024-02")
    lost(house)
    catalogue = load(house.folder / "errorfloor.toml")
    open_ledger(catalogue.place, catalogue.folder, restore=export).close()
    check_nothing_new(house)


def test_an_old_file_in_the_place_of_a_new_ledger_releases_nothing_new(house):
    with house.open() as db:
        db.follow(SUM, **HORIZON)
    backup = shutil.copy(house.folder / "ledger.sqlite", house.folder / "backup.sqlite")
    with house.open() as db:
        db.follow(SUM, **HORIZON).release("2024-02")
    lost(house)
    for one in house.folder.glob("ledger.sqlite*"):
        one.unlink()
    shutil.copy(backup, house.folder / "ledger.sqlite")
    check_nothing_new(house)


def test_a_ledger_and_its_anchor_that_are_put_back_and_vouched_for_release_nothing_new(house):
    with house.open() as db:
        db.follow(SUM, **HORIZON)
    backup = house.folder / "backup"
    backup.mkdir()
    for one in house.folder.glob("ledger*"):
        shutil.copy(one, backup)
    with house.open() as db:
        db.follow(SUM, **HORIZON).release("2024-02")
    for one in house.folder.glob("ledger*"):
        one.unlink()
    for one in backup.iterdir():
        shutil.copy(one, house.folder)
    accept_ledger(load(house.folder / "errorfloor.toml"))
    check_nothing_new(house)


def test_an_extension_goes_on_after_each_acceptance(house):
    catalogue = load(house.folder / "errorfloor.toml")
    with house.open() as db:
        found = db.follow(SUM, **HORIZON)
        first = found.release("2024-01").to_pylist()
        found.extend("2026-12")
    for month in ("2024-02", "2024-03"):
        accept_ledger(catalogue)
        with house.open() as db:
            found = db.follow(SUM, **HORIZON)
            assert found.outlived
            longer = found.extend("2026-12")
            assert longer.fresh and not longer.outlived
            assert longer.release(month).to_pylist()[:1] == first[:1]
            assert not db.follow(SUM, **HORIZON).extend("2026-12").fresh  # said again


def test_a_question_whose_date_is_another_now_releases_nothing_new(tmp_path):
    KeyRing.create(tmp_path / "keys.json")
    rows = [
        f"{home},2024-{month:02}-05,2024-{month + 1:02}-05,{'ab'[home % 2]},{(home * 7 + month * 3) % 10}"
        for month in range(1, 5)
        for home in range(60)
    ]
    (tmp_path / "meters.csv").write_text("\n".join(["home,day,booked,region,kwh", *rows]) + "\n")
    catalogue = tmp_path / "errorfloor.toml"
    catalogue.write_text(TWO_DATES.format(version="1", column="day"))
    list(registering(load(catalogue), corrections=True))
    with ef.open(catalogue) as db:
        found = db.follow("SELECT sum(kwh) AS used FROM meters", **HORIZON)
        name, first = found.name, found.release("2024-01")
    catalogue.write_text(TWO_DATES.format(version="2", column="booked"))
    list(registering(load(catalogue), corrections=True))
    with ef.open(catalogue) as db:
        found = db.followed(name)
        assert found.figures() == found.release("2024-01") == first
        for new in (lambda: found.release("2024-02"), lambda: found.extend("2026-12")):
            with pytest.raises(RefusedError, match="what meters declares has changed since this question was charged"):
                new()
        assert found.released == ("2024-01",)


def test_a_question_whose_keys_are_of_another_type_now_can_still_be_read(house):
    source, catalogue = house.folder / "meters.csv", house.folder / "errorfloor.toml"
    numbered = source.read_text().replace(",a,", ",1,").replace(",b,", ",2,").replace(",c,", ",3,")
    source.write_text(numbered)
    text = catalogue.read_text().replace('version = "1"', 'version = "2"')
    catalogue.write_text(text)
    list(registering(load(catalogue), corrections=True))
    with house.open() as db:
        found = db.follow(SUM, **HORIZON)
        name, first = found.name, found.release("2024-01")
    catalogue.write_text(text.replace('"text"', '"whole"').replace('version = "2"', 'version = "3"'))
    list(registering(load(catalogue), corrections=True))
    with house.open() as db:
        found = db.followed(name)
        with pytest.raises(RefusedError, match="has changed since this question was charged"):
            found.release("2024-02")
        assert found.figures() == first


def test_an_extension_that_was_charged_under_another_law_releases_nothing_new(house, monkeypatch):
    with house.open() as db:
        name = db.follow(SUM, **{**HORIZON, "until": "2024-02"}).extend("2024-04").name
    honest = followed_block.label_after
    monkeypatch.setattr(followed_block, "label_after", lambda *words: honest(*words).__class__("other", ()))
    with house.open() as db, pytest.raises(RefusedError, match="or the program has"):
        db.followed(name).release("2024-03")


def test_a_question_is_followed_anew_after_its_key_was_dropped(house):
    with house.open() as db:
        db.follow(SUM, **HORIZON, analyst="ada").release("2024-01")
    (house.folder / "keys.json").unlink()
    KeyRing.create(house.folder / "keys.json")
    with house.open() as db:
        found = db.follow(SUM, **HORIZON, analyst="ada")
        assert found.fresh and found.released == ()
        assert found.release("2024-01").num_rows == 2
        spent = db.ledger.accounts()
        assert not db.follow(SUM, **HORIZON, analyst="ada").fresh and db.ledger.accounts() == spent
        assert [one["id"] for one in db.following()] == [found.name]
        assert sum(one.lasts for one in db.ledger.kept_page()) == 4  # two questions, and the month of each
