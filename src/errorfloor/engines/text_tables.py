"""Text files and sheets as one table: DuckDB reads the fields, and each declared column is read as what it is declared.

DuckDB's own options for decimals, thousands, nulls and formats are for whole files and lenient: with a thousands
separator it reads "1.5" as 15, a null's spelling empties texts, too, and formats pass by moments with a zone. So fields
are read as texts, and each column by one strict expression.
"""

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb

from errorfloor.catalogue.columns import PublicType
from errorfloor.catalogue.near import near
from errorfloor.catalogue.reading import Reading
from errorfloor.engines.allotment import attempt
from errorfloor.engines.sheets import write_sheet
from errorfloor.engines.sources import Files, Kind
from errorfloor.engines.text_lines import (
    MEND,
    dialect,
    fault,
    field_sql,
    is_missing,
    is_utf8,
    line_of,
    names_in,
    open_text,
    rows,
    sql_of,
)
from errorfloor.errors import CatalogueError, EngineError

SETTINGS: dict[str, Any] = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
TYPES: dict[PublicType, Kind] = {"whole": "number"}  # what a column is read as, if it is not its own type
NOUNS = {
    "number": "a number",
    "whole": "a whole number",
    "date": "a date",
    "moment": "a date and time",
    "flag": "true or false",
}
COPIES = ".errorfloor-"  # folders that only their owner may enter


@dataclass(frozen=True)
class TextFile:
    """A file as it is declared, and as DuckDB reads it: in UTF-8, perhaps a copy; ``unit`` is what its rows are."""

    path: Path
    text: Path
    how: Reading
    names: tuple[str, ...]
    unit: str = "line"

    def rows(self, **more: bool) -> str:
        """Give all fields as texts f0, f1, … as they go after FROM."""
        options: dict[str, Any] = {
            "auto_detect": False,
            "header": not self.how.header,
            "delim": self.how.delimiter,
            "quote": self.how.quote,
            "escape": self.how.escape,
            "skip": self.how.skip,
            "nullstr": "",
            "columns": {f"f{i}": "VARCHAR" for i in range(len(self.names))},
            **more,
        }
        return f"read_csv({', '.join([sql_of(str(self.text)), *(f'{k} = {sql_of(v)}' for k, v in options.items())])})"

    def field(self, name: str) -> str:
        """Give the field of a column."""
        return f"f{self.names.index(name)}"


@dataclass(frozen=True)
class TextTable:
    """Files that make one table, and the declared columns, by their names in the files."""

    files: tuple[TextFile, ...]
    columns: Mapping[str, PublicType]

    @property
    def number(self) -> str:
        """The column that numbers the rows, which the files do not have; empty if there is none."""
        return self.files[0].how.number

    @property
    def relation(self) -> str:
        """The rows of all files, each declared column as what it is; rows are numbered in the order of the files."""
        parts = []
        for file in self.files:
            read = [f"{field_sql(file.field(n), t, file.how)} AS {_name(n)}" for n, t in self._in_files.items()]
            parts.append(f"SELECT {', '.join(read) or '1'} FROM {file.rows()}")
        whole = " UNION ALL ".join(parts)
        if not self.number:
            return f"({whole})"
        return f"(SELECT *, CAST(row_number() OVER () AS DOUBLE) AS {_name(self.number)} FROM ({whole}))"

    @property
    def kinds(self) -> dict[str, Kind]:
        """What each column of the first file holds; one that is not declared is text."""
        numbered: dict[str, Kind] = {self.number: "number"} if self.number else {}
        return {name: _kind(self.columns.get(name, "text")) for name in self.files[0].names} | numbered

    @property
    def _in_files(self) -> dict[str, PublicType]:
        return {name: kind for name, kind in self.columns.items() if name != self.number}

    def misfit(self) -> CatalogueError | None:
        """Find the first field that is not what its column is declared to be.

        The error names file, line and column, and what to do. What stands there may be private: it is not repeated.
        """
        with reader() as ask:
            for file in self.files:
                wanted = {n: t for n, t in self._in_files.items() if t != "text"}
                if not wanted:
                    continue
                found = [
                    f"min(row) FILTER (WHERE NOT {is_missing(file.field(name), file.how)} AND "
                    f"TRY({field_sql(file.field(name), kind, file.how)}) IS NULL)"
                    for name, kind in wanted.items()
                ]
                numbered = f"(SELECT row_number() OVER () AS row, * FROM {file.rows()})"
                first = ask(f"SELECT {', '.join(found)} FROM {numbered}").fetchone()
                worst = min((row, i) for i, row in enumerate((*first, 2**63)) if row is not None)
                if worst[1] < len(wanted):
                    return self._explained(file, worst[0], list(wanted)[worst[1]])
        return None

    def _explained(self, file: TextFile, row: int, name: str) -> CatalogueError:
        line, _ = line_of(file.text, file.how, row) or (row + 1, [])
        kind = self.columns[name]
        return CatalogueError(
            f"{file.path}: {file.unit} {line}, column {name!r} does not hold {NOUNS[kind]}{_as_declared(kind, file)}: "
            f"{_remedy(kind)}",
            path=str(file.path),
            line=line,
            column=name,
        )


