"""Bring the ledger and the vault of a catalogue to this version: the same balances, under terms that are all pinned."""

import datetime
import json
import math
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from errorfloor.catalogue import Catalogue, PrivateColumn, allowance
from errorfloor.charging.settling import Terms, meaning
from errorfloor.engines import Engine, has_vault, open_engine
from errorfloor.errors import LedgerError
from errorfloor.identity import private_file
from errorfloor.ledger import open_anchor, open_ledger
from errorfloor.ledger.entry import JSON
from errorfloor.ledger.sql_ledger import place_of
from errorfloor.ledger.upgrade import OldLedger, add_shelf, upgrade
from errorfloor.service.continuing import keep_upgraded
from errorfloor.service.registering import enter, ledger_exists
from errorfloor.vault.registration import Entering
from errorfloor.vault.snapshot import FORMAT, settled

ENTITIES = [["entity", "name"]]  # how an older ledger marks the accounts of a stream


@dataclass(frozen=True)
class Upgrade:
    """What was done: records exported to a file and balances taken over (None: the ledger was new), and snapshots.

    ``shelf`` says that the ledger was given a place for what is released, and nothing else.
    """

    export: Path | None
    records: int
    balances: int
    snapshots: int
    shelf: bool = False

    def explain(self) -> str:
        """Say it in sentences."""
        if self.export is None and not self.snapshots and not self.shelf:
            return "Everything already has this version; nothing was changed."
        said = []
        if self.export is not None:
            said.append(
                f"Exported {self.records:,} records to {self.export}, then opened a new ledger with the balances of "
                f"{self.balances:,} accounts: what was spent stays spent, and what was stated stays true. Earlier "
                f"answers are not repeated: from now on the same question gets new noise, and is charged. Keep "
                f"the answers that you have."
            )
        if self.shelf:
            said.append(
                "Gave the ledger a place to keep what is released. Its records are unchanged, and earlier answers stay "
                "free: each is kept once it is asked again."
            )
        if self.snapshots:
            said.append(f"Brought the notes of {self.snapshots:,} snapshots in the vault to this version.")
        return " ".join(said)


def upgrade_all(catalogue: Catalogue, *, accept: bool = False) -> Upgrade:
    """Upgrade what a catalogue names; a second time does nothing. Nobody else may use ledger and vault meanwhile.

    The order is: export the old ledger; open the new one with its balances and with terms from the notes of every
    version that was charged, in one transaction; bring the notes to this version. ``accept`` goes on without the
    anchor, and where the vault has lost what a column was when it was charged: then it is as the catalogue declares it.

    Raises LedgerError, with advice, if the ledger is damaged, or the vault lacks what is needed; nothing is changed.
    """
    vault = _vault(catalogue)
    try:
        known = {} if vault is None else raw_notes(vault)
        place, folder = catalogue.place, catalogue.folder
        export: list[Path] = []

        def opening(old: OldLedger) -> tuple[Mapping[str, JSON], Terms]:
            terms = opening_terms(old, list(known.values()), catalogue, accept=accept)
            export.append(_export(folder / f"ledger-before-upgrade-{old.head.sequence}.jsonl", old))
            return {"opened_from_format": old.version, "export": export[-1].name}, terms

        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        shelf = add_shelf(place_of(place, folder))
        old = upgrade(place_of(place, folder), open_anchor(place, folder), opening, now=now, accept=accept)
        changed = 0
        if vault is not None and older(known):
            _check_ledger(catalogue, accept=accept)
            with open_ledger(place, folder, create=accept) as ledger:

                def entering(note: Mapping[str, Any]) -> None:
                    enter(ledger, note)
                    keep_upgraded(note, ledger)

                changed = upgrade_notes(vault, known, entering)
    finally:
        if vault is not None:
            vault.close()
    if old is None:
        return Upgrade(None, 0, 0, changed, shelf)
    return Upgrade(export[-1], len(old.records), len(old.totals), changed, shelf)


