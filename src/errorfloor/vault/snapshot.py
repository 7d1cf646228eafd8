"""A registered snapshot: where it is, how large, how its columns are called, and what its declaration settles."""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from errorfloor.catalogue.model import Catalogue, Table
from errorfloor.catalogue.near import meant
from errorfloor.engines import Engine
from errorfloor.errors import CatalogueError
from errorfloor.identity import Part
from errorfloor.vault.parts import (
    SnapshotPart,
    check_one_way,
    declared_parts,
    merged_extent,
    part_of,
)
from errorfloor.vault.records import record_settled

FORMAT = 3


def settled(table: Table) -> dict[str, Any]:
    """Give, as plain JSON, the part of a declaration that a snapshot depends on.

    Floors, units, distances, priors, owners and accounts may change; they say nothing about what is stored.
    """
    return {
        "row_key": {"columns": sorted(table.row_key)},
        "public": {
            name: {"type": column.type, "resolution": _text(column.resolution)} for name, column in table.public.items()
        },
        "private": {
            name: {
                "range": [str(column.low), str(column.high)],
                "resolution": str(column.resolution),
                "nulls": column.nulls,
                "impute": _text(column.impute),
            }
            for name, column in table.private.items()
        },
        **({"records": record_settled(table)} if table.hides_records else {}),
        **({"grows_by": [table.grows_by.column, table.grows_by.part]} if table.grows_by is not None else {}),
    }


def check_settled(table_name: str, table: Table, before: dict[str, Any]) -> None:
    """Refuse a declaration that differs from the one under which its version was registered."""
    now = settled(table)
    changed = [] if now["row_key"] == before["row_key"] else ["its row key"]
    if now.get("records") != before.get("records"):
        changed.append("what it protects, or the domains, the owner or the rows that count of its records")
    if now.get("grows_by") != before.get("grows_by"):
        changed.append("by what it grows")
    for what in ("public", "private"):
        for name in (*now[what], *(name for name in before[what] if name not in now[what])):
            old, new = before[what].get(name), now[what].get(name)
            if old is None:
                changed.append(f"{name} ({what} only now)")
            elif new is None:
                changed.append(f"{name} (no longer {what})")
            elif old != new:
                changed.append(f"{name} ({', '.join(key for key in new if new[key] != old[key])})")
    if changed:
        raise CatalogueError(
            f"table {table_name} is declared differently from when its version {table.version!r} was registered: "
            f"{'; '.join(changed)}. Declare a new version and register it, or undo the change",
            table=table_name,
            version=table.version,
            changed=changed,
        )


def _text(value: object) -> str | None:
    return None if value is None else str(value)


@dataclass(frozen=True)
class Tally:
    """A table that counts the rows of each combination of values of some public columns."""

    relation: str
    columns: frozenset[str]


@dataclass(frozen=True)
class Snapshot:
    """An immutable table of integers, texts, days, moments and flags on an engine.

    ``arrow`` leads from declared to physical names: public p0, p1, …, private x0, x1, … ``extent`` holds the least
    and the greatest stored integer of each public column of numbers that has any. ``identity`` was drawn at random when
    the snapshot was made, and goes with it when it is copied to another engine; a vault that is made again, from
    whatever source, has other ones. Of a table that protects records, ``rows`` is the declared bound on them, and
    ``extent`` that of the domains. Of a table that grows, ``parts`` are those that are read, as one table.

    >>> table = Table(source="t.parquet", version="1", row_key=("id",), public={"id": "whole"})
    >>> Snapshot("t", "1", table, '"s"', 3, {"id": "p0"}, {"id": (1, 3)}).columns["id"]
    'p0'
    """

    table_name: str
    version: str
    table: Table
    relation: str
    rows: int
    columns: Mapping[str, str]
    extent: Mapping[str, tuple[int, int]]
    identity: str = ""
    tallies: tuple[Tally, ...] = ()
    parts: tuple[SnapshotPart, ...] = ()

    @property
    def whose(self) -> tuple[Part, ...]:
        """Which rows these are, for labels: table, version, and the name, version and identity of each part.

        A table that does not grow has one part, without a name or a version of its own.
        """
        parts = tuple(part.whose for part in self.parts)
        return self.table_name, self.version, parts or (("", "", self.identity),)

    @property
    def identities(self) -> Iterator[tuple[str, str]]:
        """The version and the identity of each snapshot that is read: of the parts, or of the whole."""
        yield from (part.whose[1:] for part in self.parts)
        if not self.parts:
            yield self.version, self.identity

    @property
    def state(self) -> str:
        """Name what entries hold: two of one name agree in the value of every entry that both have.

        It is the version, and that of each part which has another.
        """
        corrected = [part.whose[:2] for part in self.parts if part.version != self.version]
        if not corrected:
            return self.version
        return f"{self.version} {hashlib.sha256(json.dumps(corrected).encode()).hexdigest()[:16]}"

    def reading(self, names: Collection[str]) -> "Snapshot":
        """Give some parts of it as one table; of none the first, of which no row is wanted then."""
        if not self.parts:
            return self
        chosen = tuple(part for part in self.parts if part.name in names) or self.parts[:1]
        return self if chosen == self.parts else replace(self, **_together(chosen))


