"""Registration: a declared source becomes an immutable snapshot, checked against its declaration, or nothing at all.

Of which files a source is made is told by where they are on the disk, and by what is in them: a hard link and a copy
have other paths. Of a table that protects records neither may be registered under another name: what is public there
would tell who is in it.
"""

import hashlib
import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from errorfloor.catalogue.model import MOST_STEPS, Catalogue, Table
from errorfloor.engines import Engine
from errorfloor.errors import CatalogueError, EngineError
from errorfloor.vault.continuity import check_cells_stay, check_names_stay, check_owners_stay
from errorfloor.vault.conversion import columns_read, conversion_sql, physical_names
from errorfloor.vault.parts import check_one_way
from errorfloor.vault.records import record_facts
from errorfloor.vault.row_keys import are_unique
from errorfloor.vault.snapshot import FORMAT, Snapshot, check_settled, declared, name_of, notes, settled, snapshot
from errorfloor.vault.tallies import make_tallies

if TYPE_CHECKING:
    from errorfloor.vault.growing import PartsFound

Entering = Callable[[Mapping[str, Any]], None]  # told the note of a snapshot that is about to be kept
Checking = Callable[[str], None]  # told where the rows are that a snapshot is about to be made of
WHOLE = 2**26  # bytes of a file that are all read; of a larger one, parts that lie evenly
PARTS, SIZE = 256, 2**16


@dataclass(frozen=True)
class Registration:
    """A registered snapshot; ``fresh`` is False if the same rows were registered under the same version before.

    Where accounts are divided, ``compared`` has the identities of the versions that a fresh one was compared with. Of a
    table that grows, ``parts`` says which ones were found.

    >>> list(Registration.__annotations__)
    ['snapshot', 'fresh', 'compared', 'parts']
    """

    snapshot: Snapshot
    fresh: bool
    compared: frozenset[str] = frozenset()
    parts: "PartsFound | None" = None


def register(
    catalogue: Catalogue,
    table_name: str,
    *,
    engine: Engine,
    identity: str | None = None,
    entering: Entering | None = None,
    checking: Checking | None = None,
) -> Registration:
    r"""Register the declared version of a table.

    Every column is converted in the engine's own SQL; no row passes through this process, except that a file for
    PostgreSQL is sent there as Arrow, and that hashes of row keys may be compared here. All checks are made on what
    will be kept, before anybody can see it.

    *Guarantee*: what is kept under a table's name and version never changes, obeys its declaration, and is all there or
    not at all. Messages hold declared names and rules, never a value, a row or a count of private things.

    ``identity`` is what the snapshot's noise goes by; drawn at random unless given, which is for generated rows alone.
    ``checking`` is told the relation of the new rows, to refuse them; ``entering`` is called once all checks have
    passed, before the snapshot is kept: to enter it in a ledger.

    Raises CatalogueError if the source and the declaration do not fit, the source changed without a new version, or
    another table is declared over the same source; EngineError if the engine fails, and nothing is kept then.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from errorfloor.engines import open_engine
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "meters.csv").write_text("id,kwh\n1,3.14159\n2,99\n")
    ...     table = {
    ...         "source": "meters.csv", "version": "2024-06", "row_key": ["id"], "public": {"id": "whole"},
    ...         "private": {"kwh": {"range": [0, 50], "resolution": 0.001, "floor": 2.0}},
    ...     }
    ...     catalogue = Catalogue(tables={"meters": table}, folder=Path(folder))
    ...     with open_engine(catalogue.place, catalogue.folder, read_only=False) as engine:
    ...         done = register(catalogue, "meters", engine=engine)
    ...         engine.query(f"SELECT p0, x0 FROM {done.snapshot.relation}").to_pylist()
    [{'p0': 1, 'x0': 3142}, {'p0': 2, 'x0': 50000}]
    """
    table = declared(catalogue, table_name)
    assert table.grows_by is None, "parts are registered by errorfloor.vault.growing"
    check_source_is_its_own(catalogue, table_name, engine)
    check_one_way(table_name, table, notes(engine).values())
    name = name_of(table_name, table.version)
    before = engine.recall(name)
    earlier = {known: note for known, note in notes(engine).items() if note["table"] == table_name}
    if before is None:
        check_names_stay(table_name, table, earlier.values())
    else:
        check_settled(table_name, table, earlier[name]["declaration"])
    order = str((earlier.get(name) or {}).get("order", identity or secrets.token_hex(16)))
    with engine.reading(table.source, columns_read(table), table.read) as source:
        select = conversion_sql(table_name, table, source, engine, order)
        if before is None:

            def note(relation: str) -> str:
                facts = facts_of(table_name, table, relation, engine) | (
                    {} if identity is None else {"identity": identity}
                )
                facts |= {"order": order} if table.hides_records else {}
                if table.divided_by:
                    check_cells_stay(table_name, table, relation, earlier, engine)
                    check_owners_stay(table_name, table, [relation], earlier, engine)
                if checking is not None:
                    checking(relation)
                if entering is not None:
                    entering(facts)
                return json.dumps(facts)

            converting(table_name, lambda: engine.create(name, select, note))
        else:
            _check_same(table_name, table, select, engine.relation(name), engine)
    found = snapshot(catalogue, table_name, engine)
    compared = frozenset(one["identity"] for one in earlier.values()) if before is None else frozenset()
    return Registration(found, before is None, compared)


