"""Erasing a person: a new version without their rows is registered from the old one, and every snapshot with them goes.

Answers stay what they are: numbers with noise, charged for good. What was answered from a snapshot that is destroyed
can no longer be drawn again.
"""

import datetime
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from errorfloor.catalogue.model import Catalogue, Table
from errorfloor.engines import Engine
from errorfloor.errors import CatalogueError, EngineError, InputError
from errorfloor.vault.conversion import columns_read, conversion_sql, physical_names
from errorfloor.vault.parts import REMAINS, part_of
from errorfloor.vault.registration import Entering, facts_of
from errorfloor.vault.snapshot import check_settled, declared, name_of, notes

REMAINDER = " (without those who were erased)"  # after the name of a version


@dataclass(frozen=True)
class Erasure:
    """What holds rows of a person, and what becomes of it.

    ``holding`` has the versions that hold some, and how many; ``version`` is the one declared, and ``made`` says
    whether it has to be made, from the version ``base``.

    >>> Erasure("meters", "2014", "2013", True, {"2013": 365}, "has no such row").holding
    {'2013': 365}
    """

    table: str
    version: str
    base: str | None
    made: bool
    holding: Mapping[str, int]
    source: str


def plan_erasure(
    catalogue: Catalogue, table_name: str, person: Mapping[str, str], *, engine: Engine, base: str | None = None
) -> Erasure:
    """Find out what holds rows of a person; nothing is changed.

    ``person`` has values of the owner's column, or of columns of the row key, as texts; ``base`` is the version that
    the declared one is made from, the only one there is unless given.

    Raises
    ------
    InputError
        A column is neither the owner's nor of the row key, a value cannot be one, or no snapshot has such a row.
    CatalogueError
        The declared version holds the person itself, or the source still does: nothing is erased by halves.

    >>> plan_erasure(Catalogue(tables={}), "meters", {"household": "H0042"}, engine=None)
    Traceback (most recent call last):
    errorfloor.errors.CatalogueError: there is no table 'meters' in the catalogue; it declares none
    """
    table = declared(catalogue, table_name)
    if table.hides_records:
        raise CatalogueError(
            f"{table_name} protects records, and its snapshots do not say whose their rows are: erase the person in "
            f"the source, register a new version, and destroy the vault's older ones",
            table=table_name,
        )
    if table.grows_by is not None:
        from errorfloor.vault.part_erasure import erase_from_parts

        return erase_from_parts(catalogue, table_name, person, engine=engine, doing=False)
    check_person(table_name, table, person)
    keyed = {key: note for key, note in notes(engine).items() if note["table"] == table_name}
    kept = {note["version"]: note for note in keyed.values()}
    if any(note["parts"] for note in kept.values()):
        raise CatalogueError(
            f"{table_name} was registered in parts, and is declared without grows_by: declare grows_by as it was, with "
            f"which each part is erased from",
            table=table_name,
        )
    holding = {
        version: count
        for version, note in sorted(kept.items())
        if (count := count_rows(engine, engine.relation(name_of(table_name, version)), table, note["columns"], person))
    }
    if not holding:
        raise InputError(f"no registered version of {table_name} has such a row: there is nothing to erase here")
    check_one_owner(
        table_name, table, {key: note for key, note in keyed.items() if note["version"] in holding}, person, engine
    )
    if table.version in holding:
        raise CatalogueError(
            f"version {table.version!r} of {table_name} is declared, and holds these rows: declare a new version, "
            f"which is then made without them",
            table=table_name,
            version=table.version,
        )
    source = check_source(table_name, table, person, engine)
    if table.version in kept:
        return Erasure(table_name, table.version, None, False, holding, source)
    versions = sorted(version for version in kept if not version.endswith(REMAINDER))
    chosen = base if base is not None else versions[0] if len(versions) == 1 else None
    if chosen not in kept:
        raise InputError(
            f"{table_name} is registered in versions {', '.join(map(repr, versions))}: name the one that "
            f"{table.version!r} is to be made from (--base)"
        )
    check_settled(table_name, table, dict(kept[chosen]["declaration"]))
    return Erasure(table_name, table.version, chosen, True, holding, source)


