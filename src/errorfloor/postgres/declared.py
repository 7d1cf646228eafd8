"""The system catalogue as tools look it up: the declared tables in ``pg_catalog`` and ``information_schema``.

It is a small DuckDB in memory, which holds declarations alone and can reach neither files nor the tables themselves.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any

import duckdb
import pyarrow as pa

from errorfloor.access.failures import DoorError
from errorfloor.catalogue import Catalogue, Table
from errorfloor.errors import RefusedError
from errorfloor.postgres.rewriting import FROM_ZERO, rewritten
from errorfloor.postgres.values import (
    BOOL,
    DATE,
    DECLARED,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    TEXT,
    TEXTS,
    TIMESTAMP,
    VECTOR,
    Kind,
)
from errorfloor.postgres.values import ResultColumn as ResultColumn
from errorfloor.sql_text import literal

PATIENCE = 5.0  # seconds within which a look-up must be done
MOST_ROWS, MOST_BYTES = 100_000, 2**25  # of what it finds; DuckDB's own limit does not hold for what leaves it
MOST_KEPT = 16  # catalogues, of tokens that see different tables
FIRST = 16384  # PostgreSQL's first number of a table
LIMITS = {  # nothing is put on a disk
    **{"threads": "1", "memory_limit": "64MB", "temp_directory": "", "enable_external_access": "false"},
    "lock_configuration": "true",
}
SQL_NAMES = {INT8: "bigint", FLOAT8: "double precision", TEXT: "text", DATE: "date", BOOL: "boolean"}
SYSTEM = {"pg_class": "1259", "pg_type": "1247", "pg_constraint": "2606", "pg_namespace": "2615", "pg_proc": "1255"}
Row = dict[str, Any]


class SystemCatalogue:
    """What one who sees these tables finds in the system catalogue; threads share it.

    >>> from errorfloor.service.example import example_database
    >>> with example_database() as db:
    ...     system = SystemCatalogue(db.catalogue)
    >>> columns, found = system.query("SELECT table_name FROM information_schema.tables")
    >>> columns[0].name, found.to_pydict()
    ('table_name', {'table_name': ['meters']})
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self._line = duckdb.connect(":memory:")
        self._line.execute(files(__package__).joinpath("system.sql").read_text(encoding="utf-8"))
        rows: dict[str, list[Row]] = {}
        for place, (name, table) in enumerate(catalogue.tables.items()):
            for where, row in _rows(FIRST + 2 * place, name, table):
                rows.setdefault(where, []).append(row)
        for where, some in rows.items():
            for row in some:
                names, marks = ", ".join(row), ", ".join("?" * len(row))
                self._line.execute(f"INSERT INTO {where} ({names}) VALUES ({marks})", list(row.values()))
        for name, macro in _macros(rows).items():
            self._line.execute(f"CREATE MACRO {name} AS {macro}")
        found = self._line.execute("SELECT schema_name || '.' || table_name FROM duckdb_tables()").fetchall()
        self._tables = frozenset(name for (name,) in found)
        found = self._line.execute("SELECT function_name FROM duckdb_functions() WHERE NOT internal").fetchall()
        self._functions = frozenset(name for (name,) in found)
        for name, value in LIMITS.items():
            self._line.execute(f"SET {name} = '{value}'")

    def query(self, text: str) -> tuple[tuple[ResultColumn, ...], pa.Table]:
        """Answer a query on the system catalogue.

        Raises RefusedError for anything that is not one, DoorError if it takes too long (503) or finds too much (413).
        """
        query = rewritten(text, self._tables, self._functions)
        line = self._line.cursor()
        timer = threading.Timer(PATIENCE, line.interrupt)
        timer.start()
        try:
            _check_size(line, query)
            table = line.sql(query).to_arrow_table()
        except duckdb.InterruptException:
            raise DoorError(503, "time", f"not found in the system catalogue within {PATIENCE:g} s") from None
        except duckdb.Error as problem:
            first = str(problem).partition("\n")[0][:200]
            raise RefusedError(
                f"this query on the system catalogue is not understood: {first}", reason="catalogue"
            ) from None
        finally:
            timer.cancel()
            line.close()
        columns = tuple(ResultColumn(field.name, _kind(field.name, field.type)) for field in table.schema)
        return columns, table