def converting(table_name: str, work: Callable[[], None]) -> None:
    """Say of an engine that cannot convert what may be wrong; what it says itself could quote a value."""
    kind = ""
    try:
        work()
    except EngineError as problem:
        kind = str(problem.fields.get("kind", "failure"))
    if kind:
        raise EngineError(
            f"the source of {table_name} could not be converted ({kind}): check that each public column has the "
            f"declared type, that private ones are numbers, and that the file is complete. Nothing was registered",
            table=table_name,
            kind=kind,
        )


def check_source_is_its_own(catalogue: Catalogue, table_name: str, engine: Engine) -> None:
    """Accounts belong to the data: under two names the same numbers would have two allowances."""
    source = engine.identify(catalogue.tables[table_name].source)
    sources = [(name, engine.identified(table.source)) for name, table in catalogue.tables.items()]
    sources += [(note["table"], note["source"]) for note in notes(engine).values()]
    others = sorted(name for name, other in sources if name != table_name and overlap(source, other))
    if others := others or sorted(_other_names(catalogue, table_name, engine)):
        raise shared_source(table_name, others[0])


def _other_names(catalogue: Catalogue, table_name: str, engine: Engine) -> Iterator[str]:
    """Name tables over a hard link to a file of this one's, or over a copy, if one of the two protects records.

    What is declared and not yet registered is told by its place alone.
    """
    source = engine.identify(catalogue.tables[table_name].source)
    hides = catalogue.tables[table_name].hides_records
    marks, places = set(marks_of(source)), set(places_of(source))
    for note in notes(engine).values():
        matters = note["table"] != table_name and (hides or "records" in note["declaration"])
        if matters and marks.intersection(note.get("files", ())):
            yield str(note["table"])
    for name, other in catalogue.tables.items():
        matters = name != table_name and (hides or other.hides_records)
        if matters and places.intersection(places_of(engine.identified(other.source))):
            yield name


def shared_source(table_name: str, other: str) -> CatalogueError:
    """Say that two tables have one source."""
    return CatalogueError(
        f"table {table_name} has the same source as table {other}: accounts belong to the data, so a source "
        f"has one name. Declare all its columns under {other}",
        table=table_name,
        other=other,
    )


def overlap(one: str, other: str) -> bool:
    """Say whether two sources have a file in common, or one has a file in a folder that the other is.

    >>> overlap("/data/months", "/data/months/may.parquet"), overlap("/data/months", "/data/months.csv")
    (True, False)
    """
    return any(
        a == b or a.startswith(f"{b}/") or b.startswith(f"{a}/") for a in one.split("\n") for b in other.split("\n")
    )


def facts_of(table_name: str, table: Table, relation: str, engine: Engine) -> dict[str, Any]:
    """Check a table that is being made, count its rows by public values, and give what is to be known of it."""
    found = checked_facts(table_name, table, relation, engine)
    if table.hides_records:
        return found
    return found | {"tallies": make_tallies(name_of(table_name, table.version), table, relation, found["rows"], engine)}


