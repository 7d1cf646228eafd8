"""The command line: data on stdout, messages on stderr, exit codes that mean something."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import errorfloor as ef
from commands import run
from errorfloor.cli.app import command, counted
from town import write_town


def test_help_names_every_command():
    shown = run("--help")
    assert shown.returncode == 0
    for name in ("demo", "design", "paper"):
        assert name in shown.stdout


def test_the_paper_is_recomputed_by_the_clone_that_the_command_lies_in(tmp_path):
    refused = run("paper", "--format", "pdf", cwd=tmp_path)
    assert refused.returncode == 2
    assert "format must be 'html' or 'markdown', got 'pdf'" in refused.stderr
    assert run("paper", "--help").stdout.count("needs a clone") == 1


def test_version():
    alone = subprocess.run([sys.executable, "-m", "errorfloor", "--version"], capture_output=True, text=True)
    assert alone.stdout == run("--version").stdout == f"errorfloor {ef.__version__}\n"


def test_design_prints_noise_and_promise(tmp_path):
    shown = run(
        "design",
        "--support",
        "-0.5..0.5",
        "--jacobian",
        "[[0.01, 0.01]]",
        "--range",
        "0..50",
        "--unit",
        "kWh",
        "--plot",
        str(tmp_path / "noise.svg"),
    )
    assert shown.returncode == 0, shown.stderr
    assert "RaisedCosine(low=-0.5, high=0.5)" in shown.stdout
    assert "in the worst case over 0 … 50 kWh" in shown.stdout
    assert "wrote" in shown.stderr
    assert "wrote" not in shown.stdout
    assert (tmp_path / "noise.svg").exists()


def test_design_as_json_is_a_noise_that_can_be_rebuilt():
    shown = run("design", "--support", "0..,0..", "--max-loss", "1", "--json")
    facts = json.loads(shown.stdout)
    noise = ef.noise.from_dict(facts["noise"])
    assert noise == ef.design(ef.Orthant(2), max_loss=1.0)
    assert facts["information"] == noise.information.tolist()


def test_design_reads_a_support_from_a_file(tmp_path):
    file = tmp_path / "support.json"
    file.write_text(json.dumps(ef.Ellipsoid([[4.0, 0.0], [0.0, 4.0]]).to_dict()))
    shown = run("design", "--support", f"@{file}", "--json")
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)["noise"]["type"] == "LinearImage"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--support", "wide"], "cannot read 'wide' as a support"),
        (["--support", "1..0"], "Interval needs low < high"),
        (["--support", ".."], "noise of infinite variance is optimal"),
        (["--support", "ball:2:-1"], "radius must be positive"),
        (["--support", "ball:two:1"], "cannot read 'ball:two:1'"),
        (["--support", "@missing.json"], "there is no file missing.json"),
        (["--support", "0..1", "--jacobian", "[[1,"], "--jacobian must be JSON"),
        (["--support", "0..1", "--jacobian", '"a"'], "jacobian must be numbers"),
        (["--support", "0..1", "--range", "5.."], "a range has two ends"),
        (["--support", "0..1", "--max-loss", "-3"], "max_loss must be positive"),
        (["--support", "0..1,0..1", "--objective", "error"], "is ill-posed without a cap"),
        (["--support", "0..1", "--loss", "[[1]]"], "loss has no effect alone"),
    ],
)
def test_a_users_mistake_is_one_line_and_exit_two(arguments, message, tmp_path):
    shown = run("design", *arguments, cwd=tmp_path)
    assert shown.returncode == 2
    assert message in shown.stderr
    assert "Traceback" not in shown.stderr
    assert shown.stdout == ""
    as_json = run("design", *arguments, "--json", cwd=tmp_path)
    assert message in json.loads(as_json.stdout)["error"]["message"]


def test_unknown_options_are_usage_errors():
    shown = run("design", "--colour", "red")
    assert shown.returncode == 2
    assert "Traceback" not in shown.stderr


def test_an_output_that_cannot_be_written_fails_in_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    shown = run("demo", "--output", str(tmp_path / "file"))
    assert shown.returncode == 1
    assert "Traceback" not in shown.stderr


LEAVING = """
import atexit, sys, threading
from errorfloor import cli
def said(words):
    print(words)
atexit.register(said, "the last word")
def work():
    threading.Event().wait(0.3)
    said("of a thread")