def _check_ledger(catalogue: Catalogue, *, accept: bool) -> None:
    if not accept and not ledger_exists(catalogue):
        raise LedgerError(
            "the vault has snapshots, but there is no ledger of what was charged for them: mount or restore it, then "
            "upgrade; only if nothing was ever asked of them, run errorfloor upgrade --accept, which makes one"
        )


def opening_terms(old: OldLedger, notes: Sequence[Mapping[str, Any]], catalogue: Catalogue, *, accept: bool) -> Terms:
    """Give the terms of a new ledger, from the terms of an old one and the notes of the versions that it charged.

    Where versions differ in what a column holds, the one whose floor allows least wins.
    """
    charged: dict[str, dict[str, None]] = {}  # versions by table, in the order in which they were first charged
    for record in old.records:
        table, version = record["note"].get("table"), record["note"].get("version")
        if isinstance(table, str) and isinstance(version, str):
            charged.setdefault(table, {}).setdefault(version)
    terms: Terms = {}
    for name in sorted({account.table for account in old.totals}):
        if not accept:
            _check_known(name, old, charged.get(name, {}), notes, catalogue)
        mine = [note for version in charged.get(name, ()) for note in notes if _is(note, name, version)]
        columns = sorted({a.column for a in old.totals if a.table == name and a.column})
        if old.terms[name].get("account_by") == ENTITIES:
            terms[name,] = {"account_by": [[*key, None] for key in ENTITIES], "owner": None}
        else:
            terms |= _table_terms(name, old, mine or [_as_declared(catalogue, name)])
        for column in columns:
            terms |= _column_terms(name, column, old, mine, catalogue)
        terms |= _snapshot_terms(name, old)
    return terms


def _check_known(
    name: str, old: OldLedger, versions: Iterable[str], notes: Sequence[Mapping[str, Any]], catalogue: Catalogue
) -> None:
    """Refuse to guess what was charged: every version must be in the vault, every stream in the catalogue."""
    advice = f"if {name} was always declared as the catalogue says now, run errorfloor upgrade --accept"
    if old.terms[name].get("account_by") == ENTITIES:
        if name not in catalogue.streams:
            raise LedgerError(
                f"the stream {name} was charged, but the catalogue does not declare it, so nobody can tell what "
                f"its floor is about: declare it again as it was; or, if it will never be used again, run errorfloor "
                f"upgrade --accept",
                table=name,
            )
        return
    for version in versions:
        if not any(_is(note, name, version) for note in notes):
            raise LedgerError(
                f"version {version} of {name} was charged, but the vault does not have it, so nobody can tell "
                f"what its floor is about: put back the vault that was in use; or, {advice}",
                table=name,
                version=version,
            )


def _as_declared(catalogue: Catalogue, name: str) -> Mapping[str, Any]:
    """Give the catalogue's word for a table whose notes are lost; a table that is gone has none."""
    table = catalogue.tables.get(name)
    return {"declaration": settled(table) if table else {"public": {}, "row_key": {"columns": []}}}


def _is(note: Mapping[str, Any], table: str, version: str) -> bool:
    return bool(note["table"] == table and note["version"] == version)


def _table_terms(name: str, old: OldLedger, notes: Sequence[Mapping[str, Any]]) -> Terms:
    said = old.terms[name]
    public = notes[-1]["declaration"]["public"]

    def key(column: str) -> list[JSON]:
        known = public.get(column, {})
        return [column, known.get("type"), known.get("resolution")]

    divided = said.get("account_by", [])
    terms: Terms = {
        (name,): {
            "row_key": [key(column) for column in notes[-1]["declaration"]["row_key"]["columns"]],
            "account_by": [key(one if isinstance(one, str) else one[0]) for one in divided],
            "owner": None if said.get("owner") is None else key(said["owner"]),
        }
    }
    floor = old.terms.get(f"{name}.owner floor")
    if said.get("owner") is not None and floor is not None:
        terms[name, "owner floor"] = dict(floor)
    return terms


