"""Quotas at the door: one analyst cannot drain everybody, and a refusal says whose quota it was."""

import re

import pytest

from errorfloor.errors import AllowanceError, CatalogueError, InputError
from errorfloor.ledger import base
from town import open_town, write_town

AVERAGE = "SELECT avg(kwh) AS mean FROM meters"


@pytest.fixture
def with_quotas(tmp_path):
    """Give a function that opens a town whose catalogue declares quotas."""
    opened = []

    def make(**shares):
        folder = tmp_path / f"town-{len(opened)}"
        write_town(folder, owner=True)
        text = (folder / "errorfloor.toml").read_text()
        lines = "".join(f"{kind} = {share}\n" for kind, share in shares.items())
        (folder / "errorfloor.toml").write_text(f"[quota]\n{lines}{text}")
        opened.append(open_town(folder))
        return opened[-1]

    yield make
    for database in opened:
        database.close()


def test_one_analyst_cannot_drain_everybody(with_quotas):
    town = with_quotas(analyst=0.25)
    first = town.ask(AVERAGE, spend=0.2, analyst="ada")
    assert [quota.account.column for quota in first.quotas] == ["", "kwh"]
    assert 0.75 < max(quota.used for quota in first.quotas) <= 0.8
    with pytest.raises(AllowanceError) as refusal:
        town.ask(AVERAGE, spend=0.1, analyst="ada")
    assert "this answer would exceed the quota of analyst ada of" in str(refusal.value)
    assert re.search(
        r"requested (39|40)\b", str(refusal.value)
    )  # a tenth of the allowance is forty hundredths of a quarter of it
    assert "% of it, remaining 20" in str(refusal.value)
    assert "the floor is not in danger" in str(refusal.value)
    assert "times as wide" in str(refusal.value)
    assert {line["holder"] for line in refusal.value.fields["accounts"]} == {'["analyst", "ada"]'}
    assert town.ask(AVERAGE, spend=0.1, analyst="bob").fresh == (True,)
    assert town.ask(AVERAGE, spend=0.1, analyst="ada").fresh == (False,)  # what bob was answered is free for ada
    assert town.ask(AVERAGE, spend=0.6).fresh == (True,)  # the custodian's own question
    assert max(standing.used for standing in town.left()) <= 1


def test_what_a_refusal_advises_is_affordable(with_quotas):
    town = with_quotas(analyst=0.25)
    town.ask(AVERAGE.replace("kwh", "kwh + 1"), spend=0.2, analyst="ada")
    with pytest.raises(AllowanceError) as refusal:
        town.ask(AVERAGE, spend=0.1, analyst="ada")
    advised = float(str(refusal.value).partition("max_error ")[2].partition(" here")[0])
    assert town.ask(AVERAGE, max_error=advised * 1.01, analyst="ada").fresh == (True,)


def test_price_says_what_a_quota_would_refuse(with_quotas):
    town = with_quotas(analyst=0.25, month=0.9)
    assert town.price(AVERAGE, spend=0.3).affordable
    priced = town.price(AVERAGE, spend=0.3, analyst="ada")
    assert not priced.affordable
    assert "Refused if asked: this answer would exceed the quota of analyst ada" in priced.explain()
    kinds = {(quota["kind"], quota["analyst"]) for quota in priced.to_dict()["quotas"]}
    assert kinds == {("analyst", "ada"), ("month", None)}
    assert list(town.history()) == []


def test_quotas_that_apply_to_an_analyst_are_listed_used_or_not(with_quotas, monkeypatch):
    monkeypatch.setattr(base, "_now", lambda: "2026-11-15T12:00:00+00:00")
    town = with_quotas(analyst=0.5, day=0.25)
    town.ask(AVERAGE, spend=0.1, analyst="ada")
    used = {(quota.account.holder, quota.account.column): quota.used for quota in town.quotas("ada")}
    assert set(used) == {
        (holder, column) for holder in ('["analyst", "ada"]', '["day", "2026-11-15"]') for column in ("", "kwh", "peak")
    }
    assert 0.19 < max(value for (holder, _), value in used.items() if "ada" in holder) <= 0.2
    assert used['["analyst", "ada"]', "peak"] == 0
    assert [quota.used for quota in town.quotas("bob") if "bob" in quota.account.holder] == [0.0] * 3
    assert {quota.account.holder for quota in town.quotas()} == {'["day", "2026-11-15"]'}


def test_a_clock_set_back_gives_nothing_back(with_quotas, monkeypatch):
    town = with_quotas(month=0.2)
    monkeypatch.setattr(base, "_now", lambda: "2026-11-15T12:00:00+00:00")
    town.ask(AVERAGE, spend=0.2)
    monkeypatch.setattr(base, "_now", lambda: "2026-10-15T12:00:00+00:00")
    with pytest.raises(AllowanceError, match="the quota of month 2026-11"):
        town.ask(AVERAGE, spend=0.1)
    monkeypatch.setattr(base, "_now", lambda: "2026-12-01T00:00:00+00:00")
    assert town.ask(AVERAGE, spend=0.1).fresh == (True,)


def test_without_quotas_an_analyst_is_only_written_down(town):
    town.ask(AVERAGE, max_error=0.5, analyst="ada")
    town.ask(AVERAGE, max_error=0.4)
    assert [record["analyst"] for record in town.history()] == ["ada", None]
    assert town.quotas("ada") == []
    with pytest.raises(InputError, match="analyst must be a name"):
        town.ask(AVERAGE, max_error=0.5, analyst="a\nb")


def test_a_reader_gets_what_was_released_and_nothing_else(town):
    with pytest.raises(
        AllowanceError,
        match="never released, and nothing may be charged for it here: it would take",
    ):
        town.ask(AVERAGE, max_error=0.5, charge=False)
    assert town.history() == []
    released = town.ask(AVERAGE, max_error=0.5)
    read = town.ask(AVERAGE, max_error=0.5, charge=False)
    assert read.to_arrow() == released.to_arrow()
    assert read.fresh == (False,)
    assert town.ask("SELECT count(*) AS n FROM meters", charge=False).to_arrow().num_rows == 1  # public and free
    two = "SELECT avg(kwh) AS mean, sum(kwh) AS total FROM meters"
    with pytest.raises(AllowanceError, match="never released"):
        town.ask(two, max_error={"mean": 0.5, "total": 500}, charge=False)


def test_quotas_that_are_no_shares_are_named_with_their_place(tmp_path):
    write_town(tmp_path / "town")
    file = tmp_path / "town" / "errorfloor.toml"
    file.write_text("[quota]\nanalyst = 1.5\nmonht = 0.1\n" + file.read_text())
    with pytest.raises(CatalogueError) as problem:
        open_town(tmp_path / "town")
    assert "quota.analyst: must be at most 1, got 1.5" in str(problem.value)
    assert "quota.monht: is not a word allowed here: did you mean month?" in str(problem.value)