thread = threading.Thread(target=work)
cli.run = lambda: ({started} and thread.start(), said("an answer"), sys.exit({code}))
cli.main()
"""


@pytest.mark.parametrize("code", [0, 3])
@pytest.mark.parametrize("started", [False, True])
def test_a_process_that_ends_early_has_said_and_done_all(code, started):
    script = LEAVING.format(code=code, started=started)
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert shown.returncode == code
    assert shown.stdout.split("\n") == ["an answer", *["of a thread"] * started, "the last word", ""]
    assert shown.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device here is always full")
def test_an_answer_that_cannot_be_written_is_a_failure():
    with Path("/dev/full").open("w") as full:
        lost = subprocess.run([sys.executable, "-m", "errorfloor", "--version"], stdout=full, stderr=subprocess.PIPE)
    assert lost.returncode not in (0, 3)
    assert b"No space left" in lost.stderr


def test_a_missing_extra_prints_its_install_command():
    hide = "import sys; sys.modules['typer'] = None; from errorfloor.cli import main; main()"
    shown = subprocess.run([sys.executable, "-c", hide], capture_output=True, text=True)
    assert shown.returncode == 1
    assert "pip install 'errorfloor[cli]'" in shown.stderr
    hide = "import sys; sys.modules['matplotlib'] = None; import errorfloor as ef; ef.design(ef.Interval(0, 1)).plot()"
    shown = subprocess.run([sys.executable, "-c", hide], capture_output=True, text=True)
    assert "pip install 'errorfloor[plots]'" in shown.stderr


def test_a_hint_names_the_command_as_it_was_typed(monkeypatch, tmp_path):
    script = tmp_path / "my env" / "bin" / "errorfloor"
    script.parent.mkdir(parents=True)
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(script), "demo"])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert command() == f"'{script}'"
    monkeypatch.setenv("PATH", str(script.parent))
    assert command() == "errorfloor"
    monkeypatch.setattr(sys, "argv", ["/somewhere/errorfloor/__main__.py"])
    assert command().endswith(" -m errorfloor")


def test_one_is_counted_as_one():
    assert [counted(number, "record") for number in (0, 1, 2, 1000)] == [
        "0 records", "1 record", "2 records", "1,000 records",
    ]  # fmt: skip


@pytest.mark.parametrize("beside", ["ledger.sqlite", "ledger.anchor", "keys.json.releases"])
def test_a_lost_key_file_is_to_be_restored_and_not_made_anew(tmp_path, beside):
    first = run("keys", "list", "--file", "keys.json", cwd=tmp_path)
    assert "there is no key file keys.json: make one with errorfloor keys create" in first.stderr
    (tmp_path / beside).touch()
    lost = run("keys", "list", "--file", "keys.json", cwd=tmp_path)
    assert f"({beside} lies there), restore the backup of the key file" in lost.stderr
    assert "drawn, and charged, again" in lost.stderr
    again = run("init", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "no key was made" in again.stderr
    assert not (tmp_path / "keys.json").exists()
    made = run("keys", "create", "--file", "keys.json", cwd=tmp_path)
    assert f"if {beside} was used with another key" in made.stderr


def test_keys_are_made_listed_and_rotated(tmp_path):
    file = str(tmp_path / "keys.json")
    made = json.loads(run("keys", "create", "--file", file, "--json").stdout)["id"]
    fresh = json.loads(run("keys", "rotate", "--file", file, "--json").stdout)["id"]
    listed = json.loads(run("keys", "list", "--file", file, "--json").stdout)
    assert [key["id"] for key in listed] == [made, fresh]
    assert [key["in_use"] for key in listed] == [False, True]
    shown = run("keys", "list", "--file", file).stdout
    assert fresh in shown
    secrets = [key["secret"] for key in json.loads((tmp_path / "keys.json").read_text())["keys"]]
    assert not any(secret[:8] in shown for secret in secrets)
    again = run("keys", "create", "--file", file)
    assert again.returncode == 1
    assert "exists already" in again.stderr


def test_release_from_the_shell(tmp_path):
    (tmp_path / "meters.csv").write_text("id,kwh,gas\n1,10.0,5\n2,11.5,6\n3,0.25,7\n")
    run("keys", "create", "--file", "keys.json", cwd=tmp_path)
    common = ["release", "meters.csv", "out.csv", "--key", "id", "--batch", "q1", "--keys", "keys.json"]
    two = ["--column", "kwh", "--noise", "0..0.5", "--column", "gas", "--noise", "-1..1", "--unit", "kWh"]
    shown = run(*common, *two, cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "out.csv: 3 rows" in shown.stdout
    assert "gas: each released number minus the true one lies certainly in -1 … 1 kWh" in shown.stdout
    rows = [line.split(",") for line in (tmp_path / "out.csv").read_text().splitlines()[1:]]
    for row, kwh, gas in zip(rows, (10.0, 11.5, 0.25), (5, 6, 7), strict=True):
        assert 0 <= float(row[1]) - kwh <= 0.5
        assert abs(float(row[2]) - gas) <= 1
    report = json.loads(run(*common, *two, "--overwrite", "--json", cwd=tmp_path).stdout)
    assert [column["column"] for column in report["columns"]] == ["kwh", "gas"]


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--column", "kwh", "--noise", "0.."], "--noise must be a bounded interval"),
        (["--column", "kw", "--noise", "0..1"], "no column kw: did you mean kwh"),
        (["--column", "kwh", "--noise", "0..1", "--noise", "0..2"], "--noise is given 2 times for 1 columns"),
        (["--column", "kwh", "--noise", "0..1", "--step", "2"], "leaves no room for noise"),
        (["--column", "kwh", "--noise", "0..1", "--range", "5"], "a range has two ends, such as 0..50; got '5'"),
    ],
)
def test_mistakes_in_a_release_are_named(tmp_path, extra, message):
    (tmp_path / "meters.csv").write_text("id,kwh\n1,10.0\n")
    run("keys", "create", "--file", "keys.json", cwd=tmp_path)
    shown = run(
        "release", "meters.csv", "out.csv", "--key", "id", "--batch", "q1", "--keys", "keys.json", *extra, cwd=tmp_path
    )
    assert shown.returncode == 2, shown.stderr
    assert message in shown.stderr
    assert "Traceback" not in shown.stderr
    assert not (tmp_path / "out.csv").exists()


def test_keys_of_every_type_are_printed_as_json(tmp_path):
    write_town(tmp_path)
    assert run("register", cwd=tmp_path).returncode == 0
    for key in ("day", "rooms * rooms", "area * area"):
        asked = f"SELECT {key} AS k, avg(kwh) AS mean FROM meters GROUP BY {key}"
        done = run("ask", asked, "--max-error", "40", "--json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert len(json.loads(done.stdout)["cells"]) > 1