def _as_declared(kind: PublicType, file: TextFile) -> str:
    how = file.how
    if kind in ("number", "whole") and (how.decimal, how.thousands) != (".", ""):
        grouped = f" and {how.thousands!r} between thousands" if how.thousands else ""
        return f" with {how.decimal!r} before decimals{grouped}"
    formats = {"date": how.dates, "moment": how.moments}
    return f" as in {formats[kind]!r}" if formats.get(kind) else ""


def _remedy(kind: PublicType) -> str:
    formats = {
        "number": "decimal and thousands",
        "whole": "decimal and thousands",
        "date": "dates",
        "moment": "moments",
    }
    change = f"declare {formats[kind]} as the file has them, " if kind in formats else ""
    return f"correct it, {change}or add its spelling to nulls, in the section read of the table"


def misread(files: Sequence[TextFile], how: Reading, column: str) -> CatalogueError | None:
    """Say where a column, if it were one of numbers, would not be."""
    written = {"decimal": how.decimal, "thousands": how.thousands, "nulls": how.nulls}
    read = tuple(replace(file, how=file.how.model_copy(update=written)) for file in files)
    return TextTable(read, {column: "number"}).misfit()


@contextmanager
def opening(files: Files, how: Reading, columns: Mapping[str, PublicType] | None, folder: Path) -> Iterator[TextTable]:
    """Open text files or sheets while they are read; where an engine fails at one, say what is wrong with it.

    Without ``columns`` all of them are read as texts. What is not text in UTF-8 is copied to a folder beside the
    catalogue that only its owner may enter, and removed in the end. Raises CatalogueError if a file has no names, lacks
    a declared column, or has a line or a field that does not fit.
    """
    with tempfile.TemporaryDirectory(prefix=COPIES, dir=folder) as scratch:
        opened = tuple(_opened(path, files, how, Path(scratch) / f"{i}.csv") for i, path in enumerate(files.paths))
        wanted: Mapping[str, PublicType] = columns or dict.fromkeys(opened[0].names, "text")
        for file in opened:
            _check_names(file, wanted)
        table = TextTable(opened, wanted)
        failed: EngineError | None = None
        try:
            yield table
        except EngineError as problem:
            failed = problem
        if failed is not None:
            raise _fault(table) or table.misfit() or failed


def _opened(path: Path, files: Files, how: Reading, copy: Path) -> TextFile:
    text = as_utf8(path, files, how, copy)
    sheet = {"delimiter": ",", "quote": '"', "escape": '"'} if files.format == "sheet" else {}
    how = how.model_copy(update={"encoding": "utf-8", **sheet})
    try:
        names = names_in(text, how)
    except CatalogueError as problem:  # of the file, not of its copy
        raise CatalogueError(str(problem).replace(str(text), str(path)), path=str(path)) from None
    return TextFile(path, text, how, tuple(names), "row" if sheet else "line")


