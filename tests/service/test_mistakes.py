"""Two hundred mistakes with the whole message of each: what was given, what is allowed, what to do.

``mistakes.tsv`` is the table: where the mistake is made, the mistake, the message. To change messages, change them in
the code, run ``python -m tests.service.test_mistakes``, and read what changed.
"""

import csv
import shlex
import tempfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

import errorfloor as ef
from errorfloor.catalogue import load
from errorfloor.cli.app import app, loaded
from errorfloor.service.registering import registering

TABLE = Path(__file__).with_name("mistakes.tsv")
PEOPLE = [("male", "north"), ("female", "south"), ("male", "east"), ("female", "west")]
ROWS = [
    f"p{i:03d},{gender},{region},{1960 + i % 40},{2000 + i % 25}-01-1{i % 9},{str(i % 3 > 0).lower()},{20 * i},{i % 9}"
    for i, (gender, region) in enumerate(PEOPLE * 25)
]
CATALOGUE = """
[tables.pay]
source = "pay.csv"
version = "1"
row_key = ["person"]
public = { person = "text", gender = "text", region = "text", born = "whole", joined = "date", full_time = "flag" }
[tables.pay.private.pay]
range = [0, 10000]
resolution = 0.01
floor = 500
unit = "EUR"
[tables.pay.private.hours]
range = [0, 60]
resolution = 1
floor = 3
unit = "h"
[tables.regions]
source = "regions.csv"
version = "1"
row_key = ["region"]
public = { region = "text", capital = "text", people = "whole" }
"""


def made(folder: Path) -> Path:
    (folder / "pay.csv").write_text("person,gender,region,born,joined,full_time,pay,hours\n" + "\n".join(ROWS) + "\n")
    regions = "region,capital,people\nnorth,Kiel,100\nsouth,Ulm,200\neast,Jena,300\nwest,Bonn,400\n"
    (folder / "regions.csv").write_text(regions)
    (folder / "errorfloor.toml").write_text(CATALOGUE)
    assert CliRunner().invoke(app, ["keys", "create", "--file", str(folder / "keys.json")]).exit_code == 0
    assert len(list(registering(load(folder / "errorfloor.toml")))) == 2
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return made(tmp_path_factory.mktemp("home"))


def said(where: str, mistake: str, home: Path) -> str:
    """Make the mistake, and give what is said of it."""
    try:
        if where == "question":
            with ef.open(home / "errorfloor.toml") as db:
                db.price(mistake, max_error=100)
        elif where == "python":
            with ef.open(home / "errorfloor.toml") as db:
                eval(mistake, {"ef": ef, "db": db, "home": home})
        elif where == "catalogue":
            old, _, new = mistake.partition(" → ")
            assert old in CATALOGUE, old
            file = home / "changed.toml"
            file.write_text(CATALOGUE.replace(old, new, 1))
            ef.open(file)
        else:
            words = shlex.split(mistake)
            loaded(words[0])
            result = CliRunner().invoke(app, words)
            if result.exception is not None and not isinstance(result.exception, SystemExit):
                raise result.exception
            assert result.exit_code, result.output
    except ef.errors.ErrorFloorError as problem:
        return str(problem).replace(str(home), "HOME").replace("\n", " ⏎ ")
    return "nothing"


def table() -> list[tuple[str, str, str]]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        return [tuple(row) for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]  # type: ignore[misc]


@pytest.mark.parametrize(("where", "mistake", "message"), table(), ids=lambda text: text[:60])
def test_a_mistake_is_answered_with_its_message(where, mistake, message, home, monkeypatch):
    monkeypatch.chdir(home)
    assert said(where, mistake, home) == message


def test_there_are_two_hundred_and_none_is_passed_over():
    assert len({(where, mistake) for where, mistake, _ in table()}) >= 200
    assert not [mistake for _, mistake, message in table() if message == "nothing"]


def rewrite() -> None:
    """Write the messages as they are now."""
    import os

    rows = table()
    with tempfile.TemporaryDirectory() as folder:
        home = made(Path(folder).resolve())
        os.chdir(home)
        now = [(where, mistake, said(where, mistake, home)) for where, mistake, _ in rows]
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        file.writelines("\t".join(row) + "\n" for row in now)


if __name__ == "__main__":
    rewrite()
