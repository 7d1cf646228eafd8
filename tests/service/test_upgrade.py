"""A ledger and a vault that an older version wrote: refused as they are; upgraded, every promise is still pinned."""

import json
import re
import sqlite3

import pytest

import errorfloor as ef
from errorfloor.catalogue import load
from errorfloor.engines import open_engine
from errorfloor.errors import CatalogueError, LedgerError
from errorfloor.identity import KeyRing
from errorfloor.ledger import open_ledger
from errorfloor.ledger.entry import Head
from errorfloor.service.registering import register_all
from errorfloor.service.upgrading import upgrade_all
from errorfloor.vault import register
from errorfloor.vault.snapshot import name_of

MEAN = "SELECT region, avg(kwh) AS mean FROM meters GROUP BY region"


@pytest.fixture
def old(tmp_path, request):
    """A folder as the older version left it; what it wrote was kept by that version itself."""
    written = json.loads((request.path.parent / "version_3.json").read_text())
    regions = "".join(f"{i},{'north' if i % 2 else 'south'},{i % 11}\n" for i in range(40))
    (tmp_path / "meters.csv").write_text("id,region,kwh\n" + regions)
    paid = "".join(f"p{i},{m},{(7 * i + m) % 100}\n" for i in range(20) for m in (1, 2))
    (tmp_path / "pay.csv").write_text("id,month,owner\n" + paid)
    KeyRing.create(tmp_path / "keys.json")
    file = tmp_path / "errorfloor.toml"
    for text in written["catalogues"]:
        file.write_text(text)
        registered(file)
    with open_engine(load(file).place, tmp_path, read_only=False) as engine:
        assert set(engine.known()) == set(written["notes"])
        for name, note in written["notes"].items():
            engine.note_anew(name, json.dumps(note | {"source": engine.identify([note["source"]])}))
    with sqlite3.connect(tmp_path / "ledger.sqlite") as ledger:
        for statement in written["schema"]:
            ledger.execute(statement)
        for table, rows in written["tables"].items():
            for row in rows:
                marks = ", ".join("?" * len(row))
                ledger.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values()))
    ledger.close()
    last = written["tables"]["ledger_entries"][-1]
    (tmp_path / "ledger.anchor").write_text(Head(last["sequence"], last["hash"]).to_text())
    return file


def as_before(file):
    """Declare that noises are counted as they were when the tables were charged."""
    file.write_text(re.sub(r"(\[tables\.\w+\]\n)", r'\1noises = "any"\n', file.read_text()))


def registered(file):
    declared = load(file)
    with open_engine(declared.place, declared.folder, read_only=False) as engine:
        for table in declared.tables:
            register(declared, table, engine=engine)


def spent(file):
    with open_ledger(load(file).place, file.parent) as ledger:
        return ledger.accounts(holder=None)


def test_what_an_older_version_wrote_is_refused_until_it_is_upgraded(old):
    with pytest.raises(LedgerError, match="run errorfloor upgrade"):
        ef.open(old)
    with (
        open_engine(load(old).place, old.parent, read_only=False) as engine,
        pytest.raises(CatalogueError, match=r"the vault was written by an older errorfloor: .* run errorfloor upgrade"),
    ):
        register(load(old), "pay", engine=engine)


def test_an_upgrade_keeps_every_balance_and_exports_first(old):
    with sqlite3.connect(old.parent / "ledger.sqlite") as ledger:
        before = {
            (table, column, cell, holder): (information, evaluation)
            for table, column, cell, holder, information, evaluation in ledger.execute(
                "SELECT table_name, column_name, cell, holder, information, evaluation FROM ledger_accounts"
            )
        }
        rows = [row[0] for row in ledger.execute("SELECT hash FROM ledger_entries ORDER BY sequence")]
    ledger.close()
    done = upgrade_all(load(old))
    assert (done.records, done.balances, done.snapshots) == (5, len(before), 3)
    assert "are not repeated" in done.explain()
    assert [json.loads(line)["hash"] for line in done.export.read_text().splitlines()] == rows
    assert done.export.stat().st_mode & 0o777 == 0o600
    with open_ledger(load(old).place, old.parent) as ledger:
        opening = next(ledger.entries())
        assert ledger.verify().head.sequence == len(rows) + 1 + done.snapshots + 2  # of divided accounts
    kept = {(a.table, a.column, a.cell, a.holder): t.to_json() for a, t in opening.charges.items()}
    wanted = {a: {k: v for k, v in zip(("A2", "E"), sums, strict=True) if v != "0"} for a, sums in before.items()}
    assert kept == wanted
    again = upgrade_all(load(old))
    assert (again.export, again.records, again.snapshots) == (None, 0, 0)
    assert again.explain().startswith("Everything already has this version")


