"""What is wrong with the lines of a CSV file, by number; nothing that stands in them is repeated."""

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from errorfloor.errors import CatalogueError, EngineError

MEND = "correct it, or use Parquet"


def names_in(path: Path) -> list[str]:
    r"""Read the names of the columns from the first line.

    Raises
    ------
    CatalogueError
        The file is empty, its first line names nothing or a column twice, or it is not text.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "pay.csv"
    ...     _ = file.write_text("person,pay\n")
    ...     names_in(file)
    ['person', 'pay']
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as lines:
            names = next(csv.reader(lines), [])
    except (UnicodeDecodeError, csv.Error):
        raise CatalogueError(f"{path}: {fault(path) or 'its first line cannot be read'}: {MEND}") from None
    if not any(name.strip() for name in names):
        empty = "is empty" if path.stat().st_size == 0 else "has an empty first line"
        raise CatalogueError(f"{path} {empty}: the first line of a CSV names its columns, separated by commas")
    twice = next((number for number, name in enumerate(names) if name and name in names[:number]), None)
    if twice is not None:
        raise CatalogueError(
            f"{path}: the first line names columns {names.index(names[twice]) + 1} and {twice + 1} with the same "
            f"name: rename one"
        )
    return names


def fault(path: Path) -> str | None:
    r"""Say what is wrong with the first line that does not fit the header; None if every line does.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "pay.csv"
    ...     _ = file.write_text("person,pay\nann,2900\nbob\n")
    ...     fault(file)
    'line 3 has 1 field, and the first line names 2 columns'
    """
    mixed = None
    with path.open("rb") as binary:
        for number, line in enumerate(binary, start=1):
            if number == 1:
                windows = line.endswith(b"\r\n")
            elif mixed is None and line.endswith(b"\n") and line.endswith(b"\r\n") != windows:
                ends = ("LF", "CR LF") if windows else ("CR LF", "LF")
                mixed = f"line {number} ends with {ends[0]}, and the first one with {ends[1]}"
            try:
                line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                return f"line {number} is not text in UTF-8"
    with path.open(newline="", encoding="utf-8-sig") as lines:
        rows = csv.reader(lines, strict=True)
        wanted, start = 0, 1
        try:
            for row in rows:
                wanted = wanted or len(row)
                if row and len(row) != wanted:
                    fields = f"{len(row)} field{'s' if len(row) != 1 else ''}"
                    return f"line {start} has {fields}, and the first line names {wanted} columns"
                start = rows.line_num + 1
        except csv.Error:
            return f"line {start} has a quotation mark that is not closed, or not doubled inside a text"
    return mixed


@contextmanager
def explained(path: Path | None) -> Iterator[None]:
    """Where an engine fails at a CSV file, say which line of it is wrong, if one is; None for any other source."""
    failed: EngineError | None = None
    try:
        yield
    except EngineError as problem:
        failed = problem
    if failed is None:
        return
    found = None if path is None else fault(path)
    if found is None:
        raise failed
    raise CatalogueError(f"{path}: {found}: {MEND}", path=str(path))