def snapshot(catalogue: Catalogue, table_name: str, engine: Engine) -> Snapshot:
    """Find the snapshot of a declared table in the version that is declared.

    Raises CatalogueError if there is no such table, its version is not registered, or what is settled by registration
    was declared otherwise since.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from errorfloor.engines import open_engine
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     catalogue = Catalogue(tables={}, folder=Path(folder))
    ...     with open_engine(catalogue.place, catalogue.folder, read_only=False) as engine:
    ...         snapshot(catalogue, "meters", engine)
    Traceback (most recent call last):
    errorfloor.errors.CatalogueError: there is no table 'meters' in the catalogue; it declares none
    """
    table = declared(catalogue, table_name)
    if table.grows_by is not None:
        return _growing(table_name, table, engine)
    name = name_of(table_name, table.version)
    note = engine.recall(name)
    if note is None:
        check_one_way(table_name, table, notes(engine).values())
        others = sorted(n["version"] for n in notes(engine).values() if n["table"] == table_name)
        known = f" (registered are {', '.join(map(repr, others))})" if others else ""
        raise CatalogueError(
            f"table {table_name} is not registered in version {table.version!r}{known}: run errorfloor register",
            table=table_name,
            version=table.version,
        )
    facts = _facts(note)
    check_settled(table_name, table, facts["declaration"])
    return Snapshot(
        table_name,
        table.version,
        table,
        engine.relation(name),
        facts["rows"],
        facts["columns"],
        {column: (low, high) for column, (low, high) in facts["extent"].items()},
        facts["identity"],
        _tallies_of(name, facts, engine),
    )


def _tallies_of(name: str, note: Mapping[str, Any], engine: Engine) -> tuple[Tally, ...]:
    """Give the tallies that a note tells of; older notes tell of none."""
    kept = ((engine.tally_of(name, place), columns) for place, columns in enumerate(note.get("tallies", ())))
    return tuple(Tally(relation, frozenset(columns)) for relation, columns in kept if relation is not None)


def _growing(table_name: str, table: Table, engine: Engine) -> Snapshot:
    """Put together the parts of a table that grows, in the versions that are declared."""
    check_grows_here(table_name, engine)
    known = notes(engine)
    check_one_way(table_name, table, known.values())
    chosen, parts = declared_parts(table_name, table, known.values()), []
    names = chosen[0]["columns"]  # the order of columns may have changed from part to part
    for note in chosen:
        check_settled(table_name, table, note["declaration"])
        key, columns = name_of(table_name, note["version"], part_of(note)), note["columns"]
        shown = ", ".join(name if columns[one] == name else f"{columns[one]} AS {name}" for one, name in names.items())
        select = f"SELECT {shown} FROM {engine.relation(key)}"
        extent = {column: (low, high) for column, (low, high) in note["extent"].items()}
        parts.append(
            SnapshotPart(str(part_of(note)), note["version"], note["identity"], key, select, note["rows"], extent)
        )
    return Snapshot(table_name, table.version, table, columns=names, **_together(tuple(parts)))


def _together(parts: tuple[SnapshotPart, ...]) -> dict[str, Any]:
    """Give several parts as one table."""
    return {
        "relation": f"({' UNION ALL '.join(part.select for part in parts)})",
        "rows": sum(part.rows for part in parts),
        "extent": merged_extent(parts),
        "identity": hashlib.sha256("\n".join(part.identity for part in parts).encode()).hexdigest()[:32],
        "parts": parts,
    }


def check_grows_here(table_name: str, engine: Engine) -> None:
    """Refuse a table that grows where its parts cannot be kept."""
    if engine.name != "duckdb":
        raise CatalogueError(
            f"table {table_name} is declared with grows_by, which needs a DuckDB vault, and its snapshots are on "
            f'{engine.name}: declare engine = "duckdb" in [place], or leave grows_by out and declare a new version '
            f"when the table has grown",
            table=table_name,
        )


def is_current(found: Snapshot, engine: Engine) -> bool:
    """Say whether the engine still keeps that very snapshot, and not another one under its name.

    An identity is drawn once and never comes back: if it is there now, it was there all the time before.

    >>> import inspect
    >>> list(inspect.signature(is_current).parameters)
    ['found', 'engine']
    """
    for key, identity in [(part.key, part.identity) for part in found.parts] or [
        (name_of(found.table_name, found.version), found.identity)
    ]:
        note = engine.recall(key)
        if note is None or _facts(note)["identity"] != identity:
            return False
    return True


@lru_cache(maxsize=4096)
def _facts(note: str) -> Mapping[str, Any]:
    """Read a note; many are read again with every registration and every question."""
    facts = json.loads(note)
    if facts["format"] != FORMAT:
        age = "an older" if facts["format"] < FORMAT else "a newer"
        what = "stop every server, then run errorfloor upgrade" if age == "an older" else "install that version"
        raise CatalogueError(f"the vault was written by {age} errorfloor: {what}", format=facts["format"])
    return MappingProxyType(facts)


def declared(catalogue: Catalogue, table_name: str) -> Table:
    """Give a table's declaration, or say which tables there are."""
    if table_name not in catalogue.tables:
        hint = meant(table_name, catalogue.tables)
        raise CatalogueError(f"there is no table {table_name!r} in the catalogue; it declares {hint}", table=table_name)
    return catalogue.tables[table_name]


def name_of(table_name: str, version: str, part: str | None = None) -> str:
    """Give the physical name of a version of a table, or of a part of it: nothing in it was chosen by a user."""
    named = [table_name, version, *([] if part is None else [part])]
    return "s_" + hashlib.sha256(json.dumps(named).encode()).hexdigest()[:40]


def notes(engine: Engine) -> dict[str, Mapping[str, Any]]:
    """Give what is known of every snapshot that the engine keeps."""
    return {name: _facts(text) for name, text in engine.recall_all().items() if name.startswith("s_")}
