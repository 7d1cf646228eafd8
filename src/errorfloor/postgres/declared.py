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
READ_ONLY = ["=r/errorfloor"]  # everybody who sees a table may read it, and nobody may write
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
    key = list(table.row_key)
    classes: Row = {"reltype": 0, "reloftype": 0, "relowner": 10, "relfilenode": 0, "reltablespace": 0, "relpages": 0}
    classes |= {
        "relacl": READ_ONLY,
        "relnamespace": 2200,
        "reltuples": -1.0,
        "relpersistence": "p",
        "relchecks": 0,
        "reltoastrelid": 0,
    }
    flags = ("relisshared", "relhasrules", "relhastriggers", "relhassubclass", "relrowsecurity", "relforcerowsecurity")
    classes |= dict.fromkeys((*flags, "relispartition"), False) | {"relispopulated": True, "relreplident": "d"}
    yield (
        "pg.pg_class",
        classes
        | {
            **{"oid": number, "relname": name, "relkind": "r", "relam": 2, "relnatts": len(kinds)},
            "relhasindex": bool(key),
        },
    )
    indexed = {"hasindexes": bool(key)}
    yield "pg.pg_tables", {"schemaname": "public", "tablename": name, "tableowner": "errorfloor", **indexed}
    about = _about(table)
    yield "pg.pg_description", {"objoid": number, "classoid": 1259, "objsubid": 0, "description": about}
    places = {column: place for place, column in enumerate(kinds, start=1)}
    where = {"table_catalog": "errorfloor", "table_schema": "public", "table_name": name}
    yield "info.tables", {**where, "table_type": "BASE TABLE", "is_insertable_into": "NO", "is_typed": "NO"}
    granted = {"grantor": "errorfloor", "grantee": "PUBLIC", **where, "privilege_type": "SELECT", "is_grantable": "NO"}
    yield "info.table_privileges", {**granted, "with_hierarchy": "NO"}
    if key:  # a table that protects records has none
        yield from _key_rows(number, name, classes, where, {column: (places[column], kinds[column]) for column in key})
    for column, kind in kinds.items():
        needed = column in key
        yield "pg.pg_attribute", _attribute(number, places[column], column, kind, needed)
        said = _said(table, column)
        yield "info.column_privileges", {**granted, "column_name": column}
        yield (
            "pg.pg_description",
            {**{"objoid": number, "classoid": 1259, "objsubid": places[column], "description": said}},
        )
        yield (
            "info.columns",
            {
                **{
                    **where,
                    "column_name": column,
                    "ordinal_position": places[column],
                    "is_nullable": "NO" if needed else "YES",
                },
                **{"data_type": SQL_NAMES.get(kind, "timestamp without time zone"), "udt_name": kind.name},
                **{"udt_catalog": "errorfloor", "udt_schema": "pg_catalog", "dtd_identifier": str(places[column])},
                **{"is_identity": "NO", "is_generated": "NEVER", "is_updatable": "NO", "is_self_referencing": "NO"},
            },
        )


def _key_rows(
    number: int, name: str, classes: Row, where: Row, key: Mapping[str, tuple[int, Kind]]
) -> Iterator[tuple[str, Row]]:
    """Give the rows about a row key: an index and a constraint; each column has its place in the table and its type."""
    yield (
        "pg.pg_class",
        classes
        | {
            **{"oid": number + 1, "relname": f"{name}_pkey", "relkind": "i", "relam": 403, "relnatts": len(key)},
            "relhasindex": False,
        },
    )
    yield (
        "pg.pg_index",
        {
            **{"indexrelid": number + 1, "indrelid": number, "indnatts": len(key), "indnkeyatts": len(key)},
            **{"indisunique": True, "indisprimary": True, "indisvalid": True, "indisready": True, "indislive": True},
            **{"indisclustered": False, "indisexclusion": False, "indimmediate": True, "indisreplident": False},
            **{"indnullsnotdistinct": False, "indcheckxmin": False},
            **{"indkey": [place for place, _ in key.values()], "indoption": [0] * len(key)},
            **{"indclass": [0] * len(key), "indcollation": [0] * len(key)},
        },
    )
    yield (
        "pg.pg_constraint",
        {
            **{"oid": number + 1, "conname": f"{name}_pkey", "connamespace": 2200, "contype": "p", "conrelid": number},
            **{
                "conindid": number + 1,
                "conkey": [place for place, _ in key.values()],
                "convalidated": True,
                "confrelid": 0,
            },
            **{"condeferrable": False, "condeferred": False, "conislocal": True, "contypid": 0, "conparentid": 0},
        },
    )
    named = {f"constraint_{part}": where[f"table_{part}"] for part in ("catalog", "schema")}
    named |= {**where, "constraint_name": f"{name}_pkey"}
    yield "info.table_constraints", {**named, "constraint_type": "PRIMARY KEY", "is_deferrable": "NO"}
    for place, (column, (_, kind)) in enumerate(key.items(), start=1):
        yield "info.key_column_usage", {**named, "column_name": column, "ordinal_position": place}
        yield "pg.pg_attribute", _attribute(number + 1, place, column, kind, True)


def _attribute(number: int, place: int, column: str, kind: Kind, needed: bool) -> Row:
    return {
        **{"attrelid": number, "attname": column, "atttypid": kind.oid, "attlen": kind.size, "attnum": place},
        **{"atttypmod": -1, "attndims": 0, "attnotnull": needed, "atthasdef": False, "attisdropped": False},
        **{"attislocal": True, "attinhcount": 0, "attcollation": 0, "attidentity": "", "attgenerated": ""},
        **{
            "attacl": READ_ONLY,
            "atthasmissing": False,
            "attstattarget": -1,
            "attcacheoff": -1,
            "attstorage": "p",
            "attcompression": "",
        },
    }


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
