"""Divided accounts: a version goes on with them once its rows were found in the cells where other versions have them.

*Guarantee* (``continuing.proof.md``): no two versions are charged to the same divided accounts unless they were
compared, row by row. The ledger knows which were, and charges no other.
"""

from collections.abc import Collection, Mapping
from typing import Any

from errorfloor.catalogue import Table
from errorfloor.charging.settling import Terms, table_terms
from errorfloor.engines import Engine
from errorfloor.errors import CatalogueError
from errorfloor.ledger import Ledger
from errorfloor.ledger.terms import KEPT, Pinned, division_of, successors
from errorfloor.vault.continuity import check_cells_stay, check_owners_stay, check_parts_stay, is_comparable
from errorfloor.vault.parts import part_of
from errorfloor.vault.snapshot import name_of, notes

Notes = Mapping[str, Mapping[str, Any]]


def check_versions(name: str, table: Table, ledger: Ledger, engine: Engine) -> None:
    """Refuse to go on where a version that others have to be compared with is not in the vault, or is not comparable.

    One that was destroyed to erase a person has successors, whose rows are in the same cells.
    """
    _check(name, table, ledger.pinned(name), _of(name, engine))


def compare(name: str, table: Table, ledger: Ledger, engine: Engine) -> None:
    """Compare the declared version with all others, if the vault has it and that was not done, and write it down.

    Of a table that grows, that is each part in its declared version.
    """
    known, pinned = _of(name, engine), ledger.pinned(name)
    mine = {key: note for key, note in _declared(name, table, known).items() if _mark(name, table, note) not in pinned}
    if not mine:
        return
    _check(name, table, pinned, known)
    others = {key: note for key, note in known.items() if key not in mine}
    if table.grows_by is None:
        (key,) = mine
        check_cells_stay(name, table, engine.relation(key), others, engine)
        check_owners_stay(name, table, [engine.relation(key)], others, engine)
    else:
        parts = {str(part_of(note)): engine.relation(key) for key, note in mine.items()}
        check_parts_stay(name, table, parts, others, engine)
    keep(name, table, {note["identity"] for note in others.values()}, ledger, engine)


def keep(name: str, table: Table, compared: Collection[str], ledger: Ledger, engine: Engine) -> None:
    """Write down that the declared version was compared with others, unless one that it should have been is missing."""
    known = _of(name, engine)
    mine = _declared(name, table, known)
    seen = {key: note for key, note in known.items() if key in mine or note["identity"] in compared}
    said = {"event": "kept", "table": name, "version": table.version}
    terms: Terms = {_mark(name, table, note): {"version": note["version"]} for note in mine.values()}
    ledger.enter(said, terms, lambda pinned: _check(name, table, pinned, seen))


def keep_upgraded(note: Mapping[str, Any], ledger: Ledger) -> None:
    """Write down that later versions are to be compared with one that an older ledger may have charged."""
    table, version = note["table"], note["version"]
    if division_of(ledger.terms((table,)) or {}) is not None:
        said = {"event": "kept", "table": table, "version": version}
        ledger.enter(said, {(table, KEPT, note["identity"]): {"version": version, "charged": True}})


def _declared(name: str, table: Table, known: Notes) -> Notes:
    """Give the notes of what is declared: of one snapshot, or of one for each part."""
    growth = table.grows_by
    if growth is None:
        keys = [name_of(name, table.version)]
    else:
        named = {key: part_of(note) for key, note in known.items()}
        keys = [
            key
            for key, part in named.items()
            if part is not None and known[key]["version"] == growth.version(part, table.version)
        ]
    return {key: known[key] for key in keys if key in known}


def _mark(name: str, table: Table, note: Mapping[str, Any]) -> tuple[str, ...]:
    return _path(name, table, note["identity"])


def _path(name: str, table: Table, identity: str) -> tuple[str, ...]:
    terms = table_terms(name, table)[name,]
    assert isinstance(terms, Mapping)
    division = division_of(terms)
    assert division is not None
    return name, KEPT, identity, division


def _of(name: str, engine: Engine) -> Notes:
    return {key: note for key, note in notes(engine).items() if note["table"] == name}


def _check(name: str, table: Table, pinned: Pinned, known: Notes) -> None:
    """Refuse unless every version that was charged, or compared under the same division, is known and comparable."""
    by_identity = {note["identity"]: note for note in known.values()}
    *_, division = _path(name, table, "")
    for path, value in pinned.items():
        match path:
            case (_, "snapshot", of, str(version), *_) if path[0] == of == name:
                identity, charged = value["identity"], True
            case (of, "kept", str(identity)) if of == name:
                version, charged = value["version"], "charged" in value
            case (of, "kept", str(identity), same) if of == name and same == division:
                version, charged = value["version"], True
            case _:
                continue
        found = [by_identity[one] for one in successors(identity, name, pinned) if one in by_identity]
        if not found:
            raise CatalogueError(
                f"version {version!r} of {name} was registered but is not in this vault, or was registered meanwhile: "
                f"accounts are divided, and nobody could tell whether rows stay in their cells. Put back the vault "
                f"that was in use, then register",
                table=name,
                version=version,
            )
        if charged and not any(is_comparable(table, note) for note in found):
            raise CatalogueError(
                f"version {version!r} of {name} was charged with another row key, or with other columns or types of "
                f"those that divide the accounts, so nobody could tell whether rows stay in their cells: declare "
                f"row key and columns as they were in version {version!r}",
                table=name,
                version=version,
            )
