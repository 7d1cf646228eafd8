"""Registration of a table that grows: parts that are there are compared with the source, new ones become snapshots.

Parts that the source no longer has stay as they are: a source may hold the newest month alone.
"""

import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from errorfloor.catalogue.model import Catalogue, Growth, Table
from errorfloor.engines import Engine
from errorfloor.errors import CatalogueError
from errorfloor.vault.continuity import check_names_stay, check_parts_stay
from errorfloor.vault.conversion import columns_read, conversion_sql, physical_names
from errorfloor.vault.parts import REMAINS, check_one_way, part_of
from errorfloor.vault.registration import Registration, check_source_is_its_own, checked_facts, converting
from errorfloor.vault.snapshot import (
    check_grows_here,
    check_settled,
    declared,
    name_of,
    notes,
    snapshot,
)

STAGED = "errorfloor_staged"  # rows of new parts, converted, while they are checked
MOST_PARTS = 5000
LONGEST_NAME = 100  # characters

Notes = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class PartsFound:
    """What a source and a vault have of a table that grows, by the names of parts.

    ``new`` are in the source alone, ``corrected`` are declared in a version that the vault does not have, and
    ``changed`` differ from what is registered without that. ``absent`` are in the vault alone.

    >>> PartsFound(new=("2024-02",), unchanged=("2024-01",)).fresh
    ('2024-02',)
    """

    new: tuple[str, ...] = ()
    corrected: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()

    @property
    def fresh(self) -> tuple[str, ...]:
        """What is to be made."""
        return (*self.new, *self.corrected)


@dataclass(frozen=True)
class Growing:
    """A table whose parts were found, and whose fresh ones can be made."""

    catalogue: Catalogue
    table_name: str
    engine: Engine
    found: PartsFound
    versions: Mapping[str, Sequence[str]]  # in which each part was registered before
    values: Mapping[str, str]  # the literal of each part of the source
    select: str
    earlier: Mapping[str, Mapping[str, Any]]  # notes of all snapshots of the table, by key

    @property
    def table(self) -> Table:
        """The declaration."""
        return self.catalogue.tables[self.table_name]

    def make(
        self, entering: Callable[[Notes], None] | None = None, checking: Callable[[str], None] | None = None
    ) -> Registration:
        """Make the fresh parts, all checked before the first is made; those that are there stay.

        *Guarantee*: a part is there whole or not at all, and never changes. If it is killed between two of them, the
        first are there, and registering again goes on with the others. ``checking`` is given the rows of all fresh
        parts as they go after FROM; ``entering`` is told the notes of all of them before the first can be seen.
        """
        if self.found.fresh:
            with self._staged() as staged:
                made = self._notes(staged)
                if self.table.divided_by:
                    fresh = {part: f"(SELECT * FROM {staged} WHERE {self._is_in(part)})" for part in self.found.fresh}
                    check_parts_stay(self.table_name, self.table, fresh, self.earlier, self.engine)
                if checking is not None:
                    checking(staged)
                if entering is not None:
                    entering(made)
                columns = ", ".join(physical_names(self.table).values())
                for note in made:
                    name = str(part_of(note))
                    rows = f"SELECT {columns} FROM {staged} WHERE {self._is_in(name)}"
                    self.engine.create(
                        name_of(self.table_name, note["version"], name),
                        rows,
                        lambda relation, note=note: json.dumps(note),  # type: ignore[misc]
                    )
        there = snapshot(self.catalogue, self.table_name, self.engine)
        compared = frozenset(str(note["identity"]) for note in self.earlier.values())
        return Registration(there, bool(self.found.fresh), compared, self.found)

    def _is_in(self, part: str) -> str:
        return f"errorfloor_part = {self.values[part]}"

    @contextmanager
    def _staged(self) -> Iterator[str]:
        """Convert the rows of fresh parts once; nobody else sees them."""
        wanted = ", ".join(self.values[name] for name in self.found.fresh)
        rows = f"({with_part(self.select, self.table, self.engine)}) AS s WHERE errorfloor_part IN ({wanted})"
        staging = f"CREATE TEMP TABLE {STAGED} AS SELECT * FROM {rows}"
        converting(self.table_name, lambda: self.engine.execute(staging))
        try:
            yield STAGED
        finally:
            self.engine.execute(f"DROP TABLE {STAGED}")

    def _notes(self, staged: str) -> list[dict[str, Any]]:
        """Check the rows of all fresh parts, and give what is to be known of each part."""
        table, growth = self.table, grows_by(self.table)
        base = checked_facts(self.table_name, table, staged, self.engine)
        columns = physical_names(table)
        numbers = [columns[name] for name, column in table.public.items() if column.step is not None]
        ends = [f"{end}({one}) AS {end}_{one}" for one in numbers for end in ("min", "max")]
        sql = (
            f"SELECT errorfloor_part AS part, count(*) AS n, {', '.join(ends) or '0 AS none'} FROM {staged} GROUP BY 1"
        )
        each = {growth.name(row["part"]): row for row in self.engine.query(sql).to_pylist()}
        return [
            base
            | {
                "version": growth.version(name, table.version),
                "identity": secrets.token_hex(16),
                "parts": [name],
                "rows": each[name]["n"],
                "extent": {
                    column: [each[name][f"min_{columns[column]}"], each[name][f"max_{columns[column]}"]]
                    for column, one in table.public.items()
                    if one.step is not None and each[name][f"min_{columns[column]}"] is not None
                },
            }
            for name in self.found.fresh
            if name in each
        ]


