"""Whatever a terminal can show, what was charged is printed."""

import ast
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import errorfloor
from errorfloor.cli import run as run_here
from town import write_town

AVERAGE = "SELECT tariff, avg(kwh) AS mean FROM meters GROUP BY tariff"
ASK = ("ask", AVERAGE, "--max-error", "0.5")
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    folder = tmp_path_factory.mktemp("town")
    write_town(folder)
    shown = subprocess.run(
        [sys.executable, "-m", "errorfloor", "register"], cwd=folder, env=os.environ | ASCII, capture_output=True
    )
    assert shown.returncode == 0, shown.stderr
    assert b"values outside 0 ... 50 kWh are clamped" in shown.stdout
    return folder


@pytest.fixture
def typed(town, monkeypatch):
    """Run a command here, on a terminal of an encoding; gives its exit code and what it printed."""
    monkeypatch.chdir(town)
    monkeypatch.setattr(signal, "signal", lambda *_: None)

    def run(encoding, *arguments):
        streams = {name: io.TextIOWrapper(io.BytesIO(), encoding=encoding) for name in ("stdout", "stderr")}
        for name, stream in streams.items():
            monkeypatch.setattr(sys, name, stream)
        monkeypatch.setattr(sys, "argv", ["errorfloor", *arguments])
        with pytest.raises(SystemExit) as ended:
            run_here()
        for stream in streams.values():
            stream.flush()
        return ended.value.code, *(stream.buffer.getvalue().decode(encoding) for stream in streams.values())

    return run


def test_an_answer_is_printed_where_the_locale_is_ascii(town):
    command = [sys.executable, "-m", "errorfloor", *ASK]
    shown = subprocess.run(command, cwd=town, env=os.environ | ASCII, capture_output=True)
    assert shown.returncode == 0, shown.stderr
    rows = [line.split() for line in shown.stdout.decode("ascii").splitlines()]
    assert rows[0] == ["tariff", "mean"] and rows[2][2:] == ["+/-", "0.5", "kWh"]
    assert "mean is certainly within +/-0.5 kWh of the truth" in shown.stderr.decode("ascii")


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "iso-8859-1", "cp437", "utf-8"])
def test_an_answer_is_the_same_in_every_encoding(typed, encoding):
    code, shown, said = typed(encoding, *ASK)
    assert code == 0, said
    assert "".join(shown.split()).replace("±", "+/-").count("+/-0.5kWh") == 2
    assert "of the truth" in said
    assert json.loads(typed(encoding, *ASK, "--json")[1]) == json.loads(typed("utf-8", *ASK, "--json")[1])


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("price", AVERAGE, "--max-error", "0.5"),
        ("ask", "SELECT avg(kwh) FROM meters WHERE household = '東京'", "--max-error", "0.5"),
        ("ask", AVERAGE, "--max-error", "1e-9"),
        ("ask", AVERAGE, "--max-error", "1e-9", "--json"),
        ("ledger", "show"),
        ("design", "--support", "-0.5..0.5", "--unit", "°C"),
        ("counts", "--max-noise", "3", "--variance", "2", "--keep-zero"),
    ],
    ids=lambda arguments: " ".join(arguments)[:40],
)
def test_no_command_ends_for_lack_of_a_character(typed, encoding, arguments):
    code, shown, said = typed(encoding, *arguments)
    assert code in (0, 2, 3)
    assert shown or said


def test_files_are_read_and_written_as_utf8_whatever_the_locale():
    for file in Path(errorfloor.__file__).parent.rglob("*.py"):
        calls = [node for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
        for call in calls:
            assert not _opens_text(call) or _names_encoding(call), f"{file}:{call.lineno}"


def _opens_text(call):
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    modes = {one.value for one in call.args if isinstance(one, ast.Constant)} & {"r", "w", "a", "x", "r+"}
    return name in ("read_text", "write_text") or (name in ("open", "fdopen") and bool(modes))


def _names_encoding(call):
    given = {getattr(one, "value", None) for one in call.args}
    return "encoding" in {one.arg for one in call.keywords} or "utf-8" in {
        text for text in given if isinstance(text, str)
    }