def checked_facts(table_name: str, table: Table, relation: str, engine: Engine) -> dict[str, Any]:
    """Check rows, and give what is to be known of them."""
    columns = physical_names(table)
    known = {
        "format": FORMAT,
        "table": table_name,
        "version": table.version,
        "source": engine.identify(table.source),
        "files": marks_of(engine.identify(table.source)),
        "declaration": settled(table),
        "columns": columns,
        "identity": secrets.token_hex(16),
        "parts": [],
    }
    if table.hides_records:
        return known | record_facts(table_name, table, relation, engine)
    numbers = [name for name, column in table.public.items() if column.step is not None]
    complete = [name for name, column in table.private.items() if column.nulls == "forbidden"]
    wanted = ["count(*) AS n"]
    wanted += [f"count({columns[name]}) AS n_{columns[name]}" for name in (*table.row_key, *complete)]
    wanted += [f"{end}({columns[name]}) AS {end}_{columns[name]}" for name in numbers for end in ("min", "max")]
    facts = engine.query(f"SELECT {', '.join(wanted)} FROM {relation}").to_pylist()[0]

    def refuse(what: str, column: str | None = None) -> CatalogueError:
        return CatalogueError(f"{what}. Nothing was registered", table=table_name, column=column)

    lacking = [name for name in complete if facts[f"n_{columns[name]}"] < facts["n"]]
    if lacking:
        where = "this column" if len(lacking) == 1 else "each of these columns"
        raise refuse(
            f"{table_name}: the source has nulls in {' and '.join(lacking)}, declared with nulls = 'forbidden': write "
            f"nulls = 'public' in the section of {where}, and everybody may know which rows have none; or nulls = "
            f"'impute' with impute = a number; or correct the source",
            lacking[0],
        )
    extent = {}
    for name in numbers:
        low, high = facts[f"min_{columns[name]}"], facts[f"max_{columns[name]}"]
        if low is None:
            continue
        if max(-low, high) > MOST_STEPS:
            raise refuse(
                f"{table_name}.{name} is declared {table.public[name].type!r}, which holds whole multiples of "
                f"{float(table.public[name].step or 1):g} up to 2^40 of them on either side of zero, and the source "
                "has other numbers: declare a resolution that fits, or text",
                name,
            )
        extent[name] = [low, high]
    keys = ", ".join(table.row_key)
    if any(facts[f"n_{columns[name]}"] < facts["n"] for name in table.row_key):
        raise refuse(f"the row key ({keys}) of {table_name} is null in some row: a row key is complete")
    extents = {columns[name]: ends for name, ends in extent.items()}
    if not are_unique([columns[name] for name in table.row_key], relation, facts["n"], engine, extents):
        raise refuse(
            f"the row key ({keys}) of {table_name} is not unique: two rows have the same. Add a public column that "
            f"tells them apart; if there is none, number the rows of a text file or sheet: number in the section read"
        )
    return known | {"rows": facts["n"], "extent": extent}


def _check_same(table_name: str, table: Table, select: str, relation: str, engine: Engine) -> None:
    """Refuse a source that changed: as many rows as before, and none that was not there, is the same multiset."""
    now, then = (engine.query(f"SELECT count(*) AS n FROM {rows}") for rows in (f"({select}) AS now", relation))
    same = now.column("n")[0].as_py() == then.column("n")[0].as_py()
    if same:
        new = f"{select} EXCEPT ALL SELECT * FROM {relation}"
        same = not engine.query(f"SELECT 1 AS one FROM ({new}) AS new LIMIT 1").num_rows
    if not same:
        raise CatalogueError(
            f"the source of {table_name} is not what was registered as version {table.version!r}: versions never "
            "change. Declare a new version and register it; it is charged to the same accounts",
            table=table_name,
            version=table.version,
        )


def marks_of(source: str) -> list[str]:
    """Give marks of the files of a source, a line for each: two sources that share one share a file, or its content.

    >>> marks_of("table public.meters")
    []
    """
    return [mark for line in source.split("\n") if Path(line).is_file() for mark in (place_of(line), _content(line))]


def places_of(source: str) -> list[str]:
    """Give where the files of a source are on the disk, whatever their names."""
    return [place_of(line) for line in source.split("\n") if Path(line).is_file()]


def place_of(path: str) -> str:
    """Give the device and the number of a file."""
    found = Path(path).stat()
    return f"file {found.st_dev}:{found.st_ino}"


def _content(path: str) -> str:
    size, hashed = Path(path).stat().st_size, hashlib.sha256()
    with Path(path).open("rb") as file:
        for start, count in _read(size):
            file.seek(start)
            hashed.update(file.read(count))
    return f"content {size}:{hashed.hexdigest()}"


def _read(size: int) -> Iterator[tuple[int, int]]:
    if size <= WHOLE:
        yield 0, size
        return
    for part in range(PARTS):
        yield part * (size - SIZE) // (PARTS - 1), SIZE
