"""How a text file or sheet is written, found out from the file itself, and what its columns hold.

Nothing is guessed where two readings fit and mean different things: then the caller is told to say which.
"""

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from typing import Any

from errorfloor.catalogue.columns import PublicType
from errorfloor.catalogue.reading import Reading
from errorfloor.engines.sheets import sheets_in
from errorfloor.engines.sources import Files
from errorfloor.engines.text_lines import (
    BrokenRowError,
    by_format,
    names_in,
    number_pattern,
    open_bytes,
    open_text,
    rows,
    sql_of,
)
from errorfloor.engines.text_tables import COPIES, TextFile, as_utf8, misread, opening, reader
from errorfloor.errors import CatalogueError, EngineError, InputError

NULLS = (
    *("NA", "N/A", "n/a", "na", "N.A.", "n.a.", "#N/A", "#NV", "#NAME?", "#VALUE!", "#DIV/0!", "<NA>", "NaN", "nan"),
    *("NaT", "NULL", "Null", "null", "(null)", "\\N", "None", "none", "missing", "k.A.", "k. A.", "-", "--", "–", "."),
    *("..", "...", "…", "?", ":"),
)
CONVENTIONS = ((".", ""), (",", ""), (".", ","), (",", "."), (".", "'"), (",", "'"), (".", " "), (",", " "))
DATES = (
    *("%d.%m.%Y", "%d.%m.%y", "%d/%m/%Y", "%m/%d/%Y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%Y", "%m-%d-%Y", "%Y.%m.%d"),
    *("%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%Y", "%d-%b-%y"),
)
TIMES = (" %H:%M:%S", " %H:%M", " %I:%M %p", " %I:%M:%S %p", "T%H:%M:%S")
A_NUMBER = r"(?!(19|20)\d\d$)[+-]?[\d.,' ]*\d"
A_DATE = r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}.*"
AT_ONCE = 30  # columns
LONGEST_NUMBER = 12  # digits before the point: beyond, it is a name of something


@dataclass(frozen=True)
class Detected:
    """How files are read, what each column holds, and columns that are nearly numbers, with the error that says why."""

    how: Reading
    columns: Mapping[str, PublicType]
    nearly: Mapping[str, CatalogueError]
    unique: frozenset[str] = frozenset()


def detect(files: Files, given: Mapping[str, Any], folder: Path) -> Detected:
    """Find out how text files or sheets are written; all of them alike.

    Options that are ``given``, by their names in ``Reading``, are kept. Files that are not in UTF-8 are copied to the
    ``folder``. Raises CatalogueError if the first line does not name columns, or a line does not fit; InputError if
    numbers or dates can be read in two ways.
    """
    options = dict(given)
    first = files.paths[0]
    if files.format == "sheet":
        options.setdefault("sheet", sheets_in(first)[0])
    else:
        options.setdefault("encoding", _encoding(files))
    with tempfile.TemporaryDirectory(prefix=COPIES, dir=folder) as scratch:
        text = as_utf8(first, files, Reading.model_validate(options), Path(scratch) / "copy.csv")
        sniffed = {} if files.format == "sheet" else _sniffed(text, options)
        options = {**sniffed, **_titled(text, {**sniffed, **options}), **options}
        if options.get("skip") and _values(names_in(text, Reading.model_validate({**options, "encoding": "utf-8"}))):
            options["skip"] = given.get("skip", 0)  # then a line does not fit, and reading it will tell which
    how = Reading.model_validate(options)
    with opening(files, how, None, folder) as table:
        found = _typed(table.files, how, given)
        _check_header(table.files[0], found.columns)
        return found


def _encoding(files: Files) -> str:
    found = {path: _encoding_of(path) for path in files.paths}
    if len(set(found.values())) > 1:
        listed = ", ".join(f"{path.name}: {encoding}" for path, encoding in found.items())
        raise CatalogueError(f"the files of one table have one encoding, and these have several ({listed})")
    return found[files.paths[0]]