@contextmanager
def growing(catalogue: Catalogue, table_name: str, *, engine: Engine) -> Iterator[Growing]:
    """Read the source of a table that grows, and find out which of its parts are new, and which have changed.

    Raises CatalogueError if the source and the declaration do not fit.
    """
    table = declared(catalogue, table_name)
    growth = grows_by(table)
    check_grows_here(table_name, engine)
    check_source_is_its_own(catalogue, table_name, engine)
    earlier = {key: note for key, note in notes(engine).items() if note["table"] == table_name}
    check_one_way(table_name, table, earlier.values())
    check_names_stay(table_name, table, earlier.values())
    versions: dict[str, list[str]] = {}
    kept: dict[str, Mapping[str, Any]] = {}
    for note in earlier.values():
        name = part_of(note)
        if name is not None and REMAINS not in note:
            versions.setdefault(name, []).append(note["version"])
            if note["version"] == growth.version(name, table.version):
                check_settled(table_name, table, note["declaration"])
                kept[name] = note
    with engine.reading(table.source, columns_read(table), table.read) as source:
        select = conversion_sql(table_name, table, source, engine)
        values, rows = _parts_in(table_name, table, select, engine)
        for name in growth.corrected:
            if name not in values and name not in kept:
                raise CatalogueError(
                    f"grows_by.corrected of {table_name} names part {name!r}, which its source does not have: correct "
                    f"the name, or put the rows of that part into the source",
                    table=table_name,
                    part=name,
                )
        changed = _changed(table_name, table, select, values, rows, kept, engine)
        fresh = [name for name in values if name not in kept]
        found = PartsFound(
            new=tuple(name for name in fresh if name not in growth.corrected or name not in versions),
            corrected=tuple(name for name in fresh if name in growth.corrected and name in versions),
            changed=tuple(name for name in values if name in changed),
            unchanged=tuple(name for name in values if name in kept and name not in changed),
            absent=tuple(sorted(name for name in kept if name not in values)),
        )
        yield Growing(catalogue, table_name, engine, found, versions, values, select, earlier)


def grows_by(table: Table) -> Growth:
    """Give by what a table grows that does."""
    assert table.grows_by is not None
    return table.grows_by


def with_part(select: str, table: Table, engine: Engine) -> str:
    """Give converted rows with one column more: the day on which the part of each begins, or the value naming it."""
    growth = grows_by(table)
    column, type = physical_names(table)[growth.column], table.public[growth.column].type
    part = column if growth.part is None else engine.dialect.truncated(growth.part, column, type)
    if type == "moment":
        part = engine.dialect.as_date(part)
    return f"SELECT *, {part} AS errorfloor_part FROM ({select}) AS converted"


def _parts_in(table_name: str, table: Table, select: str, engine: Engine) -> tuple[dict[str, str], dict[str, int]]:
    """Give the literal and the number of rows of each part that a source has, in the order of the parts."""
    growth, found = grows_by(table), list[Any]()
    sql = f"SELECT errorfloor_part AS part, count(*) AS n FROM ({with_part(select, table, engine)}) AS s GROUP BY 1"
    sql += f" ORDER BY 1 LIMIT {MOST_PARTS + 1}"
    converting(table_name, lambda: found.append(engine.query(sql)))
    try:
        parts = {growth.name(row["part"]): row for row in found[0].to_pylist() if row["part"] is not None}
    except (ValueError, OverflowError):  # a day that Python does not know
        parts = {"": {}}
    if len(parts) > MOST_PARTS:
        raise CatalogueError(
            f"the source of {table_name} has more than {MOST_PARTS:,} parts by {growth.noun}: choose a longer part, "
            f"such as month, or another column. Nothing was registered",
            table=table_name,
        )
    named = all(1 <= len(name) <= LONGEST_NAME and name.isprintable() and not growth.mistake_in(name) for name in parts)
    if not named or len(parts) < found[0].num_rows:
        raise CatalogueError(
            f"{table_name}.{growth.column} names parts, by a day of the years 1 to 9998 or by 1 to {LONGEST_NAME} "
            f"printable characters, and some row has something else: correct it, or choose another column. Nothing was "
            f"registered",
            table=table_name,
            column=growth.column,
        )
    rows = {name: int(row["n"]) for name, row in parts.items()}
    values = {name: row["part"] for name, row in parts.items()}
    literal = engine.dialect.literal
    return {name: str(one) if isinstance(one, int) else literal(one) for name, one in values.items()}, rows


def _changed(
    table_name: str,
    table: Table,
    select: str,
    values: Mapping[str, str],
    rows: Mapping[str, int],
    kept: Mapping[str, Mapping[str, Any]],
    engine: Engine,
) -> set[str]:
    """Name the registered parts that differ from the source: in the number of rows, or in some row."""
    both = [name for name in values if name in kept]
    changed = {name for name in both if rows[name] != kept[name]["rows"]}
    alike = [name for name in both if name not in changed]
    if not alike:
        return changed
    growth, columns = grows_by(table), physical_names(table)
    wanted = ", ".join(values[name] for name in alike)
    now = f"SELECT * FROM ({with_part(select, table, engine)}) AS s WHERE errorfloor_part IN ({wanted})"

    def stored(name: str) -> str:
        shown = ", ".join(f"{kept[name]['columns'][one]} AS {physical}" for one, physical in columns.items())
        return f"SELECT {shown} FROM {engine.relation(name_of(table_name, kept[name]['version'], name))}"

    then = with_part(" UNION ALL ".join(map(stored, alike)), table, engine)
    differ: list[Any] = []
    sql = f"SELECT DISTINCT errorfloor_part AS part FROM ({now} EXCEPT ALL {then}) AS new"
    converting(table_name, lambda: differ.extend(engine.query(sql).column("part").to_pylist()))
    return changed | {growth.name(value) for value in differ}