def erase(
    catalogue: Catalogue,
    table_name: str,
    person: Mapping[str, str],
    *,
    engine: Engine,
    base: str | None = None,
    entering: Entering | None = None,
    destroying: Callable[[Mapping[str, Any], Mapping[str, Any]], None] | None = None,
) -> Erasure:
    r"""Erase a person from the snapshots of a table; done again after a kill it goes on where it was.

    *Guarantee*: the new version is whole before anything is destroyed, and when this returns no snapshot of the table
    on this engine has a row of the person.

    Where accounts are divided, the other rows of every version that goes are kept under a name of their own:
    later versions are compared with their cells.

    ``entering`` is told the note of every snapshot before it is kept, ``destroying`` the notes of each old one and of
    the one that goes on from it before the old one is destroyed: to write both down in a ledger.

    Raises what ``plan_erasure`` does, and EngineError if the engine cannot remove a table for good.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from errorfloor.engines import open_engine
    >>> from errorfloor.vault import register
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "meters.csv"
    ...     _ = file.write_text("id,kwh\n1,3.14159\n2,99\n")
    ...     table = {
    ...         "source": "meters.csv", "version": "1", "row_key": ["id"], "public": {"id": "whole"},
    ...         "private": {"kwh": {"range": [0, 50], "resolution": 0.001, "floor": 2.0}},
    ...     }
    ...     one, two = (Catalogue(tables={"meters": table | {"version": v}}, folder=Path(folder)) for v in "12")
    ...     with open_engine(one.place, one.folder, read_only=False) as engine:
    ...         _ = register(one, "meters", engine=engine)
    ...         _ = file.write_text("id,kwh\n1,3.14159\n")
    ...         erase(two, "meters", {"id": "2"}, engine=engine).holding, len(engine.known())
    ({'1': 1}, 1)
    """
    table = declared(catalogue, table_name)
    if table.grows_by is not None:
        from errorfloor.vault.part_erasure import erase_from_parts

        return erase_from_parts(
            catalogue, table_name, person, engine=engine, doing=True, entering=entering, destroying=destroying
        )
    plan = plan_erasure(catalogue, table_name, person, engine=engine, base=base)
    engine.check_destroys()
    columns = physical_names(table)
    if plan.made:
        assert plan.base is not None
        whole = engine.relation(name_of(table_name, plan.base))
        stay = f"CASE WHEN {matching(table, columns, person, engine)} THEN 1 ELSE 0 END = 0"
        select = f"SELECT {', '.join(columns.values())} FROM {whole} WHERE {stay}"

        def note(relation: str) -> str:
            facts = facts_of(table_name, table, relation, engine)
            if entering is not None:
                entering(facts)
            return json.dumps(facts)

        engine.create(name_of(table_name, table.version), select, note)
    kept = notes(engine)
    for version in plan.holding:
        old, goes_on = kept[name_of(table_name, version)], kept[name_of(table_name, table.version)]
        if table.divided_by and version != plan.base:
            goes_on = remainder(old, matching(table, old["columns"], person, engine), engine, entering)
        if destroying is not None:
            destroying(old, goes_on)
        engine.destroy(name_of(table_name, version))
    left = [
        note["version"]
        for note in notes(engine).values()
        if note["table"] == table_name
        and count_rows(engine, engine.relation(name_of(table_name, note["version"])), table, note["columns"], person)
    ]
    if left:
        raise EngineError(f"version {left[0]!r} of {table_name} still has these rows: erase again")
    return plan


def remainder(old: Mapping[str, Any], person: str, engine: Engine, entering: Entering | None) -> Mapping[str, Any]:
    """Keep the other rows of a version that is to be destroyed: later ones are compared with the cells of these.

    Nobody declares it, so that it is not asked.
    """
    version, kept, part = f"{old['version']}{REMAINDER}", notes(engine), part_of(old)
    while _is_other(kept.get(name_of(old["table"], version, part)), old["identity"]):
        version += REMAINDER
    name = name_of(old["table"], version, part)
    relation = engine.relation(name_of(old["table"], old["version"], part))
    if name not in kept:

        def note(made: str) -> str:
            rows = int(engine.query(f"SELECT count(*) AS n FROM {made}").column("n")[0].as_py())
            facts = {
                **old,
                "version": version,
                "rows": rows,
                "extent": {},
                "identity": secrets.token_hex(16),
                "tallies": [],
            }
            facts[REMAINS] = old["identity"]
            if entering is not None:
                entering(facts)
            return json.dumps(facts)

        columns = ", ".join(old["columns"].values())
        engine.create(name, f"SELECT {columns} FROM {relation} WHERE CASE WHEN {person} THEN 1 ELSE 0 END = 0", note)
    return notes(engine)[name]


