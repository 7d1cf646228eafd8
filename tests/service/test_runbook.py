"""Every step of the runbook in docs/how-to-keep-the-ledger.md, by the commands that it names."""

import datetime
import json
import shutil
import sys
import time
from dataclasses import dataclass

import pytest

from errorfloor.cli.app import run
from town import write_town

AVERAGE = "SELECT tariff, avg(kwh) AS mean FROM meters GROUP BY tariff"


@dataclass(frozen=True)
class Done:
    stdout: str
    stderr: str
    code: int


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """Give a function that runs a command as the program does, in the folder of a registered town."""
    write_town(tmp_path, owner=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("signal.signal", lambda *_: None)

    def call(*arguments, code=0):
        monkeypatch.setattr(sys, "argv", ["errorfloor", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            run()
        done = Done(*capsys.readouterr(), end.value.code or 0)
        assert done.code == code, done.stderr
        return done

    call("register")
    return call


def asked(command, error="20", *options):
    """Ask; give the released numbers, whether they were charged, and the largest share used."""
    plain = json.loads(command("ask", AVERAGE, "--max-error", error, "--json", *options).stdout)
    numbers = [cell["outputs"]["mean"]["answer"] for cell in plain["cells"]]
    return numbers, plain["fresh"][0], max(account["used"] for account in plain["accounts"])


def test_rotating_the_key_keeps_what_was_answered_and_draws_the_rest_with_the_new_one(command, tmp_path):
    old_key = json.loads(command("keys", "list", "--file", "keys.json", "--json").stdout)[0]["id"]
    before, fresh, used = asked(command)
    assert fresh
    command("keys", "rotate", "--file", "keys.json")
    new_key = json.loads(command("keys", "list", "--file", "keys.json", "--json").stdout)[1]["id"]
    assert asked(command) == (before, False, used)  # under any key: nothing is drawn or charged
    assert asked(command, "20", "--key", old_key) == (before, False, used)
    _, fresh, _ = asked(command, "19")
    assert fresh
    records = map(json.loads, command("ledger", "export").stdout.splitlines())
    assert [one["note"]["key"] for one in records if "key" in one["note"]] == [old_key, new_key]
    unknown = command("ask", AVERAGE, "--max-error", "20", "--key", "0123", code=2)
    assert "has no key 0123" in unknown.stderr
    assert "4 records" in command("ledger", "verify").stdout


def test_discarding_keys_that_were_seen_gives_nothing_again_that_they_drew(command):
    before, _, used = asked(command)
    command("keys", "rotate", "--file", "keys.json", "--discard")
    assert len(json.loads(command("keys", "list", "--file", "keys.json", "--json").stdout)) == 1
    after, fresh, used_after = asked(command)
    assert fresh and after != before and used_after == pytest.approx(2 * used)
    assert "1 kept answer cannot be checked" in command("ledger", "verify").stdout


def test_what_is_kept_is_verified_exported_restored_and_forgotten(command, tmp_path):
    before = [asked(command), asked(command, "19")]
    free = [(numbers, False, before[1][2]) for numbers, _, _ in before]
    assert "2 kept answers too" in command("ledger", "verify").stdout
    listed = command("ledger", "known").stdout
    assert listed.count(AVERAGE) == 2 and "mean within ±20 kWh" in listed
    assert [one["number"] for one in json.loads(command("ledger", "known", "--json").stdout)] == [1, 2]
    assert command("ledger", "known", "--table", "homes").stdout == ""
    for name, options in (("ledger.jsonl", ()), ("kept.jsonl", ("--kept",))):
        (tmp_path / name).write_text(command("ledger", "export", *options).stdout)
    (tmp_path / "ledger.sqlite").unlink()
    command("keys", "rotate", "--file", "keys.json")
    done = command("ledger", "restore", "--from", "ledger.jsonl", "--kept", "kept.jsonl").stdout
    assert done == "restored 4 records and 2 kept answers\n"
    assert json.loads(command("ledger", "verify", "--json").stdout)["kept"] == 2
    assert [asked(command), asked(command, "19")] == free
    assert command("ledger", "forget", "--before", "2000-01-01").stdout == "forgot 0 kept answers\n"
    assert command("ledger", "forget", "--answer", "1").stdout == "forgot 1 kept answer\n"
    assert command("ledger", "forget", "--all").stdout == "forgot 1 kept answer\n"
    assert [asked(command), asked(command, "19")] == free  # drawn again as they were, with the key that drew them
    assert "one of --answer, --before and --all" in command("ledger", "forget", code=2).stderr
    (tmp_path / "kept.jsonl").write_text('{"text": "{}", "seal": "", "content": ""}\n')
    for file in tmp_path.glob("ledger.sqlite*"):
        file.unlink()
    wrong = command("ledger", "restore", "--from", "ledger.jsonl", "--kept", "kept.jsonl", code=1)
    assert "this is not a kept answer" in wrong.stderr


NO_TIMES = [
    "yesterday",
    "last week",
    "zzz",
    "",
    " ",
    "01.01.2020",
    "2026",
    "2026-1-1",
    "20260101",
    "2026-02-30",
    "1e9",
    "now",
]


def test_what_is_forgotten_is_what_was_kept_before_a_time_and_nothing_where_none_is_given(command):
    for bound in ("20", "30"):
        asked(command, bound)
    times = [one["time"] for one in json.loads(command("ledger", "known", "--json").stdout)]
    for text in [*NO_TIMES, f"{times[0]}+x", "２０２０-01-01"]:
        refused = command("ledger", "forget", "--before", text, code=2)
        assert "--before must be a day such as 2026-01-01, or a time such as" in " ".join(refused.stderr.split())
    for text in ("2999-01-01", "2999-01-01T00:00:00Z", "9999-12-31T23:59-14:00"):
        refused = command("ledger", "forget", "--before", text, code=2)
        assert f"--before {text} is still to come, and would be all of them: say --all" in refused.stderr
    first = datetime.datetime.fromisoformat(times[0])
    elsewhere = first.astimezone(datetime.timezone(datetime.timedelta(hours=-11)))  # another day, for text
    for early in ("2000-01-01", "0001-01-01T00:00+14:00", times[0], elsewhere.isoformat(), str(first)):
        assert command("ledger", "forget", "--before", early).stdout == "forgot 0 kept answers\n"
    time.sleep(
        max(0.0, (first + datetime.timedelta(seconds=2.1) - datetime.datetime.now(datetime.UTC)).total_seconds())
    )
    late = (first + datetime.timedelta(seconds=2)).astimezone(elsewhere.tzinfo).isoformat()
    gone = sum(datetime.datetime.fromisoformat(one) < datetime.datetime.fromisoformat(late) for one in times)
    assert json.loads(command("ledger", "forget", "--before", late, "--json").stdout) == {"forgotten": gone}
    assert gone >= 1


def test_a_table_that_is_not_declared_has_no_kept_answers_to_list(command, tmp_path):
    asked(command)
    for more in ((), ("--json",)):
        refused = command("ledger", "known", "--table", "metres", *more, code=2)
        assert "there is no table 'metres' in the catalogue; it declares 'meters': did you mean that?" in refused.stderr
        assert ("error" in refused.stdout) is bool(more)
    written = (tmp_path / "errorfloor.toml").read_text()
    (tmp_path / "errorfloor.toml").write_text(written.replace("tables.meters", "tables.readings"))
    assert AVERAGE in command("ledger", "known", "--table", "meters").stdout  # what is kept of it is there still


def test_backup_and_restore(command, tmp_path):
    before, _, used = asked(command)
    (tmp_path / "ledger.jsonl").write_text(command("ledger", "export").stdout)
    (tmp_path / "ledger.sqlite").unlink()  # the disk dies
    lost = command("ask", AVERAGE, "--max-error", "20", code=1)
    assert "there is no ledger" in lost.stderr
    assert "says that it has 3 records" in lost.stderr
    assert "errorfloor ledger restore" in lost.stderr
    assert command("ledger", "restore", "--from", "ledger.jsonl").stdout == "restored 3 records\n"
    assert command("ledger", "verify").stdout.startswith("3 records and")
    assert asked(command) == (before, False, used)


def test_a_backup_that_is_too_old_is_refused_and_can_only_be_vouched_for(command, tmp_path):
    asked(command)
    (tmp_path / "ledger.jsonl").write_text(command("ledger", "export").stdout)
    asked(command, "19")
    (tmp_path / "ledger.sqlite").unlink()
    assert "an older copy" in command("ledger", "restore", "--from", "ledger.jsonl", code=1).stderr
    (tmp_path / "ledger.anchor").rename(tmp_path / "ledger.anchor.lost")
    assert "is missing" in command("ledger", "restore", "--from", "ledger.jsonl", code=1).stderr
    command("ledger", "restore", "--from", "ledger.jsonl", "--accept")
    assert asked(command, "19")[1]  # what the lost record had charged is charged again


def test_a_key_that_is_lost_and_found(command, tmp_path):
    before, _, used = asked(command)
    (tmp_path / "keys.json").rename(tmp_path / "safe.json")
    lost = command("ask", AVERAGE, "--max-error", "20", code=1)
    assert "there is no key file" in lost.stderr
    assert "errorfloor keys create" in lost.stderr
    assert command("ledger", "verify").stdout.startswith("3 records and")  # the ledger needs no key
    command("keys", "create", "--file", "keys.json")
    after, fresh, used_after = asked(command)
    assert fresh
    assert after != before
    assert used_after == pytest.approx(2 * used)
    (tmp_path / "safe.json").replace(tmp_path / "keys.json")
    assert asked(command) == (before, False, used_after)


def test_moving_to_postgresql(command, tmp_path, postgresql_place):
    before, _, used = asked(command)
    (tmp_path / "ledger.jsonl").write_text(command("ledger", "export").stdout)
    catalogue = tmp_path / "errorfloor.toml"
    on_sqlite = catalogue.read_text()
    catalogue.write_text(f'[place]\nledger = "{postgresql_place.place.snapshots}"\n{on_sqlite}')
    assert command("ledger", "restore", "--from", "ledger.jsonl").stdout == "restored 3 records\n"
    assert command("ledger", "verify").stdout.startswith("3 records and")
    assert asked(command) == (before, False, used)
    asked(command, "19")
    catalogue.write_text(on_sqlite)
    assert "an older copy" in command("ask", AVERAGE, "--max-error", "18", code=1).stderr


def test_quotas_are_shown_with_what_is_used_of_them(command, tmp_path):
    catalogue = tmp_path / "errorfloor.toml"
    catalogue.write_text(f"[quota]\nanalyst = 0.5\nmonth = 0.9\n{catalogue.read_text()}")
    asked(command, "20", "--analyst", "ada")
    lines = command("ledger", "show").stdout.splitlines()
    assert lines[0] == "3 records, 2 accounts"
    assert [line.partition(":")[0].partition(" of ")[2] for line in lines[3:]][:2] == [
        "analyst ada of the owners of meters",
        "month " + lines[4].partition("month ")[2].partition(":")[0],
    ]
    shown = json.loads(command("ledger", "show", "--json").stdout)
    assert {(quota["holder"][0], quota["column"]) for quota in shown["quotas"]} == {
        ("analyst", None), ("analyst", "kwh"), ("month", None), ("month", "kwh"),
    }  # fmt: skip
    for account in shown["accounts"]:
        quota = next(
            q for q in shown["quotas"] if q["holder"] == ["analyst", "ada"] and q["column"] == account["column"]
        )
        assert quota["information"] == account["information"]
        assert quota["allowed_information"] == account["allowed_information"] / 2
    refused = command("ask", AVERAGE, "--spend", "0.6", "--analyst", "ada", code=3)
    assert "would exceed the quota of analyst ada" in refused.stderr


def test_what_is_left_can_be_asked_for(command):
    words = command("price", AVERAGE, "--max-error", "20", "--left").stdout
    assert "more answers of this price can be given; owners of meters ends them." in words
    plain = json.loads(command("price", AVERAGE, "--max-error", "20", "--left", "--json").stdout)
    assert plain["answers"] == int(words.split()[0].replace(",", ""))
    assert "2 records" in command("ledger", "verify").stdout


def test_a_dry_run_needs_nothing_but_the_catalogue(command, tmp_path):
    for path in tmp_path.iterdir():
        if path.name != "errorfloor.toml":
            path.unlink() if path.is_file() else shutil.rmtree(path)
    done = command("ask", AVERAGE, "--max-error", "0.1", "--dry")
    assert "dry run: dummy rows" in done.stderr
    assert "tariff 0" in done.stdout
    assert json.loads(command("ask", AVERAGE, "--max-error", "0.1", "--dry", "--json").stdout)["dry"] is True
    assert [path.name for path in tmp_path.iterdir()] == ["errorfloor.toml"]
