"""Whoever has the custodian's files gains nothing on real servers either, with every run on a table of its own."""

import shutil
from contextlib import contextmanager

import pytest

from errorfloor.attacks import (
    ChangedData,
    ChangedMeaning,
    NewVersions,
    RestoredLedger,
    SharedKeys,
    World,
    custody,
    history,
)
from errorfloor.attacks.custody import Custody
from errorfloor.catalogue import Catalogue
from errorfloor.engines import open_engine
from errorfloor.errors import ErrorFloorError
from errorfloor.identity import KeyRing
from errorfloor.ledger import FileAnchor, SqlLedger
from errorfloor.service import Database
from errorfloor.service.dummy import dummy_rows

KWH = {"range": [0, 50], "resolution": 0.001, "floor": 2.0, "unit": "kWh"}
METERS = {"source": "-", "version": "1", "row_key": ["id"], "public": {"id": "whole"}, "private": {"kwh": KWH}}
CATALOGUE = Catalogue(tables={"meters": METERS})
COINS = (0, 1, 1)
MANY = (0, 1, 1, 0, 1)


@pytest.fixture(scope="module")
def secret():
    with World(CATALOGUE, "meters", "kwh", {"meters": dummy_rows(CATALOGUE.tables["meters"]).slice(0, 9)}) as world:
        return world.secret


@pytest.fixture
def held(secret, tmp_path):
    return Custody(CATALOGUE, secret, COINS, tmp_path, versions=2)


@contextmanager
def in_process(catalogue, *, anew):
    """What a server does with its folder, without the server."""
    folder = catalogue.folder
    assert not anew
    keys = folder / "keys.json"
    ring = KeyRing(keys) if keys.exists() else KeyRing.create(keys)
    ledger = SqlLedger(folder / "ledger.sqlite", FileAnchor(folder / "ledger.anchor"), create=True)
    with ledger, open_engine(catalogue.place, folder) as engine:
        yield Database(catalogue, engine=engine, ledger=ledger, keys=ring.current)


def test_a_real_server_refuses_an_older_ledger(held):
    with held.server() as stages:
        assert [secret.table for _, secret in stages] == ["meters_0", "meters_1", "meters_2"]
        held.back_up()
        assert stages[0][0].ask(held.secrets[2].question(), spend=0.9).charge
    held.put_back(with_anchor=False)
    with pytest.raises(ErrorFloorError, match=r"did not start: .*older"), held.server():
        pass


@pytest.mark.parametrize(
    ("attack", "lives"), [(RestoredLedger(), 2), (RestoredLedger(with_anchor=True), 6), (NewVersions(), 4)], ids=str
)
def test_each_run_is_answered_once_unless_the_anchor_goes_back_too(attack, lives, held, monkeypatch):
    monkeypatch.setattr(history, "ROUNDS", 5)
    served, answers = [], []

    @contextmanager
    def counted(catalogue, *, anew):
        with in_process(catalogue, anew=anew) as database:
            served.append({one.version for one in catalogue.tables.values()})
            ask = database.ask
            monkeypatch.setattr(database, "ask", lambda sql, **wish: answers.append(ask(sql, **wish)) or answers[-1])
            yield database

    monkeypatch.setattr(custody, "server_process", counted)
    odds = attack.play_together(held, COINS)
    assert len(odds) == len(COINS)
    assert all(odds)
    assert len(served) == lives
    assert len(answers) == (15 if lives == 6 else 3)
    if isinstance(attack, NewVersions):
        assert served == [{"1"}, {"1 (1)"}, {"1"}, {"1 (1)"}]


def test_rows_that_changed_under_one_version_are_refused_and_nothing_is_learnt(secret, tmp_path, monkeypatch):
    monkeypatch.setattr(custody, "server_process", in_process)
    held = Custody(CATALOGUE, secret, [0, 0, 0], tmp_path)
    odds = ChangedData().play_together(held, COINS)
    assert odds == [-secret.distance / 2] * 3


def gives_itself_away(odds, coins, distance):
    """Whether every difference is what the same noise on either side would leave; by chance less than once in 10⁹."""
    pairs = zip(odds, coins, strict=True)
    return all(abs(one - (distance / 2 if coin else -distance / 2)) < distance / 20 for one, coin in pairs)


def test_a_vault_made_anew_under_the_same_key_and_version_has_noise_of_its_own(secret, tmp_path, monkeypatch):
    """A custodian who deletes the vault, and whose ledger forgets what it settled, does not give the change away."""
    monkeypatch.setattr(custody, "server_process", in_process)
    held = Custody(CATALOGUE, secret, [0] * len(MANY), tmp_path)
    update = held.update

    def careless(coins):
        shutil.rmtree(held._folder / "vault.duckdb")
        for file in held._folder.glob("ledger*"):
            file.unlink()
        update(coins)

    monkeypatch.setattr(held, "update", careless)
    assert not gives_itself_away(ChangedData().play_together(held, MANY), MANY, secret.distance)


def test_another_catalogue_with_the_same_keys_has_noise_of_its_own(secret, tmp_path, monkeypatch):
    monkeypatch.setattr(custody, "server_process", in_process)
    held = Custody(CATALOGUE, secret, MANY, tmp_path)
    assert not gives_itself_away(SharedKeys().play_together(held, MANY), MANY, secret.distance)


def test_a_version_with_another_meaning_answers_nothing_more(held, monkeypatch):
    monkeypatch.setattr(custody, "server_process", in_process)
    with held.server() as stages:
        alone = [ChangedMeaning().guess(*stage, ()) for stage in stages]
    assert ChangedMeaning().play_together(held, COINS) == pytest.approx(alone)  # what was answered before is free