def as_utf8(path: Path, files: Files, how: Reading, copy: Path) -> Path:
    """Give a text file as DuckDB reads it: itself if it is in UTF-8, else the copy that is made."""
    if files.format == "sheet":
        write_sheet(path, how.sheet, copy)
    elif is_utf8(how):
        return path
    else:
        try:
            with open_text(path, how) as text, copy.open("w", encoding="utf-8", newline="") as target:
                shutil.copyfileobj(text, target)
        except UnicodeDecodeError:
            raise CatalogueError(f"{path}: {fault(path, how)}: {MEND}", path=str(path)) from None
    return copy


def _check_names(file: TextFile, wanted: Mapping[str, PublicType]) -> None:
    if file.how.number and file.how.number in file.names:
        raise CatalogueError(
            f"{file.path} has a column {file.how.number!r} itself: give the column that numbers its rows another name, "
            f"as number in the section read, and in the row key",
            path=str(file.path),
        )
    missing = next((name for name in wanted if name not in (*file.names, file.how.number)), None)
    if missing is not None:  # what stands in the place of names may be values: only one that is near is repeated
        meant = near(missing, file.names)
        raise CatalogueError(
            f"{file.path} names no column {missing!r} in its {file.unit} {file.how.skip + 1}"
            + (meant or ": declare its name there in the section read, as names = { … }"),
            path=str(file.path),
            column=missing,
        )


def _fault(table: TextTable) -> CatalogueError | None:
    for file in table.files:
        found = fault(file.text, file.how)
        if found is not None:
            found = found if file.unit == "line" else found.replace("line", file.unit)
            return CatalogueError(f"{file.path}: {found}: {MEND}", path=str(file.path))
    return None


def value_at(files: Files, how: Reading, path: str, line: int, column: str, folder: Path) -> str | None:
    """Give what stands in a line of a file, for the terminal of its custodian and for nothing else."""
    with opening(files, how, None, folder) as table:
        for file in table.files:
            if str(file.path) == path:
                for number, row in rows(file.text, file.how):
                    if number == line:
                        return row[file.names.index(column)]
    return None


@contextmanager
def reader() -> Iterator[Any]:
    """Give a DuckDB that reads files: a function from SQL to a result, whose failures tell nothing."""
    with duckdb.connect(":memory:", config=SETTINGS) as connection:
        connection.execute("SET GLOBAL TimeZone = 'UTC'")
        connection.execute("SET enable_progress_bar = false")
        yield lambda sql: attempt("duckdb", "read the source", lambda: connection.execute(sql))


@dataclass(frozen=True)
class ParquetFiles:
    """Parquet files, and what is known of columns that are not in them, since nobody declared them."""

    paths: tuple[Path, ...]
    kinds: Mapping[str, Kind]


@contextmanager
def as_parquet(
    files: Files, how: Reading, columns: Mapping[str, PublicType] | None, folder: Path
) -> Iterator[ParquetFiles]:
    """Give files as Parquet to an engine that reads nothing else: text files and sheets as a copy, removed in the end.

    Raises what ``opening`` does.
    """
    if files.format == "parquet":
        yield ParquetFiles(files.paths, {})
        return
    with opening(files, how, columns, folder) as table, tempfile.TemporaryDirectory(prefix=COPIES, dir=folder) as place:
        target = Path(place).resolve() / "rows.parquet"
        with reader() as ask:
            ask(f"COPY (SELECT * FROM {table.relation}) TO {sql_of(str(target))} (FORMAT parquet)")
        yield ParquetFiles((target,), table.kinds)


def _kind(declared: PublicType) -> Kind:
    return TYPES.get(declared, declared)


def _name(name: str) -> str:
    return dialect.identifier(name)
