"""``errorfloor plan``: what a list of questions would take, before anything is promised."""

import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from errorfloor.catalogue.near import near
from errorfloor.cli.app import AsJson, app, show
from errorfloor.cli.questions import Analyst, CatalogueFile, Dry
from errorfloor.errors import InputError
from errorfloor.service import open_database

WORDS = ("questions", "candidates")
MOST_BYTES = 1 << 20
QUESTION = re.compile(r"\s*\[\[\s*questions\s*\]\]|\s*questions\s*=")
CANDIDATES = re.compile(r"\s*\[\s*candidates\b|\s*candidates\b.*=")


@app.command()
def plan(
    file: Annotated[Path, typer.Argument(metavar="FILE", help=r"The plan: [\[questions]] and \[candidates.TABLE].")],
    catalogue: CatalogueFile = Path("errorfloor.toml"),
    analyst: Analyst = None,
    dry: Dry = False,
    as_json: AsJson = False,
) -> None:
    r"""Say what a list of questions would take together, and which floors would allow it; nothing is charged.

    The file has a section [\[questions]] for each question, with sql and max_error or spend; a
    section \[candidates.TABLE] may list floors to compare. No private column is read.
    """
    text = _text(file)
    given = _parsed(file, text)
    with open_database(catalogue, dry=dry) as database, _placed(file, text):
        found = database.plan(given["questions"], given.get("candidates"), analyst=analyst)
    show(found.to_dict(), found.explain(), as_json)


def _text(file: Path) -> str:
    try:
        if file.is_file() and file.stat().st_size > MOST_BYTES:
            raise InputError(f"{file} is larger than {MOST_BYTES >> 20} MB: is it a plan?")
        return file.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(
            f'there is no plan {file}: write one with a section [[questions]] for each question, such as sql = "SELECT '
            f'avg(kwh) FROM meters" and max_error = 0.5'
        ) from None
    except UnicodeDecodeError:
        raise InputError(f"{file} is not text in UTF-8: is it a plan?") from None
    except OSError as problem:
        raise InputError(f"cannot read the plan {file}: {problem.strerror}") from None


def _parsed(file: Path, text: str) -> dict[str, Any]:
    try:
        given = tomllib.loads(text)
    except (ValueError, RecursionError) as problem:  # they name the line, and quote none
        raise InputError(f"{file} is not TOML: {problem or 'nested too deeply'}") from None
    for word in given:
        if word not in WORDS:
            line = _line(text, re.compile(rf"\s*\[*\s*{re.escape(word)}\b"))
            said = f"{word!r} is no word of a plan, which has {' and '.join(WORDS)}{near(word, WORDS)}"
            raise InputError(f"{file}{line}: {said}")
    if not given.get("questions"):
        raise InputError(f"{file} has no question: add a section [[questions]] with sql and max_error")
    return given


@contextmanager
def _placed(file: Path, text: str) -> Iterator[None]:
    """Say of a mistake in a question or a candidate in which line of the file it is."""
    try:
        yield
    except InputError as problem:
        number, place = problem.fields.get("question"), problem.fields.get("candidates")
        if isinstance(number, int):
            line = _line(text, QUESTION, number)
        elif isinstance(place, str):
            table, _, word = place.partition(".")
            whole = _line(text, re.compile(rf"\s*\[\s*candidates\.{re.escape(table)}\s*\]")) or _line(text, CANDIDATES)
            line = (word and _line(text, re.compile(rf"[^#\[]*\b{re.escape(word)}\s*="), after=whole)) or whole
        else:
            raise
        raise type(problem)(f"{file}{line}: {problem}", **problem.fields) from None


def _line(text: str, pattern: re.Pattern[str], count: int = 1, after: str = "") -> str:
    r"""Give the line of the file in which a pattern begins for the last of ``count`` times; nothing if it does not.

    >>> _line("a = 1\n[[questions]]\n\n[[questions]]\n", QUESTION, 2)
    ', line 4'
    """
    start = int(after.rpartition(" ")[2]) if after else 0
    found = [number for number, line in enumerate(text.splitlines(), start=1) if number > start and pattern.match(line)]
    if not found:
        return ""
    return f", line {found[min(count, len(found)) - 1]}"
