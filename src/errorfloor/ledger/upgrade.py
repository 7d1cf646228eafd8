"""From a ledger of an older version to one of this version: the same balances, after the same history.

An older ledger has one record per label, charges of two numbers, and terms under names with dots. It is read once,
checked record by record, and followed by one record of this version that opens the new tables with its balances. The
new record takes the next number and follows the last hash, so that the anchor, which never goes back, goes on.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from errorfloor.accounts import Account, Charge
from errorfloor.errors import InputError, LedgerError
from errorfloor.identity import encode
from errorfloor.ledger import tables
from errorfloor.ledger.anchor import Anchor
from errorfloor.ledger.book import Book
from errorfloor.ledger.connections import LedgerConnection
from errorfloor.ledger.entry import EMPTY, JSON, Head, Record, canonical
from errorfloor.ledger.sql_ledger import LedgerStore
from errorfloor.ledger.terms import Path as TermPath
from errorfloor.ledger.terms import term_name, texts
from errorfloor.ledger.total import Total

PURPOSE = "errorfloor ledger record 1"
PATIENCE = 30.0
SHELFLESS = 4  # the version that lacks nothing but a place for what was released
FIELDS = ("sequence", "time", "label", "charges", "note", "terms", "previous", "hash")


@dataclass(frozen=True)
class OldLedger:
    """What an older ledger says: its records as they were exported, and what follows from them."""

    version: int
    head: Head
    time: str
    records: list[dict[str, Any]]
    totals: Mapping[Account, Total]
    terms: Mapping[str, Mapping[str, Any]]  # by the names of that version, such as "meters.kwh floor"


Opening = Callable[[OldLedger], tuple[Mapping[str, JSON], Mapping[TermPath, object]]]


def upgrade(place: str | Path, anchor: Anchor, opening: Opening, *, now: str, accept: bool = False) -> OldLedger | None:
    """Bring a ledger to this version, all of it or nothing; None if it is of this version, or there is none.

    ``opening`` gives the note and the terms that the new ledger begins with; what it does before it returns, such as
    writing an export, is done before anything is changed. ``accept`` takes a ledger whose anchor is missing.

    Guarantee: every balance is what it was, exactly, all information in A2; labels are not taken over, so that whatever
    was answered before is another draw and another charge from now on.

    Raises LedgerError if the old ledger is damaged, older than its anchor, or of a newer version than this one.
    """
    with closing(LedgerStore(place, patience=PATIENCE)) as database:
        found = database.version()
        if found in (0, tables.VERSION):
            return None
        if found > tables.VERSION:
            database.prepare(create=False)  # says so

        def work(connection: LedgerConnection) -> tuple[OldLedger, Head]:
            old = _read(connection, found)
            _check(old, anchor, accept)
            note, fixed = opening(old)
            kept = texts(fixed)
            missing = sorted({account.table for account in old.totals if term_name(account.table) not in kept})
            if missing:
                raise InputError(f"terms must say what the accounts of {missing[0]} mean")
            terms = {name: json.loads(value) for name, value in kept.items()}
            record = Record.opening(old.head, old.totals, time=max(now, old.time), note=note, terms=terms)
            for name in ("entries", "accounts", "terms", "schema"):
                connection.run(f"DROP TABLE @{name}")
            tables.create(connection)
            Book(connection).append([record], old.totals, kept)
            return old, record.head

        old, head = database.run(work, "write")
        anchor.advance(head)
        return old


def add_shelf(place: str | Path) -> bool:
    """Bring a ledger of the version before this one to this version; say whether it was one.

    Guarantee: its records stay as they are. What was answered before is drawn again when it is asked again, free and
    alike, and kept from then on.
    """
    with closing(LedgerStore(place, patience=PATIENCE)) as database:
        found = database.version()
        if found == SHELFLESS:
            database.run(tables.add_shelf, "write")
        return found == SHELFLESS


def _check(old: OldLedger, anchor: Anchor, accept: bool) -> None:
    kept = anchor.read()
    if kept is None:
        if old.head.sequence > 0 and not accept:
            raise anchor.missing(old.head)
    elif kept.sequence > old.head.sequence:
        raise anchor.older(kept, old.head)
    elif kept.sequence > 0 and old.records[kept.sequence - 1]["hash"] != kept.hash:
        raise anchor.disagrees(kept)


def _read(connection: LedgerConnection, version: int) -> OldLedger:
    """Replay an older ledger: the chain, the sums and the terms."""
    rows = connection.run(f"SELECT {', '.join(FIELDS)} FROM @entries ORDER BY sequence")
    head, time, records = EMPTY, "", []
    totals: dict[Account, Total] = {}
    terms: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        record = _record(row)
        follows = (record["sequence"], record["previous"]) == (head.sequence + 1, head.hash)
        if not follows or _digest(record) != record["hash"]:
            raise _damaged(head.sequence + 1)
        records.append(record)
        head, time = Head(record["sequence"], record["hash"]), record["time"]
        terms |= record["terms"]
        for *account, information, evaluation in record["charges"]:
            charged = Account(*account)
            totals[charged] = totals.get(charged, Total()).plus(Charge(information, evaluation))
    return OldLedger(version, head, time, records, {a: t for a, t in totals.items() if t}, terms)


def _record(row: dict[str, Any]) -> dict[str, Any]:
    try:
        return row | {name: json.loads(row[name]) for name in ("charges", "note", "terms")}
    except ValueError:
        raise _damaged(row["sequence"]) from None


def _digest(record: Mapping[str, Any]) -> str:
    charges = tuple((*row[:-2], float(row[-2]), float(row[-1])) for row in record["charges"])
    place = (PURPOSE, record["sequence"], record["previous"], record["time"], record["label"], charges)
    said = (canonical("note", record["note"]), canonical("terms", record["terms"]))
    return hashlib.sha256(encode((*place, *said))).hexdigest()


def _damaged(sequence: int) -> LedgerError:
    return LedgerError(
        f"record {sequence} is missing or not what was written: restore the ledger, with the errorfloor that wrote it, "
        f"from its newest export",
        sequence=sequence,
    )
