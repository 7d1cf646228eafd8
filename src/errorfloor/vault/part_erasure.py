"""Erasing a person from the parts of a table that grows: each part that has them is made anew, and the old one goes."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from errorfloor.catalogue.model import Catalogue
from errorfloor.engines import Engine
from errorfloor.errors import CatalogueError, EngineError, InputError
from errorfloor.vault.conversion import physical_names
from errorfloor.vault.erasure import (
    Erasure,
    check_one_owner,
    check_person,
    check_source,
    count_rows,
    matching,
    remainder,
)
from errorfloor.vault.parts import REMAINS, corrected_word, part_of
from errorfloor.vault.registration import checked_facts
from errorfloor.vault.snapshot import check_settled, declared, name_of, notes

Note = Mapping[str, Any]


def erase_from_parts(
    catalogue: Catalogue,
    table_name: str,
    person: Mapping[str, str],
    *,
    engine: Engine,
    doing: bool,
    entering: Callable[[Note], None] | None = None,
    destroying: Callable[[Note, Note], None] | None = None,
) -> Erasure:
    """Find out which parts hold rows of a person; with ``doing`` make their declared versions and destroy the others.

    *Guarantee*: every new version is whole before anything is destroyed; done again after a kill it goes on where it
    was; and when it returns no snapshot of the table on this engine has a row of the person. Where accounts are
    divided, rows of others in a version that goes are kept, under a name of their own: later parts are compared with
    them.

    Raises CatalogueError if a part holds the person in the version that is declared: the message says what to declare.
    """
    table = declared(catalogue, table_name)
    growth = table.grows_by
    assert growth is not None
    check_person(table_name, table, person)
    kept = {key: note for key, note in notes(engine).items() if note["table"] == table_name}
    holding = {
        key: count
        for key, note in kept.items()
        if (count := count_rows(engine, engine.relation(key), table, note["columns"], person))
    }
    if not holding:
        raise InputError(f"no registered part of {table_name} has such a row: there is nothing to erase here")
    check_one_owner(table_name, table, {key: kept[key] for key in holding}, person, engine)
    wanted = {part: growth.version(part, table.version) for key in holding if (part := part_of(kept[key])) is not None}
    still = sorted(part for part, version in wanted.items() if name_of(table_name, version, part) in holding)
    if still:
        raise CatalogueError(
            f"{len(still)} parts of {table_name} are declared in a version that holds these rows: declare a new one "
            f"for each, which is then made without them ({corrected_word(still)})",
            table=table_name,
            parts=still,
        )
    source = check_source(table_name, table, person, engine)
    missing = [part for part, version in wanted.items() if name_of(table_name, version, part) not in kept]
    bases = {part: _base(table_name, part, kept) for part in missing}
    for part in missing:
        check_settled(table_name, table, dict(kept[bases[part]]["declaration"]))
    told = {_called(kept[key]): count for key, count in holding.items()}
    found = Erasure(table_name, table.version, None, bool(missing), told, source)
    if not doing:
        return found
    engine.check_destroys()
    columns = physical_names(table)
    for part in missing:
        version, old = wanted[part], kept[bases[part]]
        stay = f"CASE WHEN {matching(table, old['columns'], person, engine)} THEN 1 ELSE 0 END = 0"
        shown = ", ".join(f"{old['columns'][one]} AS {physical}" for one, physical in columns.items())
        rows = f"SELECT {shown} FROM {engine.relation(bases[part])} WHERE {stay}"

        def note(relation: str, part: str = part, version: str = version) -> str:
            facts = checked_facts(table_name, table, relation, engine) | {"version": version, "parts": [part]}
            if entering is not None:
                entering(facts)
            return json.dumps(facts)

        engine.create(name_of(table_name, version, part), rows, note)
    there = notes(engine)
    for key in holding:
        old, part = kept[key], part_of(kept[key])
        goes_on = there[name_of(table_name, wanted[part], part)] if part is not None else old
        if table.divided_by and key not in bases.values():
            goes_on = remainder(old, matching(table, old["columns"], person, engine), engine, entering)
        if destroying is not None:
            destroying(old, goes_on)
        engine.destroy(key)
    for key, left in notes(engine).items():
        if left["table"] == table_name and count_rows(engine, engine.relation(key), table, left["columns"], person):
            raise EngineError(f"{_called(left)} of {table_name} still has these rows: erase again")
    return found


def _base(table_name: str, part: str, kept: Mapping[str, Note]) -> str:
    """Give the snapshot that a new version of a part is made from: the only one that there is."""
    found = [key for key, note in kept.items() if part_of(note) == part and REMAINS not in note]
    if len(found) > 1:
        versions = ", ".join(sorted(repr(kept[key]["version"]) for key in found))
        raise InputError(
            f"part {part} of {table_name} is registered in versions {versions}, and nobody says from which one the new "
            f"one is to be made: erase the person in the source, register the new version (errorfloor register "
            f"--corrections), then erase"
        )
    return found[0]


def _called(note: Note) -> str:
    part = part_of(note)
    return str(note["version"]) if part is None else f"{note['version']}, part {part}"
