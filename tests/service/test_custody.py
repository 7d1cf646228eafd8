"""Custody of the ledger: made by one act, restored by the runbook, and never forgotten in silence.

The runbook is docs/how-to-operate.md: each of its steps is run here in a new folder, from a backup in which one file
after the other is missing, older, newer, or another's. Either all is as it was, or something is refused.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass

import pytest

from errorfloor.catalogue import Place
from errorfloor.cli.app import run
from errorfloor.errors import CatalogueError
from errorfloor.identity import KeyRing
from errorfloor.ledger import open_ledger
from errorfloor.service.registering import enter

CATALOGUE = """
[tables.t]
source = "t.csv"
version = "{version}"
row_key = ["id"]
public = {{ id = "whole" }}

[tables.t.private.x]
range = [0, 50]
resolution = 0.5
floor = {floor}
"""
BACKED_UP = ("errorfloor.toml", "keys.json", "tokens.json", "vault.duckdb", "ledger.jsonl", "ledger.anchor")
FILES = (*BACKED_UP, "checkpoint.json")
READ_ONLY = shutil.which("unshare") is not None and subprocess.run(["unshare", "-m", "true"]).returncode == 0


def question(number):
    return ("ask", f"SELECT sum(x) + {number} AS total FROM t", "--max-error", "40", "--json")


@dataclass(frozen=True)
class Done:
    stdout: str
    stderr: str
    code: int


class Custodian:
    """Runs commands as the program does, in a folder."""

    def __init__(self, monkeypatch, capsys):
        self._patch, self._captured = monkeypatch, capsys
        monkeypatch.setattr("signal.signal", lambda *_: None)

    def does(self, folder, *arguments):
        self._patch.chdir(folder)
        self._patch.setattr(sys, "argv", ["errorfloor", *arguments])
        self._captured.readouterr()
        with pytest.raises(SystemExit) as end:
            run()
        return Done(*self._captured.readouterr(), end.value.code or 0)

    def must(self, folder, *arguments):
        done = self.does(folder, *arguments)
        assert done.code == 0, done.stderr
        return done.stdout

    def asks(self, folder, number):
        """Ask; give the answer and whether it was charged."""
        told = json.loads(self.must(folder, *question(number)))
        return told["cells"][0]["outputs"]["total"]["answer"], told["fresh"][0]

    def settles(self, folder, shift=0, floor=0.5, version="1"):
        """Declare a table and register it, with a key and a token."""
        folder.mkdir(exist_ok=True)
        (folder / "t.csv").write_text("id,x\n" + "".join(f"{i},{(3 * i + shift) % 50}\n" for i in range(30)))
        (folder / "errorfloor.toml").write_text(CATALOGUE.format(version=version, floor=floor))
        if not (folder / "keys.json").exists():
            KeyRing.create(folder / "keys.json")
            self.must(folder, "tokens", "create", "--name", "ada", "--role", "analyst")
        self.must(folder, "register")

    def backs_up(self, folder, to):
        """Do what the runbook does every night."""
        (folder / "ledger.jsonl").write_text(self.must(folder, "ledger", "export"))
        self.must(folder, "ledger", "verify")
        self.must(folder, "ledger", "checkpoint", "--output", "checkpoint.json")
        to.mkdir()
        for name in FILES:
            put(folder / name, to)


def put(path, folder):
    """Copy a file, or the folder that a vault is, in place of the one that is there."""
    drop(folder / path.name)
    shutil.copytree(path, folder / path.name) if path.is_dir() else shutil.copy(path, folder)


def drop(path):
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


@pytest.fixture
def custodian(monkeypatch, capsys):
    return Custodian(monkeypatch, capsys)


@pytest.fixture
def backups(custodian, tmp_path):
    """Backups of three nights, and one of another place: one record, two, three; and two of other rows and keys."""
    here, other = tmp_path / "here", tmp_path / "elsewhere"
    custodian.settles(here)
    answers = []
    for night, name in enumerate(("older", "good", "newer")):
        answers.append(custodian.asks(here, night)[0])
        custodian.backs_up(here, tmp_path / name)
    custodian.settles(other, shift=1)
    for number in (5, 6):
        custodian.asks(other, number)
    custodian.backs_up(other, tmp_path / "other")
    return answers


def spent(custodian, folder):
    shown = json.loads(custodian.must(folder, "ledger", "show", "--json"))
    return shown["records"], shown["accounts"][0]["information"]


SAME, REFUSED = "same", "refused"
OUTCOMES = {  # of the runbook's steps, by what is wrong with a file; all that is not said is "same"
    "errorfloor.toml": {"missing": REFUSED},
    "keys.json": {"missing": REFUSED, "other": "charged anew"},
    "tokens.json": {},
    "vault.duckdb": {"missing": REFUSED, "other": REFUSED},
    "ledger.jsonl": {"missing": REFUSED, "older": REFUSED, "newer": "newer", "other": REFUSED},
    "ledger.anchor": {"missing": REFUSED, "newer": REFUSED, "other": REFUSED},
    "checkpoint.json": {"missing": REFUSED, "newer": REFUSED, "other": REFUSED},
}


def test_no_file_of_a_backup_makes_the_ledger_forget_in_silence(custodian, backups, tmp_path):
    known = None
    for name in (None, *FILES):
        for wrong in ("missing", "older", "newer", "other") if name else ("nothing",):
            folder = tmp_path / f"restored-{name}-{wrong}"
            shutil.copytree(tmp_path / "good", folder)
            if wrong == "missing":
                drop(folder / name)
            elif name:
                put(tmp_path / wrong / name, folder)
            outcome, said = restored(custodian, folder)
            wanted = OUTCOMES[name].get(wrong, SAME) if name else SAME
            if outcome == REFUSED:
                assert wanted == REFUSED, (name, wrong, said)
                continue
            records, information = spent(custodian, folder)
            known = known or (records, information)  # of the whole backup: two records before the question is asked
            answer, fresh = outcome
            if wanted == SAME:
                assert (records, information, answer, fresh) == (*known, backups[1], False), (name, wrong)
            else:
                assert records == 4, (name, wrong)
                assert information == pytest.approx(1.5 * known[1]), (name, wrong)
                assert fresh == (wanted == "charged anew"), (name, wrong)


def restored(custodian, folder):
    """Follow the runbook; give what the question answers, or that something is refused, and what is said."""
    before = {path.name for path in folder.iterdir()}
    anchored = (folder / "ledger.anchor").read_bytes() if "ledger.anchor" in before else None
    done = custodian.does(folder, "ledger", "restore", "--from", "ledger.jsonl")
    if done.code:
        assert {path.name for path in folder.iterdir()} == before  # nothing is left behind
        assert anchored is None or (folder / "ledger.anchor").read_bytes() == anchored
        assert custodian.does(folder, *question(1)).code  # and nothing is answered
        assert not (folder / "ledger.sqlite").exists()
        return REFUSED, done.stderr
    for step in (("ledger", "verify", "--checkpoint", "checkpoint.json"), question(1)):
        done = custodian.does(folder, *step)
        if done.code:
            return REFUSED, done.stderr
    told = json.loads(done.stdout)
    return (told["cells"][0]["outputs"]["total"]["answer"], told["fresh"][0]), ""


def test_a_refused_restore_is_not_made_good_by_accepting_an_empty_ledger(custodian, backups, tmp_path):
    """A refused restore once left an empty ledger, which was then accepted as advised: all was forgotten."""
    folder = tmp_path / "good"
    (folder / "ledger.anchor").unlink()
    refused = custodian.does(folder, "ledger", "restore", "--from", "ledger.jsonl")
    assert refused.code == 1
    assert "put the anchor back" in refused.stderr
    assert "restore it with --accept" in refused.stderr
    for arguments in (("ledger", "checkpoint", "--accept"), ("ledger", "verify"), ("ledger", "show"), question(1)):
        done = custodian.does(folder, *arguments)
        assert done.code == 1
        assert "there is no ledger" in done.stderr
        assert not (folder / "ledger.sqlite").exists()
    assert custodian.must(folder, "ledger", "restore", "--from", "ledger.jsonl", "--accept") == "restored 3 records\n"
    assert custodian.asks(folder, 1) == (backups[1], False)


def test_a_ledger_that_is_not_mounted_is_not_made_anew(custodian, backups, tmp_path):
    folder = tmp_path / "here"
    for file in folder.glob("ledger.*"):
        file.unlink()
    for arguments in (question(1), ("register",), ("serve", "errorfloor.toml", "--port", "0", "--json")):
        done = custodian.does(folder, *arguments)
        assert done.code == 1, arguments
        assert "there is no ledger ledger.sqlite" in done.stderr.replace(f"{folder}/", "")
        assert "errorfloor ledger restore" in done.stderr
        assert not list(folder.glob("ledger*"))


def test_an_empty_ledger_without_its_anchor_is_refused(custodian, tmp_path):
    folder = tmp_path / "new"
    custodian.settles(folder)
    (folder / "ledger.anchor").unlink()
    for arguments in (question(1), ("ledger", "create")):
        done = custodian.does(folder, *arguments)
        assert done.code == 1, arguments
        assert "its anchor" in done.stderr
    custodian.must(folder, "ledger", "checkpoint", "--accept")
    assert custodian.asks(folder, 1)[1]


def test_another_ledger_that_was_never_charged_is_not_taken_for_the_one_in_use(custodian, tmp_path):
    here, other = tmp_path / "here", tmp_path / "elsewhere"
    custodian.settles(here)
    before = custodian.asks(here, 1)[0]
    custodian.settles(other, shift=1)
    kept = tmp_path / "kept"
    kept.mkdir()
    for file in here.glob("ledger*"):
        shutil.move(file, kept)
    for file in other.glob("ledger*"):
        put(file, here)  # the wrong disk is mounted
    (here / "errorfloor.toml").write_text(CATALOGUE.format(version="2", floor=0.5))
    assert "does not know the snapshot of t in version '1'" in custodian.does(here, "register").stderr
    (here / "errorfloor.toml").write_text(CATALOGUE.format(version="1", floor=0.5))
    for arguments in (question(1), question(2), ("serve", "errorfloor.toml", "--port", "0", "--json")):
        done = custodian.does(here, *arguments)
        assert done.code == 1, arguments
        assert "does not know the snapshot of t in version '1'" in done.stderr
        assert "Mount or restore" in done.stderr
    assert custodian.must(here, "ledger", "verify").startswith("1 record and")
    for file in kept.glob("ledger*"):
        put(file, here)
    assert custodian.asks(here, 1) == (before, False)


def test_a_source_keeps_its_name_when_the_vault_is_lost(custodian, tmp_path):
    folder = tmp_path / "here"
    custodian.settles(folder)
    custodian.asks(folder, 1)
    drop(folder / "vault.duckdb")
    declared = (folder / "errorfloor.toml").read_text()
    (folder / "errorfloor.toml").write_text(declared.replace("tables.t", "tables.renamed"))
    done = custodian.does(folder, "register")
    assert done.code == 2
    assert "table renamed has the same source as table t" in done.stderr
    (folder / "errorfloor.toml").write_text(declared.replace('"1"', '"2"'))
    custodian.must(folder, "register")
    assert custodian.asks(folder, 1)[1]


def test_a_charged_column_keeps_its_name_when_the_vault_is_lost(custodian, tmp_path):
    folder = tmp_path / "here"
    custodian.settles(folder)
    custodian.asks(folder, 1)
    drop(folder / "vault.duckdb")
    for name in ("errorfloor.toml", "t.csv"):
        text = (folder / name).read_text().replace("private.x", "private.y").replace("id,x", "id,y")
        (folder / name).write_text(text.replace('version = "1"', 'version = "2"'))
    done = custodian.does(folder, "register")
    assert done.code == 2
    assert "what was charged of t has a private column x, and version '2' has y in its place" in done.stderr


def test_a_copied_vault_belongs_to_the_ledger_beside_it(custodian, tmp_path):
    """A wrong ledger beside the source must not lend its silence to the copy."""
    old, new = tmp_path / "old", tmp_path / "new"
    custodian.settles(old)
    custodian.asks(old, 1)
    for file in old.glob("ledger*"):
        file.unlink()
    shutil.move(old / "vault.duckdb", tmp_path / "vault")
    custodian.must(old, "ledger", "create")
    shutil.move(tmp_path / "vault", old / "vault.duckdb")
    new.mkdir()
    for name in ("t.csv", "keys.json", "errorfloor.toml"):
        put(old / name, new)
    custodian.must(new, "ledger", "create")
    done = custodian.does(new, "register", "--copy-from", str(old / "errorfloor.toml"))
    assert done.code == 1
    assert "does not know the snapshot of t in version '1'" in done.stderr


def test_two_vaults_of_one_ledger_cannot_register_a_source_at_once(tmp_path, monkeypatch):
    """The ledger decides in the transaction in which it enters a source, whoever looked before."""
    ledger = open_ledger(Place(), tmp_path, create=True)
    note = {"version": "1", "source": "/data/meters.csv"}
    with ledger:
        enter(ledger, {**note, "table": "meters", "identity": "a"})
        with pytest.raises(CatalogueError, match="table homes has the same source as table meters"):
            enter(ledger, {**note, "table": "homes", "identity": "b"})
        enter(ledger, {**note, "table": "homes", "identity": "b", "source": "/data/homes.csv"})


def test_an_older_ledger_that_is_vouched_for_is_vouched_for_with_its_snapshots(custodian, tmp_path):
    folder = tmp_path / "here"
    custodian.settles(folder)
    custodian.asks(folder, 1)
    custodian.backs_up(folder, tmp_path / "older")
    custodian.settles(folder, shift=1, version="2")
    for file in folder.glob("ledger*"):
        file.unlink()
    for name in ("ledger.jsonl", "ledger.anchor"):
        put(tmp_path / "older" / name, folder)
    custodian.must(folder, "ledger", "restore", "--from", "ledger.jsonl")
    assert "does not know the snapshot of t in version '2'" in custodian.does(folder, *question(1)).stderr
    custodian.must(folder, "ledger", "checkpoint", "--accept")
    assert custodian.asks(folder, 1)[1]
    custodian.must(folder, "ledger", "verify")


def test_a_new_ledger_is_not_made_without_a_word(custodian, tmp_path):
    folder = tmp_path / "here"
    custodian.settles(folder)
    assert "ledger" not in custodian.does(folder, "register").stderr
    for file in (*folder.glob("ledger*"), folder / "vault.duckdb"):  # all is lost
        drop(file)
    assert "made a new ledger, in which nothing is charged" in custodian.does(folder, "register").stderr


def test_a_first_question_without_a_key_is_told_to_make_one(custodian, tmp_path):
    folder = tmp_path / "here"
    custodian.settles(folder)
    (folder / "keys.json").unlink()
    said = custodian.does(folder, *question(1)).stderr
    assert "If nothing was answered or released yet, make one with errorfloor keys create --file" in said


def test_an_empty_ledger_is_not_made_beside_snapshots_without_a_word(custodian, tmp_path):
    folder = tmp_path / "here"
    custodian.settles(folder)
    custodian.asks(folder, 1)
    for file in folder.glob("ledger*"):
        file.unlink()
    done = custodian.does(folder, "ledger", "create")
    assert done.code == 1
    assert "snapshots of t are registered, so there was a ledger" in done.stderr
    assert not list(folder.glob("ledger*"))
    assert custodian.must(folder, "ledger", "create", "--accept") == "the ledger exists, with 1 record\n"
    assert custodian.asks(folder, 1)[1]


def test_a_copied_vault_brings_its_charges_along(custodian, tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    custodian.settles(old)
    answer = custodian.asks(old, 1)[0]
    new.mkdir()
    for name in ("t.csv", "keys.json"):
        put(old / name, new)
    copying = ("register", "--copy-from", str(old / "errorfloor.toml"))
    for floor in (0.5, 0.01):
        (new / "errorfloor.toml").write_text(CATALOGUE.format(version="1", floor=floor))
        done = custodian.does(new, *copying)
        assert (done.code, "there is no ledger" in done.stderr) == (1, True)
    custodian.must(new, "ledger", "create")
    done = custodian.does(new, *copying)
    assert done.code == 1
    assert "the ledger here does not go on from the one that the snapshots were charged in" in done.stderr
    for file in new.glob("ledger*"):
        file.unlink()
    (tmp_path / "export.jsonl").write_text(custodian.must(old, "ledger", "export"))
    custodian.must(new, "ledger", "restore", "--from", str(tmp_path / "export.jsonl"), "--accept")
    done = custodian.does(new, *copying)
    assert (done.code, "floor" in done.stderr) == (2, True)
    (new / "errorfloor.toml").write_text(CATALOGUE.format(version="1", floor=0.5))
    custodian.must(new, *copying)
    assert custodian.asks(new, 1) == (answer, False)


def test_a_version_that_could_not_be_charged_is_refused_before_it_is_registered(custodian, backups, tmp_path):
    folder = tmp_path / "here"
    text = CATALOGUE.format(version="2", floor=0.5)
    for wrong in (text.replace("resolution = 0.5", "resolution = 0.25"), text.replace("floor = 0.5", "floor = 0.4")):
        (folder / "errorfloor.toml").write_text(wrong)
        done = custodian.does(folder, "register")
        assert done.code
        assert "declare it as it was" in done.stderr
    (folder / "errorfloor.toml").write_text(text)
    custodian.must(folder, "register")


def test_a_clock_far_ahead_is_refused_until_it_is_accepted(custodian, backups, tmp_path, monkeypatch):
    folder = tmp_path / "here"
    now = [f"{year}-01-01T00:00:00+00:00" for year in (2066, 2067)]
    monkeypatch.setattr("errorfloor.ledger.base._now", lambda: now[0])
    before = spent(custodian, folder)
    done = custodian.does(folder, *question(7))
    assert done.code == 1
    assert "clock says 2066-01-01, and the last record is from 20" in done.stderr
    assert spent(custodian, folder) == before
    assert custodian.asks(folder, 1) == (backups[1], False)  # what was answered before is free at any time
    assert custodian.must(folder, "ledger", "clock", "--accept") == f"{now[0]}\n"
    assert custodian.asks(folder, 7)[1]
    assert custodian.must(folder, "ledger", "verify").startswith("6 records")


@pytest.mark.skipif(not READ_ONLY, reason="needs a mount namespace")
def test_a_ledger_on_a_read_only_disk_can_be_verified_and_exported(custodian, backups, tmp_path):
    folder = tmp_path / "here"
    wanted = (folder / "ledger.jsonl").read_text()
    python, toml = sys.executable, folder / "errorfloor.toml"
    mount = f"mount --bind {folder} {folder} && mount -o remount,bind,ro {folder}"
    commands = " && ".join(f"{python} -m errorfloor ledger {word} -c {toml}" for word in ("verify", "export"))
    script = f"{mount} && ! touch {folder}/x 2>/dev/null && {commands}"
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    said, kept, exported = done.stdout.split("\n", 2)
    assert said.startswith("4 records") and kept.startswith("3 kept answers too")
    assert exported == wanted
