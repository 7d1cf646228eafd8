"""Text files line by line: the names of columns, and what is wrong with a line; no field is repeated."""

import codecs
import csv
import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from errorfloor.catalogue.reading import Reading
from errorfloor.errors import CatalogueError

MEND = "correct it, or use Parquet"
LARGEST_FIELD = 2_000_000  # bytes, which is also the longest line that DuckDB reads
OTHERS = {b"\x1f\x8b": "compressed, as .csv.gz", b"PK\x03\x04": "a workbook, as .xlsx, or a zip archive"}
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