def _column_terms(
    name: str,
    column: str,
    old: OldLedger,
    notes: Sequence[Mapping[str, Any]],
    catalogue: Catalogue,
) -> Terms:
    stream, table = catalogue.streams.get(name), catalogue.tables.get(name)
    columns = {} if table is None else table.private
    declared = (columns if stream is None else stream.private).get(column)
    floor = old.terms.get(f"{name}.{column} floor", {}).get("floor")
    if column == "owner" and old.terms[name].get("owner") is not None:
        floor = None  # an older ledger kept the owners' floor under this name
    if floor is None and declared is not None:
        floor = declared.floor
    fixed: dict[str, JSON] = dict(old.terms.get(f"{name}.{column}", {}))
    private: list[dict[str, Any]] = [note["declaration"]["private"] for note in notes]
    found: list[dict[str, Any]] = [columns[column] for columns in private if column in columns]
    if found:
        strictest = min(found, key=lambda one: _strictness(one, floor))
        fixed |= {**strictest, "outside": "clamped"}
    elif declared is not None:
        fixed |= meaning(declared)
    terms: Terms = {(name, "column", column): fixed}
    if floor is not None:
        terms[name, "floor", column] = {"floor": floor}
    return terms


def _snapshot_terms(name: str, old: OldLedger) -> Terms:
    terms: Terms = {}
    for said, value in old.terms.items():
        if "snapshot" in value and said.startswith(f"{name}."):
            table, _, version = said.removeprefix(f"{name}.").partition("@")
            terms[name, "snapshot", table, version] = {"identity": value["snapshot"]}
    return terms


def _strictness(column: Mapping[str, Any], floor: float | None) -> tuple[float, Fraction, Fraction]:
    """Give what orders declarations of one column: what the floor allows, then the coarser, then the narrower first."""
    low, high = map(Fraction, column["range"])
    step, most = Fraction(column["resolution"]), math.inf
    if floor is not None:
        try:
            most = allowance(PrivateColumn(range=(low, high), resolution=step, floor=floor))[0]
        except ValidationError:  # a floor that this range could not have: it allows nothing
            most = 0.0
    return most, -step, high - low


def _vault(catalogue: Catalogue) -> Engine | None:
    if not has_vault(catalogue.place, catalogue.folder):
        return None
    return open_engine(catalogue.place, catalogue.folder, read_only=False)


def _export(path: Path, old: OldLedger) -> Path:
    """Write the records of an old ledger, durably; a file that holds them already is left alone."""
    content = "".join(f"{json.dumps(record)}\n" for record in old.records).encode()
    if path.exists():
        if path.read_bytes() == content:
            return path
        raise LedgerError(f"{path} exists already and is something else: move it away, then upgrade")
    private_file.put(path, content)
    return path


def raw_notes(engine: Engine) -> dict[str, dict[str, Any]]:
    """Give the notes of all snapshots, of whatever version they are."""
    return {name: json.loads(text) for name, text in engine.recall_all().items() if name.startswith("s_")}


def older(notes: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Give the notes that an older version wrote."""
    return {name: note for name, note in notes.items() if note["format"] < FORMAT}


def upgrade_notes(engine: Engine, notes: Mapping[str, Mapping[str, Any]], entering: Entering) -> int:
    """Bring notes to this version, identities kept; give how many were not. One that was never drawn is drawn now.

    ``entering`` is told each note before it is kept: to enter the snapshot in the ledger, which older ones did not.
    """
    found = older(notes)
    for name, note in found.items():
        identity = note.get("identity") or secrets.token_hex(16)
        newer = {**note, "format": FORMAT, "identity": identity, "parts": []}
        entering(newer)
        engine.note_anew(name, json.dumps(newer))
    return len(found)