def _is_other(note: Mapping[str, Any] | None, identity: str) -> bool:
    """Say whether a version is there, and is not what remains of one: its name may have been declared."""
    return note is not None and note.get(REMAINS) != identity


def check_person(table_name: str, table: Table, person: Mapping[str, str]) -> None:
    """Refuse a person who is not named by the owner's column or by the row key."""
    allowed = {*table.row_key, *([] if table.owner is None else [table.owner.column])}
    for column in person:
        if column not in allowed:
            raise InputError(
                f"a person is named by the owner's column or by the row key of {table_name}, which are "
                f"{', '.join(sorted(allowed))}; got {column!r}"
            )
    if not person:
        raise InputError(f"name a person by {' or '.join(sorted(allowed))} of {table_name}")


def check_one_owner(
    table_name: str,
    table: Table,
    holding: Mapping[str, Mapping[str, Any]],
    person: Mapping[str, str],
    engine: Engine,
) -> None:
    """Where accounts are divided by when owners joined, refuse to erase rows of several owners at once.

    Nothing then says when an owner joined who had rows only there: all of them could come back as new ones.
    """
    if table.owner is None or table.joined is None:
        return
    owner = table.owner.column
    each = [
        f"SELECT {engine.dialect.text(note['columns'][owner])} AS o FROM {engine.relation(key)} AS r "
        f"WHERE {matching(table, note['columns'], person, engine)}"
        for key, note in holding.items()
        if owner in note["columns"]
    ]
    if each and engine.query(f"SELECT DISTINCT o FROM ({' UNION ALL '.join(each)}) AS p LIMIT 2").num_rows > 1:
        raise InputError(
            f"these are rows of more than one {owner} of {table_name}, whose accounts are divided by when owners "
            f"joined: nothing would say when those joined who have no other rows, and they could come back with "
            f"another allowance. Erase one {owner} at a time, named by {owner}. Nothing was erased"
        )


def check_source(table_name: str, table: Table, person: Mapping[str, str], engine: Engine) -> str:
    """Say whether the source is free of the person; refuse if it is not: the next version would bring them back."""
    try:
        with engine.reading(table.source, columns_read(table), table.read) as source:
            select = conversion_sql(table_name, table, source, engine)
            found = count_rows(engine, f"({select}) AS source", table, physical_names(table), person)
    except (CatalogueError, EngineError):
        return "cannot be read"
    if found:
        raise CatalogueError(
            f"the source of {table_name} still has these rows, and the next version would bring them back: erase them "
            f"there first",
            table=table_name,
        )
    return "has no such row"


def count_rows(
    engine: Engine, relation: str, table: Table, columns: Mapping[str, str], person: Mapping[str, str]
) -> int:
    """Count the rows of a person."""
    if not set(person) <= set(columns):
        raise CatalogueError("an older version does not have the columns that name the person: use other columns")
    sql = f"SELECT count(*) AS n FROM {relation} WHERE {matching(table, columns, person, engine)}"
    return int(engine.query(sql).column("n")[0].as_py())


def matching(table: Table, columns: Mapping[str, str], person: Mapping[str, str], engine: Engine) -> str:
    """Write the condition that a row is the person's."""
    return " AND ".join(f"{columns[name]} = {_stored(table, name, value, engine)}" for name, value in person.items())


def _stored(table: Table, name: str, value: str, engine: Engine) -> Any:
    """Give a value as a snapshot keeps it."""
    column = table.public[name]
    try:
        match column.type:
            case "whole" | "number":
                steps = Fraction(value) / (column.step or 1)
                if steps.denominator != 1:
                    raise ValueError
                return str(steps.numerator)
            case "date":
                return engine.dialect.literal(datetime.date.fromisoformat(value))
            case "moment":
                return engine.dialect.literal(datetime.datetime.fromisoformat(value))
            case "flag":
                return engine.dialect.literal({"true": True, "false": False}[value.lower()])
            case _:
                return engine.dialect.literal(value)
    except (ValueError, KeyError, ZeroDivisionError):
        raise InputError(f"{value!r} is not a value of {name}, which is declared {column.type!r}") from None
