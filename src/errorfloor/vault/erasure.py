"""Erasing a person: a new version without their rows is registered from the old one, and every snapshot with them goes.

Answers stay what they are: numbers with noise, charged for good. What was answered from a snapshot that is destroyed
can no longer be drawn again.
"""

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from errorfloor.catalogue.model import Catalogue, Table
from errorfloor.engines import Engine
from errorfloor.errors import CatalogueError, EngineError, InputError
from errorfloor.vault.conversion import physical_names
from errorfloor.vault.parts import REMAINS, corrected_word, part_of
from errorfloor.vault.person import check_one_owner, check_person, check_source, count, matching, others
from errorfloor.vault.registration import Entering, checked_facts, facts_of
from errorfloor.vault.snapshot import check_settled, declared, name_of, notes

Note = Mapping[str, Any]
REMAINDER = " (without those who were erased)"  # after the name of a version


@dataclass(frozen=True)
class Erasure:
    """What holds rows of a person, and what becomes of it.

    ``holding`` has the versions, or parts in a version, that hold some, and how many; ``version`` is the one declared,
    and ``made`` says whether something has to be made, of a table that does not grow from the version ``base``.

    >>> Erasure("meters", "2014", "2013", True, {"2013": 365}, "has no such row").holding
    {'2013': 365}
    """

    table: str
    version: str
    base: str | None
    made: bool
    holding: Mapping[str, int]
    source: str


@dataclass(frozen=True)
class _Found:
    """The snapshots of a table that hold rows of a person, and what is to be made in their place.

    A table that grows has a snapshot for each version of each part; of another one the only part is None. ``wanted``
    has the version that is declared for each part that holds such rows, ``bases`` the snapshots that those are made
    from which are not there yet.
    """

    table_name: str
    table: Table
    kept: Mapping[str, Note]
    holding: Mapping[str, int]
    wanted: Mapping[str | None, str]
    bases: Mapping[str | None, str]
    source: str

    def name_of(self, part: str | None) -> str:
        """Give the physical name of the version of a part that is declared."""
        return name_of(self.table_name, self.wanted[part], part)

    @property
    def erasure(self) -> Erasure:
        """The same in words for whoever asked for it."""
        told = sorted((_called(self.kept[key]), count) for key, count in self.holding.items())
        base = str(self.kept[self.bases[None]]["version"]) if None in self.bases else None
        return Erasure(self.table_name, self.table.version, base, bool(self.bases), dict(told), self.source)


def plan_erasure(
    catalogue: Catalogue, table_name: str, person: Mapping[str, str], *, engine: Engine, base: str | None = None
) -> Erasure:
    """Find out what holds rows of a person; nothing is changed.

    ``person`` has values of the owner's column, or of columns of the row key, as texts; ``base`` is the version that
    the declared one is made from, the only one there is unless given.

    Raises InputError if a column is neither the owner's nor of the row key, a value cannot be one, or no snapshot has
    such a row; CatalogueError if a declared version holds the person itself, or the source still does: nothing is
    erased by halves.

    >>> plan_erasure(Catalogue(tables={}), "meters", {"household": "H0042"}, engine=None)
    Traceback (most recent call last):
    errorfloor.errors.CatalogueError: there is no table 'meters' in the catalogue; it declares none
    """
    return _found(catalogue, table_name, person, engine, base).erasure


def _found(
    catalogue: Catalogue, table_name: str, person: Mapping[str, str], engine: Engine, base: str | None
) -> _Found:
    table = declared(catalogue, table_name)
    if table.hides_records:
        raise CatalogueError(
            f"{table_name} protects records, and its snapshots do not say whose their rows are: erase the person in "
            f"the source, register a new version, and destroy the vault's older ones",
            table=table_name,
        )
    growth = table.grows_by
    check_person(table_name, table, person)
    kept = {key: note for key, note in notes(engine).items() if note["table"] == table_name}
    if growth is None and any(note["parts"] for note in kept.values()):
        raise CatalogueError(
            f"{table_name} was registered in parts, and is declared without grows_by: declare grows_by as it was, with "
            f"which each part is erased from",
            table=table_name,
        )
    counts = {key: count(engine.relation(key), one["columns"], table, person, engine) for key, one in kept.items()}
    holding = {key: found for key, found in counts.items() if found}
    if not holding:
        what = "version" if growth is None else "part"
        raise InputError(f"no registered {what} of {table_name} has such a row: there is nothing to erase here")
    check_one_owner(table_name, table, {key: kept[key] for key in holding}, person, engine)
    wanted: dict[str | None, str] = {None: table.version}
    if growth is not None:
        parts = {part for key in holding if (part := part_of(kept[key])) is not None}
        wanted = {part: growth.version(part, table.version) for part in sorted(parts)}
    _check_not_declared(table_name, table, wanted, holding)
    source = check_source(table_name, table, person, engine)
    missing = [part for part, version in wanted.items() if name_of(table_name, version, part) not in kept]
    bases = {part: _base(table_name, table, part, kept, base) for part in missing}
    for key in bases.values():
        check_settled(table_name, table, dict(kept[key]["declaration"]))
    return _Found(table_name, table, kept, holding, wanted, bases, source)


