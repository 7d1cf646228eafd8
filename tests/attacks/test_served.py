"""A catalogue is written for a server process as it was declared, and a server that does not start says why."""

import tomllib
from contextlib import contextmanager

import pytest

from errorfloor.attacks import process, served
from errorfloor.attacks.process import AnalystDoor, _address, server_process, written
from errorfloor.catalogue import Catalogue
from errorfloor.client.failures import RemoteError
from errorfloor.errors import ErrorFloorError, InputError
from errorfloor.service.demo_table import CATALOGUE as DEMO
from errorfloor.service.example import CATALOGUE as EXAMPLE

ODD = """
[quota]
analyst = 0.25

[tables.pay]
source = "pay.parquet"
version = '"1" — ü'
row_key = ["person"]
account_by = ["team"]
public = { person = "whole", team = "text", share = { type = "number", resolution = "1/7" } }
private.wage = { range = ["-1/3", 10], resolution = "1/3", floor = 1, nulls = "impute", impute = 0 }
"""


@pytest.mark.parametrize("text", [EXAMPLE, DEMO, ODD], ids=["example", "demo", "odd"])
def test_a_catalogue_that_is_written_reads_the_same(text):
    declared = Catalogue.model_validate(tomllib.loads(text))
    assert Catalogue.model_validate(tomllib.loads(written(declared))) == declared


def test_a_server_that_does_not_start_says_why(tmp_path):
    log = tmp_path / "server.log"
    log.write_text("first\nerrorfloor: port 8470 is in use\n")
    with pytest.raises(ErrorFloorError, match="errorfloor serve did not start: errorfloor: port 8470 is in use"):
        _address(iter([]), log)


def test_the_files_of_a_custodian_are_never_replaced(tmp_path):
    (tmp_path / "errorfloor.toml").write_text(EXAMPLE)
    (tmp_path / "keys.json").write_text("a secret")
    declared = Catalogue.model_validate({**tomllib.loads(EXAMPLE), "folder": tmp_path})
    with pytest.raises(InputError, match="no audit made"), server_process(declared):
        pass
    assert (tmp_path / "keys.json").read_text() == "a secret"


def test_a_server_is_never_started_anew_in_the_middle_of_a_run(monkeypatch):
    started = []

    @contextmanager
    def process_of(catalogue):
        started.append(object())
        yield started[-1]

    monkeypatch.setattr(served, "server_process", process_of)
    declared = Catalogue.model_validate(tomllib.loads(EXAMPLE))
    with served.Served(declared, "meters", "kwh", runs=1, seed=1) as world:
        monkeypatch.setattr(world, "_made", declared)
        for coin in (0, 1, 1, 1, 0, 0, 1, 1):
            with world.stage(coin) as (door, secret):
                others = [shadow() for shadow in world.shadows]
            assert {door} == {one for one, _ in others}
            assert len({secret.table, *(one.table for _, one in others)}) == 3
    assert 1 < len(started) < 8


class Turnstile:
    """Lets each name in a few times, and tells it to wait after that."""

    def __init__(self, name, times):
        self.name, self.left = name, times

    def ask(self, sql):
        if self.left == 0:
            raise RemoteError("too many requests", code="rate", status=429, wait=2)
        self.left -= 1
        return self.name


def test_whoever_is_told_to_wait_lets_the_next_one_ask(monkeypatch):
    doors = {name: Turnstile(name, times) for name, times in (("analyst 0", 2), ("analyst 1", 1), ("owner 0", 9))}
    slept = []

    def sleep(seconds):
        slept.append(seconds)
        doors["analyst 1"].left += 1

    monkeypatch.setattr(process.time, "sleep", sleep)
    door = AnalystDoor("http://127.0.0.1:9", dict.fromkeys(doors, "token"))
    monkeypatch.setattr(door, "of", doors.__getitem__)
    assert [door.ask("SELECT 1") for _ in range(4)] == ["analyst 0", "analyst 0", "analyst 1", "analyst 1"]
    assert slept == [2]
    with pytest.raises(RemoteError, match="not here"):
        door._by("owner", refusing)


def refusing(door):
    raise RemoteError("not here", code="role", status=403)
