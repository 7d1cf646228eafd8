"""Text files line by line: the names of columns, what is wrong with a line, and what DuckDB reads a field as.

No field is repeated in a message. Of each declared column there is one strict expression.
"""

import codecs
import csv
import gzip
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from errorfloor.catalogue.columns import PublicType
from errorfloor.catalogue.reading import Reading
from errorfloor.engines.dialects import DuckDBDialect
from errorfloor.errors import CatalogueError

MEND = "correct it, or use Parquet"
LARGEST_FIELD = 2_000_000  # bytes, which is also the longest line that DuckDB reads
OTHERS = {b"\x1f\x8b": "compressed, as .csv.gz", b"PK\x03\x04": "a workbook, as .xlsx, or a zip archive"}
dialect = DuckDBDialect()


csv.field_size_limit(LARGEST_FIELD)


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file, compressed or not, as its name says.

    Raises CatalogueError if it is compressed, or a workbook, and its name says otherwise.
    """
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rb")  # type: ignore[return-value]
    with path.open("rb") as file:
        start = file.read(4)
    found = next((name for mark, name in OTHERS.items() if start.startswith(mark)), None)
    if found is not None:
        raise CatalogueError(f"{path} is no text but {found}: rename it", path=str(path))
    return path.open("rb")


def names_in(path: Path, how: Reading) -> list[str]:
    r"""Read the names of the columns; one without a name is called by its place, as in ``column0``.

    Raises CatalogueError if the file or its line of names is empty, has a name twice, or is not text.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "pay.csv"
    ...     _ = file.write_text("person;pay\n")
    ...     names_in(file, Reading(delimiter=";"))
    ['person', 'pay']
    """
    if how.header:
        return _unique(path, list(how.header), "header in the catalogue")
    try:
        _, names = next(rows(path, how, strict=False), (0, []))
    except (UnicodeDecodeError, BrokenRowError, OSError, EOFError):
        raise CatalogueError(f"{path}: {fault(path, how) or 'its first line cannot be read'}: {MEND}") from None
    place = "first line" if how.skip == 0 else f"line {how.skip + 1}"
    if not any(name.strip() for name in names):
        empty = "is empty" if path.stat().st_size == 0 else f"has an empty {place}"
        raise CatalogueError(
            f"{path} {empty}: the {place} of a CSV names its columns. If it stands lower, declare read = {{ skip = … }}"
        )
    return _unique(path, [name.strip() or f"column{i}" for i, name in enumerate(names)], place)


def _unique(path: Path, names: list[str], place: str) -> list[str]:
    twice = next((number for number, name in enumerate(names) if name in names[:number]), None)
    if twice is not None:
        raise CatalogueError(
            f"{path}: the {place} names columns {names.index(names[twice]) + 1} and {twice + 1} with the same "
            f"name: rename one"
        )
    return names


def open_text(path: Path, how: Reading, errors: str = "strict") -> IO[str]:
    """Open a file as text, its line ends as they are; a mark at its beginning that says UTF-8 is no text."""
    encoding = "utf-8-sig" if is_utf8(how) else how.encoding
    return io.TextIOWrapper(open_bytes(path), encoding=encoding, errors=errors, newline="")


def is_utf8(how: Reading) -> bool:
    """Say whether DuckDB reads the file as it is."""
    return codecs.lookup(how.encoding).name == "utf-8"


def rows(path: Path, how: Reading, *, strict: bool = True) -> Iterator[tuple[int, list[str]]]:
    """Give the rows of a file, that of names included, each with the number of the line that it begins in.

    Raises BrokenRowError where a row cannot be told from the next.
    """
    with open_text(path, how) as lines:
        for _ in range(how.skip):
            lines.readline()
        doubled = how.escape == how.quote
        dialect: dict[str, Any] = {"delimiter": how.delimiter, "quotechar": how.quote, "doublequote": doubled}
        reader = csv.reader(lines, strict=strict, escapechar=None if doubled else how.escape, **dialect)
        start = how.skip + 1
        try:
            for row in reader:
                if row:
                    yield start, row
                start = how.skip + reader.line_num + 1
        except csv.Error as problem:
            raise BrokenRowError(start, "limit" in str(problem)) from None


class BrokenRowError(Exception):
    """A row that cannot be told from the next one; ``args`` has the line it begins in, and whether it is too long."""


def fault(path: Path, how: Reading) -> str | None:
    r"""Say what is wrong with the first line that does not fit the names; None if every line does.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "pay.csv"
    ...     _ = file.write_text("person,pay\nann,2900\nbob\n")
    ...     fault(file, Reading())
    'line 3 has 1 field, and the first line names 2 columns'
    """
    try:
        mixed = _mixed_ends(path, how)
        wanted = len(how.header)
        for start, row in rows(path, how):
            wanted = wanted or len(row)
            if len(row) != wanted:
                fields = f"{len(row)} field{'s' if len(row) != 1 else ''}"
                names = "the catalogue" if how.header else "the first line" if how.skip == 0 else f"line {how.skip + 1}"
                return f"line {start} has {fields}, and {names} names {wanted} columns"
    except BrokenRowError as broken:
        if broken.args[1]:
            return f"line {broken.args[0]} has a field of more than {LARGEST_FIELD} characters"
        return f"line {broken.args[0]} has a quotation mark that is not closed, or not doubled inside a text"
    except UnicodeDecodeError:
        return _undecodable(path, how)
    except (OSError, EOFError):
        return "it ends too early, or is not compressed as its name says"
    return mixed


def _undecodable(path: Path, how: Reading) -> str | None:
    with open_text(path, how, errors="surrogateescape") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                line.encode()
            except UnicodeEncodeError:
                advice = 'if it comes from Windows, declare read = { encoding = "windows-1252" }'
                return f"line {number} is not text in {how.encoding.upper()}" + (f" ({advice})" if is_utf8(how) else "")
    return None


def _mixed_ends(path: Path, how: Reading) -> str | None:
    """Say which line ends in another way than the first one."""
    first = ""
    with open_text(path, how) as lines:
        for number, line in enumerate(lines, start=1):
            end = "CR LF" if line.endswith("\r\n") else "LF" if line.endswith("\n") else ""
            first = first or end
            if end and end != first:
                return f"line {number} ends with {end}, and the first one with {first}"
    return None


def line_of(path: Path, how: Reading, row: int) -> tuple[int, list[str]] | None:
    """Give the line in which the row of that number begins, counted from 1 below the names, and what stands there."""
    for number, found in enumerate(rows(path, how, strict=False), start=1 if how.header else 0):
        if number == row:
            return found
    return None


def field_sql(field: str, kind: PublicType, how: Reading) -> str:
    """Read a field as what its column is declared to be; where it is not, DuckDB fails.

    >>> field_sql("f0", "text", Reading())
    'f0'
    """
    if kind == "text":
        return field
    return f"CASE WHEN {is_missing(field, how)} THEN NULL ELSE {_parsed(f'trim({field})', kind, how)} END"


def _parsed(text: str, kind: PublicType, how: Reading) -> str:
    match kind:
        case "number" | "whole":
            return f"CAST({number_sql(text, how)} AS DOUBLE)"
        case "date":
            return f"CAST({by_format(text, how.dates) or text} AS DATE)"
        case "moment":
            return f"CAST({by_format(text, how.moments) or f'CAST({text} AS TIMESTAMPTZ)'} AS TIMESTAMP)"
        case _:
            return f"CAST({text} AS BOOLEAN)"


def by_format(text: str, format: str) -> str:
    """Read a text as a moment by a format, if there is one."""
    if "%Y" in format:  # which would take 26 for the year 26
        text = f"CASE WHEN regexp_matches({text}, '\\d{{4}}') THEN {text} ELSE 'none' END"
    return f"strptime({text}, {sql_of(format)})" if format else ""


def number_sql(text: str, how: Reading) -> str:
    """Write a number with a point and without thousands, or as something that is none."""
    if (how.decimal, how.thousands) == (".", ""):
        return text
    plain = f"replace({text}, {sql_of(how.decimal)}, '.')"
    if how.thousands:
        stripped = f"regexp_replace({text}, '{_group(how.thousands)}', '', 'g')"
        plain = f"replace({stripped}, {sql_of(how.decimal)}, '.')"
    pattern = sql_of(number_pattern(how.decimal, how.thousands))
    return f"CASE WHEN regexp_full_match({text}, {pattern}) THEN {plain} ELSE 'none' END"


def number_pattern(decimal: str, thousands: str) -> str:
    """Give the regular expression of numbers that are written so; groups are of three digits."""
    whole = rf"\d+|\d{{1,3}}({_group(thousands)}\d{{3}})+" if thousands else r"\d+"
    return rf"[+-]?(({whole})([{decimal}]\d*)?|[{decimal}]\d+)([eE][+-]?\d+)?"


def _group(thousands: str) -> str:
    letters = {" ": r"\x{20}\x{A0}\x{202F}\x{2009}", "'": r"\x{27}\x{2019}"}  # with their typographic kin
    return f"[{letters.get(thousands, thousands)}]"


def is_missing(field: str, how: Reading) -> str:
    """Tell whether a field is empty, or spelt as nulls are."""
    spelt = ", ".join(sql_of(one) for one in ("", *(one.strip() for one in how.nulls)))
    return f"({field} IS NULL OR trim({field}) IN ({spelt}))"


def sql_of(value: Any) -> str:
    """Write a constant."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{sql_of(k)}: {sql_of(v)}" for k, v in value.items()) + "}"
    return str(value) if isinstance(value, int) else dialect.literal(value)
