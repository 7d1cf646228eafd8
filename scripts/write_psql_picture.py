"""Write docs/pictures/psql.png: a session of psql with a server of the demo's table, as a terminal shows it.

It needs psql, which ``make clients`` installs. Keys are made anew, so that the numbers differ from run to run.
"""

import json
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from PIL import Image

from errorfloor.cli.demo import prepare_demo

TARGET = Path(__file__).parents[1] / "docs" / "pictures" / "psql.png"
WIDTH, PATIENCE = 108, 60.0
PROMPT = "errorfloor=> "
QUESTION = "SELECT tariff, avg(kwh) AS mean FROM meters GROUP BY tariff WITHIN 0.5"
AROUND = f"SELECT max(mean) AS highest FROM ({QUESTION}) AS t;"
SAID = [f"{QUESTION};", "SET charge = 0.05;", f"{QUESTION};", "SET client_min_messages = warning;", AROUND]
PAPER, INK = "#1d2329", "#dfe5ea"
COLOURS = {PROMPT: "#8fd0ff", "ERROR": "#ff9d8f", "NOTICE": "#b6c98d"}


def session(folder: Path) -> str:
    """Serve a fresh table, say each line to psql at its prompt, and give all that the terminal showed."""
    catalogue = prepare_demo(folder)
    command = [sys.executable, "-m", "errorfloor"]
    made = subprocess.run(
        [*command, "tokens", "create", "--name", "anna", "--file", str(catalogue.with_name("tokens.json")), "--json"],
        check=True,
        capture_output=True,
        text=True,
    )
    server = subprocess.Popen(
        [*command, "serve", str(catalogue), "--port", "0", "--postgres", "0", "--json"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        told = ""
        while not told.rstrip().endswith("\n}"):
            told += server.stdout.readline()
        place = f"host=127.0.0.1 port={json.loads(told)['postgres']} user=anna dbname=errorfloor"
        return shown(
            ["psql", place, "--no-psqlrc", "--no-readline", "-v", "VERBOSITY=terse"], json.loads(made.stdout)["token"]
        )
    finally:
        server.terminate()
        server.wait()


def shown(program: list[str], password: str) -> str:
    """Give what a program writes to its terminal while the lines are said."""
    ours, theirs = pty.openpty()
    plain = {"PGPASSWORD": password, "PAGER": "", "TERM": "dumb", "INPUTRC": "/dev/null", "PSQL_HISTORY": "/dev/null"}
    running = subprocess.Popen(
        program, stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, **plain}, start_new_session=True
    )
    os.close(theirs)
    text, until = "", time.monotonic() + PATIENCE
    for count, line in enumerate([*SAID, "\\q"], start=1):
        while text.count(PROMPT) < count:
            assert time.monotonic() < until, text
            if select.select([ours], [], [], 0.2)[0]:
                text += os.read(ours, 65536).decode()
        os.write(ours, f"{line}\n".encode())
    running.wait(PATIENCE)
    os.close(ours)
    return text.replace("\r", "")


def drawn(lines: list[str]) -> None:
    """Draw lines as a terminal shows them."""
    plt.rcParams["font.family"] = "DejaVu Sans Mono"
    high = 0.19 * len(lines) + 0.3
    figure = plt.figure(figsize=(8.4, high), facecolor=PAPER)
    colour = INK
    for place, line in enumerate(lines):
        named = next((one for one in COLOURS if line.startswith(one)), None)
        goes_on = line.startswith("  ") or (colour == COLOURS["NOTICE"] and " | " not in line)
        colour = COLOURS[named] if named else colour if goes_on else INK
        figure.text(0.018, 1 - (0.19 * place + 0.25) / high, line, color=colour, fontsize=9, va="center")
    figure.savefig(TARGET, dpi=110, facecolor=PAPER, metadata={"Software": None})
    plt.close(figure)
    with Image.open(TARGET) as picture:
        picture.convert("RGB").quantize(64).save(TARGET, optimize=True)


def main() -> None:
    """Write the picture."""
    with tempfile.TemporaryDirectory() as folder:
        text = session(Path(folder))
    text = text[text.index(PROMPT) : text.rindex(PROMPT)]
    lines: list[str] = []
    for line in text.splitlines():
        is_table = " | " in line or re.fullmatch(r"[-+]+", line) is not None
        lines += [line] if is_table else textwrap.wrap(line, WIDTH, subsequent_indent="  ") or [""]
    drawn(lines)


if __name__ == "__main__":
    main()