def _encoding_of(path: Path) -> str:
    try:
        with open_bytes(path) as file:
            start = file.read(4096)
        if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return "utf-16"
        if start[1::2].count(0) > len(start) // 4:
            return "utf-16-le"
        with open_bytes(path) as file:
            for line in file:
                line.decode("utf-8")
    except UnicodeDecodeError:
        return "windows-1252"
    except (OSError, EOFError):
        pass  # reading it will tell what is wrong
    return "utf-8"


def _sniffed(text: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """Let DuckDB tell what separates and quotes fields, and where the table begins."""
    words = {"delimiter": "delim", "quote": "quote", "escape": "escape", "skip": "skip"}
    options = "".join(f", {words[word]} = {sql_of(value)}" for word, value in given.items() if word in words)
    sniff = f"SELECT Delimiter, Quote, Escape, SkipRows, len(Columns) FROM sniff_csv({sql_of(str(text))}{options})"
    try:
        with reader() as ask:
            delimiter, quote, escape, skip, columns = ask(sniff).fetchone()
    except EngineError:
        return {"delimiter": _commonest(text)}  # reading it will tell what is wrong
    common = _commonest(text)
    if len(delimiter) != 1 or delimiter.isalnum() or (columns == 1 and common != delimiter):
        return {"delimiter": common}
    found: dict[str, Any] = {"delimiter": delimiter, "skip": skip}
    if quote == "'":
        found["quote"] = found["escape"] = quote
    if escape == "\\":
        found["escape"] = escape
    return found


def _titled(text: Path, options: Mapping[str, Any]) -> dict[str, Any]:
    """Find the row of names below titles: the first one that is nearly as full as the fullest of the first fifty."""
    how = Reading.model_validate({**options, "encoding": "utf-8"})
    if how.header:
        return {}
    try:
        first = list(islice(rows(text, how, strict=False), 50))
    except (OSError, EOFError, UnicodeDecodeError, CatalogueError, BrokenRowError):
        return {}  # reading it will tell what is wrong
    filled = [sum(map(bool, row)) for _, row in first]
    enough = max(2, max(filled, default=0) - 1)
    found = next((line - 1 for (line, _), count in zip(first, filled, strict=True) if count >= enough), how.skip)
    ragged = len({len(row) for _, row in first}) > 1  # where lines differ in length, reading them will tell
    return {} if ragged or found <= how.skip else {"skip": found}


def _commonest(text: Path) -> str:
    try:
        with open_text(text, Reading(), errors="replace") as lines:
            first = lines.readline()
    except (OSError, EOFError):
        first = ""
    return max(",;\t|", key=first.count) if any(sign in first for sign in ",;\t|") else ","


def _values(names: Sequence[str]) -> bool:
    """Say whether what should be names of columns looks like values."""
    return any(name[0] in "+-.0123456789" for name in names)


def _check_header(file: TextFile, columns: Mapping[str, PublicType]) -> None:
    """Refuse a line of names in which a column of numbers or dates is called by one; years may be names."""
    kinds = {**dict.fromkeys(("whole", "number"), A_NUMBER), **dict.fromkeys(("date", "moment"), A_DATE)}
    if not file.how.header and any(re.fullmatch(kinds.get(kind, "(?!)"), name) for name, kind in columns.items()):
        raise InputError(  # what stands there may be values: it is not repeated
            f"{file.unit} {file.how.skip + 1} of {file.path} does not look like names of columns: correct it, name the "
            f"columns in their order with --read header=…,…, or give the number of lines above the names with --read "
            f"skip=…"
        )


@dataclass(frozen=True)
class _Column:
    """What was counted in one column: values that are there, and those of each kind among them."""

    name: str
    field: str
    there: int
    unique: bool
    separated: int
    codes: int
    whole: int
    flags: int
    iso_dates: int
    iso_moments: int
    nulls: tuple[str, ...]
    numbers: Mapping[tuple[str, str], int]

    def all_are(self, count: int) -> bool:
        return 0 < self.there == count

    @property
    def conventions(self) -> set[tuple[str, str]]:
        """The ways to write numbers that fit every value; none for codes, whose zeros or length would be lost."""
        return set() if self.codes else {one for one, count in self.numbers.items() if self.all_are(count)}


def _typed(files: Sequence[TextFile], how: Reading, given: Mapping[str, Any]) -> Detected:
    """Say what each column holds, by the one way to write numbers and dates that fits most of them."""
    spelt = tuple(given.get("nulls", NULLS))
    names = files[0].names
    with reader() as ask:
        every = " UNION ALL ".join(f"SELECT {_fields(file, names)} FROM {file.rows()}" for file in files)
        listed = ", ".join(map(sql_of, ("", *spelt)))
        ask(f"CREATE TEMP MACRO there(x) AS CASE WHEN trim(x) IN ({listed}) THEN NULL ELSE trim(x) END")
        ask("PRAGMA disable_optimizer")  # which takes minutes over hundreds of columns, for nothing
        ask(f"CREATE TEMP VIEW fields AS {every}")
        columns = list(_counted(ask, names))
        convention = _convention(columns, how, given)
        others = [one for one in columns if not one.conventions and one.there and not one.codes]
        dates = _format(ask, others, DATES, "dates", given)
        moments = _format(ask, others, tuple(map("".join, product(DATES, TIMES))), "moments", given)
    types = {one.name: _type(one, convention, dates[1], moments[1]) for one in columns}
    found = {null for one in columns if types[one.name] != "text" for null in one.nulls}
    update = {"decimal": convention[0], "thousands": convention[1], "dates": dates[0], "moments": moments[0]}
    how = how.model_copy(update={**update, "nulls": tuple(one for one in spelt if one in found)})
    nearly = {
        one.name: why
        for one in columns
        if types[one.name] == "text" and not one.codes and 2 * one.numbers[convention] > one.there
        if (why := misread(files, how, one.name)) is not None
    }
    unique = frozenset(one.name for one in columns if one.unique and types[one.name] != "number")
    return Detected(how, types, nearly, unique)


def _fields(file: TextFile, names: Sequence[str]) -> str:
    missing = next((name for name in names if name not in file.names), None)
    if missing is not None:
        raise CatalogueError(f"{file.path} does not name the columns of the first file: give files of one kind")
    return ", ".join(f"{file.field(name)} AS f{i}" for i, name in enumerate(names))


def _counted(ask: Any, names: Sequence[str]) -> Iterator[_Column]:
    """Count in all columns, some in each pass over the files."""
    for first in range(0, len(names), AT_ONCE):
        some = range(first, min(first + AT_ONCE, len(names)))
        asked = [_aggregates(i) for i in some]
        found = ask(f"SELECT {', '.join(one for part in asked for one in part)} FROM {_seen(some)}").fetchone()
        for place, i in enumerate(some):
            there, single, nulls, *rest = found[place * len(asked[0]) : (place + 1) * len(asked[0])]
            words = ("separated", "codes", "whole", "flags", "iso_dates", "iso_moments")
            numbers = dict(zip(CONVENTIONS, rest[len(words) :], strict=True))
            kinds = dict(zip(words, rest, strict=False))
            yield _Column(names[i], f"v{i}", there, bool(single), nulls=tuple(nulls or ()), numbers=numbers, **kinds)


def _seen(some: Iterable[int]) -> str:
    """Give some fields, f0 and so on, and beside each its value, v0 and so on, NULL where it is missing."""
    return f"(SELECT {', '.join(f'f{i}, there(f{i}) AS v{i}' for i in some)} FROM fields) AS seen"


def _aggregates(i: int) -> list[str]:
    value = f"v{i}"
    patterns = [
        r"[^.,]*[.,].*",
        rf"[+-]?(0\d+|\d{{{LONGEST_NUMBER + 1},}})",
        r"[+-]?\d+",
        r"(?i)true|false",
        r"\d{4}[-/]\d{1,2}[-/]\d{1,2}",
        r"\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}.*",
        *(number_pattern(*one) for one in CONVENTIONS),
    ]
    counts = [f"count(*) FILTER (WHERE regexp_full_match({value}, {sql_of(pattern)}))" for pattern in patterns]
    counts[4] += f" - count(*) FILTER (WHERE {value} IS NOT NULL AND TRY_CAST({value} AS DATE) IS NULL)"
    counts[5] += f" - count(*) FILTER (WHERE {value} IS NOT NULL AND TRY_CAST({value} AS TIMESTAMPTZ) IS NULL)"
    nulls = f"array_agg(DISTINCT trim(f{i})) FILTER (WHERE {value} IS NULL AND trim(f{i}) <> '')"
    return [f"count({value})", f"count(*) > 0 AND count(DISTINCT {value}) = count(*)", nulls, *counts]


def _convention(columns: Sequence[_Column], how: Reading, given: Mapping[str, Any]) -> tuple[str, str]:
    """Choose how numbers are written: the plainest way that fits most columns, if no other meaning fits as well."""
    known = {word: given[word] for word in ("decimal", "thousands") if word in given}
    allowed = [
        (decimal, thousands)
        for decimal, thousands in CONVENTIONS
        if known.get("decimal", decimal) == decimal and known.get("thousands", thousands) == thousands
    ]
    if not allowed:
        return str(known.get("decimal", ".")), str(known.get("thousands", ""))
    fitting = {one: sum(one in column.conventions for column in columns) for one in allowed}
    best = [one for one in allowed if fitting[one] == max(fitting.values())]
    unclear = [column for column in columns if column.separated and column.conventions]
    if unclear and len({one[0] for one in best}) > 1 and how.delimiter != ",":
        raise _two_ways("numbers", unclear[0].name, "decimal", "decimal=. or decimal=,")
    return best[0]


def _format(
    ask: Any, columns: Sequence[_Column], formats: Sequence[str], word: str, given: Mapping[str, Any]
) -> tuple[str, set[str]]:
    """Choose a format of dates or moments, and name the columns that it fits; texts of ISO 8601 need none."""
    chosen, fitting = str(given.get(word, "")), set()
    for column in columns:
        if column.all_are(column.iso_dates) or column.all_are(column.iso_moments):
            continue
        tried = [chosen] if chosen else list(formats)
        parsed = {one: f"TRY({by_format(column.field, one)})" for one in tried}
        seen = _seen([int(column.field[1:])])
        some = f"(SELECT any_value({column.field}) AS {column.field} FROM {seen})"
        sample = ask(f"SELECT {', '.join(f'{one} IS NOT NULL' for one in parsed.values())} FROM {some}").fetchone()
        likely = [one for one, fits in zip(tried, sample, strict=True) if fits]
        counts = [f"count({parsed[one]})" for one in likely]
        found = ask(f"SELECT {', '.join(counts)} FROM {seen}").fetchone() if counts else ()
        fits = [one for one, count in zip(likely, found, strict=True) if column.all_are(count)]
        for other in fits[1:]:
            differ = f"SELECT 1 FROM {seen} WHERE {parsed[fits[0]]} IS DISTINCT FROM {parsed[other]} LIMIT 1"
            if ask(differ).fetchone():
                raise _two_ways(word, column.name, word, f"{word}={fits[0]} or {word}={other}")
        if fits:
            chosen = fits[0]
            fitting.add(column.name)
    return chosen, fitting


def _two_ways(what: str, column: str, word: str, options: str) -> InputError:
    return InputError(
        f"the {what} in column {column!r} can be read in two ways: say which with --read {options}", option=word
    )


def _type(column: _Column, convention: tuple[str, str], dates: set[str], moments: set[str]) -> PublicType:
    if convention in column.conventions:
        return "whole" if column.all_are(column.whole) else "number"
    if column.all_are(column.flags):
        return "flag"
    if column.all_are(column.iso_dates) or column.name in dates:
        return "date"
    return "moment" if column.all_are(column.iso_moments) or column.name in moments else "text"