def _check_size(line: duckdb.DuckDBPyConnection, query: str) -> None:
    """Count what a query finds before any of it is copied."""
    counted = f"SELECT count(*), sum(strlen(CAST(COLUMNS(*) AS VARCHAR))) FROM ({query}) AS found"
    ((rows, *sizes),) = line.execute(counted).fetchall()
    if rows > MOST_ROWS or sum(size or 0 for size in sizes) > MOST_BYTES:
        raise DoorError(
            413, "too-large", f"a look-up may find {MOST_ROWS} rows and {MOST_BYTES} bytes, but this finds more"
        )


class SystemCatalogues:
    """The system catalogues of those who see different tables, made when first asked for."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[int, tuple[str, ...]], tuple[Catalogue, SystemCatalogue]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, whole: Catalogue, seen: Catalogue) -> SystemCatalogue:
        """Give that of one who sees a part of a catalogue."""
        key = id(whole), tuple(seen.tables)
        with self._lock:
            found = self._kept.get(key)
            if found is None or found[0] is not whole:
                found = whole, SystemCatalogue(seen)
                self._kept[key] = found
            self._kept.move_to_end(key)
            if len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return found[1]


def _macros(rows: dict[str, list[Row]]) -> dict[str, str]:
    """Give the functions that look up declared tables: by number or by name, in maps of literals."""
    classes = {str(one["oid"]): one["relname"] for one in rows.get("pg.pg_class", ())}
    numbers = {name: number for number, name in classes.items()}
    numbers |= {f"public.{name}": number for name, number in numbers.items()} | {one: one for one in classes}
    numbers |= {name: number for short, number in SYSTEM.items() for name in (short, f"pg_catalog.{short}")}
    comments = {f"{one['objoid']} {one['objsubid']}": one["description"] for one in rows.get("pg.pg_description", ())}
    columns = {f"{one['attrelid']} {one['attnum']}": one["attname"] for one in rows.get("pg.pg_attribute", ())}
    keys = {
        number: ", ".join(name for place, name in columns.items() if place.split(" ")[0] == number)
        for number in classes
        if classes[number].endswith("_pkey")
    }
    constraints = {number: f"PRIMARY KEY ({columns})" for number, columns in keys.items()}
    indexes = {
        number: f"CREATE UNIQUE INDEX {classes[number]} ON public.{classes[number][:-5]} USING btree ({columns})"
        for number, columns in keys.items()
    }
    both = "[a::VARCHAR || ' ' || b::VARCHAR]"
    whole = f"{_map(comments)}[a::VARCHAR || ' 0']"
    definition, index = f"{_map(constraints)}[a::VARCHAR]", f"{_map(indexes)}[a::VARCHAR]"
    return {
        "name_of_class(a)": f"{_map(classes)}[a::VARCHAR]",
        "to_regclass(a)": f"{_map(numbers)}[replace(a::VARCHAR, '\"', '')]::BIGINT",
        "col_description(a, b)": f"{_map(comments)}{both}",
        "obj_description (a)": f"{whole}, (a, b) AS {whole}",
        "pg_get_constraintdef (a)": f"{definition}, (a, b) AS {definition}",
        "pg_get_indexdef (a)": f"{index}, (a, b, c) AS CASE WHEN b = 0 THEN {index} ELSE {_map(columns)}{both} END",
    }


def _map(found: dict[str, str]) -> str:
    """Write a map of texts."""
    return "MAP {" + ", ".join(f"{literal(key)}: {literal(value)}" for key, value in (found or {"": ""}).items()) + "}"


def _kind(name: str, of: Any) -> Kind:
    """Give the type of a column that was found; some arrays are vectors, which look otherwise as text."""
    if name in FROM_ZERO and pa.types.is_list(of):
        return VECTOR
    for is_it, kind in (
        (pa.types.is_boolean, BOOL),
        (pa.types.is_int16, INT2),
        (pa.types.is_int32, INT4),
        (pa.types.is_integer, INT8),
        (pa.types.is_floating, FLOAT8),
        (pa.types.is_decimal, FLOAT8),
        (pa.types.is_date, DATE),
        (pa.types.is_timestamp, TIMESTAMP),
        (pa.types.is_list, TEXTS),
    ):
        if is_it(of):
            return kind
    return TEXT


def _rows(number: int, name: str, table: Table) -> Iterator[tuple[str, Row]]:
    """Give the rows about a table; its index, which stands for the row key, has the next number."""
    kinds = {column: DECLARED[one.type] for column, one in table.compared.items()}
    kinds |= dict.fromkeys(table.private, FLOAT8)
    key, has_key = list(table.row_key), bool(table.row_key)  # a table that protects records has none
    places = {column: place for place, column in enumerate(kinds, start=1)}
    shown = {"relkind": "r", "relam": 2, "relnatts": len(kinds), "relhasindex": has_key}
    yield "pg.pg_class", {"oid": number, "relname": name, **shown}
    yield "pg.pg_tables", {"tablename": name, "hasindexes": has_key}
    yield "pg.pg_description", {"objoid": number, "objsubid": 0, "description": _about(table)}
    yield "info.tables", {"table_name": name}
    yield "info.table_privileges", {"table_name": name}
    if has_key:
        yield from _key_rows(number, name, {column: (places[column], kinds[column]) for column in key})
    for column, kind in kinds.items():
        place, needed = places[column], column in key
        yield "pg.pg_attribute", _attribute(number, place, column, kind, needed)
        yield "info.column_privileges", {"table_name": name, "column_name": column}
        yield "pg.pg_description", {"objoid": number, "objsubid": place, "description": _said(table, column)}
        written: Row = {"data_type": SQL_NAMES.get(kind, "timestamp without time zone"), "udt_name": kind.name}
        written |= {"is_nullable": "NO" if needed else "YES", "ordinal_position": place, "dtd_identifier": str(place)}
        yield "info.columns", {"table_name": name, "column_name": column, **written}


def _key_rows(number: int, name: str, key: Mapping[str, tuple[int, Kind]]) -> Iterator[tuple[str, Row]]:
    """Give the rows about a row key: an index and a constraint; each column has its place in the table and its type."""
    index, named, count = number + 1, f"{name}_pkey", len(key)
    places, zeros = [place for place, _ in key.values()], [0] * count
    shown = {"relkind": "i", "relam": 403, "relnatts": count, "relhasindex": False}
    yield "pg.pg_class", {"oid": index, "relname": named, **shown}
    indexed = {"indexrelid": index, "indrelid": number, "indnatts": count, "indnkeyatts": count, "indkey": places}
    yield "pg.pg_index", indexed | dict.fromkeys(("indoption", "indclass", "indcollation"), zeros)
    yield (
        "pg.pg_constraint",
        {"oid": index, "conname": named, "conrelid": number, "conindid": index, "conkey": places},
    )
    whose = {"table_name": name, "constraint_name": named}
    yield "info.table_constraints", whose
    for place, (column, (_, kind)) in enumerate(key.items(), start=1):
        yield "info.key_column_usage", {**whose, "column_name": column, "ordinal_position": place}
        yield "pg.pg_attribute", _attribute(index, place, column, kind, True)


def _attribute(number: int, place: int, column: str, kind: Kind, needed: bool) -> Row:
    known = {"attrelid": number, "attname": column, "attnum": place, "attnotnull": needed}
    return {**known, "atttypid": kind.oid, "attlen": kind.size}


def _about(table: Table) -> str:
    if table.hides_records:
        return "protects records: nothing about its rows is public"
    private: Sequence[str] = sorted(table.private)
    return f"private: {', '.join(private)}" if private else "a public table"


def _said(table: Table, column: str) -> str:
    """Say of a column what is declared of it."""
    one = table.private.get(column)
    if table.hides_records:
        return "private, in its declared domain"
    if one is None:
        return "public"
    unit = f" {one.unit}" if one.unit else ""
    return f"private, within {float(one.low):g} … {float(one.high):g}{unit}, with a floor of {one.floor:g}{unit}"