def test_versions_that_an_older_ledger_charged_are_needed_to_go_on(old):
    """Accounts are divided by region: without the old version nobody can tell whether rows stay in theirs."""
    upgrade_all(load(old))
    as_before(old)
    with open_ledger(load(old).place, old.parent) as ledger:
        kept = [path for path, value in ledger.pinned("meters").items() if value.get("charged")]
        assert len(kept) == 2  # versions, of one table of two: the accounts of the other are not divided
    (old.parent / "vault.duckdb").rename(old.parent / "not mounted")
    old.write_text(old.read_text().replace("resolution = 0.001", "resolution = 1"))
    with pytest.raises(CatalogueError, match="of meters was registered but is not in this vault"):
        register_all(load(old))


def test_the_strictest_of_the_charged_versions_is_pinned(old):
    upgrade_all(load(old))
    with open_ledger(load(old).place, old.parent) as ledger:
        kwh = ledger.terms(("meters", "column", "kwh"))
        assert (kwh["resolution"], kwh["range"], kwh["unit"], kwh["nulls"]) == ("1", ["0", "10"], "kWh", "forbidden")
        assert ledger.terms(("meters", "floor", "kwh")) == {"floor": 0.11}
        assert ledger.terms("meters") == {
            "row_key": [["id", "whole", None]],
            "account_by": [["region", "text", None]],
            "owner": None,
        }
        position = ledger.terms(("cars", "column", "position"))
        assert (position["resolution"], position["unit"]) == ("1/10", "m")
    before = spent(old)
    with ef.open(old) as db, pytest.raises(CatalogueError, match=r'opened with resolution = "1"; .* "1/1000"'):
        db.ask(MEAN, spend=0.01)
    assert spent(old) == before
    text = old.read_text().replace("resolution = 0.001", "resolution = 1")
    old.write_text(text.replace('version = "2"', 'version = "3"'))
    with pytest.raises(CatalogueError, match='declare noises = "any" for meters'):
        register_all(load(old))
    as_before(old)
    register_all(load(old))
    assert spent(old) == before
    with ef.open(old) as db:
        assert db.ask(MEAN, spend=0.01).fresh == (True,)
        assert db.answer("cars", entity="car 7", trip="monday", step=0, measurement=[120.0]).fresh


def test_the_floors_that_an_older_ledger_confused_are_told_apart(old):
    upgrade_all(load(old))
    with open_ledger(load(old).place, old.parent) as ledger:
        assert ledger.terms(("pay", "owner floor")) == {"floor": 0.05}
        assert ledger.terms(("pay", "floor", "owner")) == {"floor": 2.0}
        assert ledger.terms(("pay", "column", "owner"))["unit"] == "EUR"
    as_before(old)
    with ef.open(old) as db:
        assert db.ask("SELECT sum(owner) AS total FROM pay", spend=0.02).fresh == (True,)


@pytest.mark.parametrize("lost", [("1",), ("2",), ("1", "2")])
def test_a_charged_version_that_the_vault_has_lost_must_be_vouched_for(old, lost):
    declared = load(old)
    with open_engine(declared.place, old.parent, read_only=False) as engine:
        for version in lost:
            engine.destroy(name_of("meters", version))
    with pytest.raises(LedgerError, match=rf"version {lost[0]} of meters was charged, but the vault does not have it"):
        upgrade_all(declared)
    assert not list(old.parent.glob("*.jsonl"))
    upgrade_all(declared, accept=True)
    with open_ledger(declared.place, old.parent) as ledger:
        assert ledger.terms(("meters", "column", "kwh"))["resolution"] == ("1" if lost == ("2",) else "1/1000")


def test_a_charged_stream_that_the_catalogue_has_lost_must_be_vouched_for(old):
    text = old.read_text()
    start = text.index("[streams.cars")
    old.write_text(text[:start])
    with pytest.raises(LedgerError, match="the stream cars was charged, but the catalogue does not declare it"):
        upgrade_all(load(old))
    assert not list(old.parent.glob("*.jsonl"))
    upgrade_all(load(old), accept=True)