def erase(
    catalogue: Catalogue,
    table_name: str,
    person: Mapping[str, str],
    *,
    engine: Engine,
    base: str | None = None,
    entering: Entering | None = None,
    destroying: Callable[[Note, Note], None] | None = None,
) -> Erasure:
    r"""Erase a person from the snapshots of a table; done again after a kill it goes on where it was.

    *Guarantee*: every new version is whole before anything is destroyed, and when this returns no snapshot of the table
    on this engine has a row of the person.

    Where accounts are divided, the other rows of every version that goes are kept under a name of their own:
    later versions, or parts, are compared with their cells.

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
    found = _found(catalogue, table_name, person, engine, base)
    table, kept = found.table, found.kept
    engine.check_destroys()
    for part, key in found.bases.items():
        _make_without(found, part, kept[key], person, engine, entering)
    there = notes(engine)
    for key in found.holding:
        old, part = kept[key], part_of(kept[key])
        goes_on = there[found.name_of(part)] if part in found.wanted else old
        if table.divided_by and key not in found.bases.values():
            goes_on = _remainder(old, matching(table, old["columns"], person, engine), engine, entering)
        if destroying is not None:
            destroying(old, goes_on)
        engine.destroy(key)
    for key, left in notes(engine).items():
        if left["table"] == table_name and count(engine.relation(key), left["columns"], table, person, engine):
            raise EngineError(f"version {_called(left)} of {table_name} still has these rows: erase again")
    return found.erasure


def _make_without(
    found: _Found, part: str | None, old: Note, person: Mapping[str, str], engine: Engine, entering: Entering | None
) -> None:
    """Make the declared version of a part, or of the whole table, from an older one without the rows of a person."""
    table_name, table = found.table_name, found.table
    shown = ", ".join(f"{old['columns'][one]} AS {physical}" for one, physical in physical_names(table).items())
    rows = engine.relation(name_of(table_name, old["version"], part))
    stay = others(matching(table, old["columns"], person, engine))

    def note(relation: str) -> str:
        if part is None:
            facts = facts_of(table_name, table, relation, engine)
        else:
            facts = checked_facts(table_name, table, relation, engine)
            facts |= {"version": found.wanted[part], "parts": [part]}
        if entering is not None:
            entering(facts)
        return json.dumps(facts)

    engine.create(found.name_of(part), f"SELECT {shown} FROM {rows} WHERE {stay}", note)


def _base(table_name: str, table: Table, part: str | None, kept: Mapping[str, Note], chosen: str | None) -> str:
    """Give the snapshot that a new version is made from: the one that was chosen, or the only one that there is."""
    found = {str(note["version"]): key for key, note in kept.items() if part_of(note) == part and REMAINS not in note}
    versions = ", ".join(map(repr, sorted(found)))
    if part is None and (chosen in found or (chosen is None and len(found) == 1)):
        return found[chosen or next(iter(found))]
    if part is None:
        raise InputError(
            f"{table_name} is registered in versions {versions}: name the one that {table.version!r} is to be made "
            f"from (--base)"
        )
    if len(found) > 1:
        raise InputError(
            f"part {part} of {table_name} is registered in versions {versions}, and nobody says from which one the new "
            f"one is to be made: erase the person in the source, register the new version (errorfloor register "
            f"--corrections), then erase"
        )
    return next(iter(found.values()))


def _called(note: Note) -> str:
    part = part_of(note)
    return str(note["version"]) if part is None else f"{note['version']}, part {part}"


def _remainder(old: Note, person: str, engine: Engine, entering: Entering | None) -> Note:
    """Keep the other rows of a version that is to be destroyed: later ones are compared with the cells of these.

    Nobody declares it, so that it is not asked.
    """
    version, kept, part = f"{old['version']}{REMAINDER}", notes(engine), part_of(old)
    while (there := kept.get(name_of(old["table"], version, part))) and there.get(REMAINS) != old["identity"]:
        version += REMAINDER  # a version of that name may have been declared
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
        engine.create(name, f"SELECT {columns} FROM {relation} WHERE {others(person)}", note)
    return notes(engine)[name]


def _check_not_declared(
    table_name: str, table: Table, wanted: Mapping[str | None, str], holding: Mapping[str, int]
) -> None:
    """Refuse to erase from a version that is declared: what is declared is asked, and never changes."""
    still = sorted(str(part) for part, version in wanted.items() if name_of(table_name, version, part) in holding)
    if still and table.grows_by is None:
        raise CatalogueError(
            f"version {table.version!r} of {table_name} is declared, and holds these rows: declare a new version, "
            f"which is then made without them",
            table=table_name,
            version=table.version,
        )
    if still:
        raise CatalogueError(
            f"{len(still)} parts of {table_name} are declared in a version that holds these rows: declare a new one "
            f"for each, which is then made without them ({corrected_word(still)})",
            table=table_name,
            parts=still,
        )
