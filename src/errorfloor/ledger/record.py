"""Records: entries in a chain, so that none can be changed, dropped or moved without the last hash changing."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from errorfloor.errors import InputError, LedgerError
from errorfloor.identity import encode
from errorfloor.ledger.entry import HASH, JSON, Entry, account_parts, canonical
from errorfloor.pricing.accounts import Account, Charge

PURPOSE = "errorfloor ledger record 1"  # no other hash is of something that begins so


@dataclass(frozen=True)
class Head:
    """Where a ledger stands: how many records it has, and the hash of the last, which stands for all of them.

    >>> Head.from_text(Head(1, "ab" * 32).to_text()).sequence
    1
    """

    sequence: int
    hash: str

    def to_text(self) -> str:
        """Write the head as one line of JSON."""
        return json.dumps({"format": 1, "sequence": self.sequence, "hash": self.hash}) + "\n"

    @classmethod
    def from_text(cls, text: str) -> "Head":
        """Read what ``to_text`` wrote; raises ValueError for anything else."""
        match json.loads(text):
            case {"format": 1, "sequence": int(sequence), "hash": str(digest)} if (
                sequence >= 0 and HASH.fullmatch(digest) and (sequence == 0) == (digest == EMPTY.hash)
            ):
                return cls(sequence, digest)
            case _:
                raise ValueError("not a head")


EMPTY = Head(0, "0" * 64)


@dataclass(frozen=True)
class Record:
    """An entry in its place: number, time, the terms that came with it, the hash before it and its own.

    >>> record = Record.after(EMPTY, Entry("ab" * 32, {}, {}), time="2026-01-01T00:00:00+00:00", terms={})
    >>> record.head.sequence, record.digest() == record.hash
    (1, True)
    >>> Record.from_json(record.to_json()) == record
    True
    """

    sequence: int
    time: str
    entry: Entry
    terms: Mapping[str, JSON]
    previous: str
    hash: str

    @classmethod
    def after(cls, head: Head, entry: Entry, *, time: str, terms: Mapping[str, JSON]) -> "Record":
        """Chain an entry to a head."""
        place = head.sequence + 1
        return cls(place, time, entry, terms, head.hash, _digest(place, time, entry, terms, head.hash))

    @property
    def head(self) -> Head:
        """Where the ledger stands once this record is its last."""
        return Head(self.sequence, self.hash)

    def digest(self) -> str:
        """Compute the hash again from what the record says."""
        return _digest(self.sequence, self.time, self.entry, self.terms, self.previous)

    def to_json(self) -> dict[str, Any]:
        """Give the record as plain data, one line of an export."""
        return {
            "sequence": self.sequence,
            "time": self.time,
            "label": self.entry.label,
            "charges": charges_to_json(self.entry.charges),
            "note": self.entry.note,
            "terms": self.terms,
            "previous": self.previous,
            "hash": self.hash,
        }

    @classmethod
    def from_json(cls, plain: Any) -> "Record":
        """Read what ``to_json`` gave; raises LedgerError if it is not that."""
        match plain:
            case {
                "sequence": int(sequence),
                "time": str(time),
                "label": str(label),
                "charges": list(charges),
                "note": dict(note),
                "terms": dict(terms),
                "previous": str(previous),
                "hash": str(digest),
            }:
                try:
                    return cls(sequence, time, Entry(label, charges_from_json(charges), note), terms, previous, digest)
                except (InputError, TypeError, ValueError):
                    pass
                raise LedgerError(f"record {sequence} is damaged: restore the ledger from its newest export")
            case _:
                raise LedgerError(
                    "this is not a record of a ledger: give the lines that errorfloor ledger export wrote"
                )


def follow(head: Head, records: Iterable[Record]) -> Head:
    """Check that records follow a head, one after the other, unchanged; give the head after the last.

    >>> record = Record.after(EMPTY, Entry("ab" * 32, {}, {}), time="now", terms={})
    >>> follow(EMPTY, [record]) == record.head
    True
    """
    for record in records:
        if record.sequence != head.sequence + 1:
            raise LedgerError(
                f"record {head.sequence + 1} is missing (after it comes {record.sequence}): restore the ledger from "
                f"its newest export",
                sequence=head.sequence + 1,
            )
        if record.previous != head.hash or record.digest() != record.hash:
            raise LedgerError(
                f"record {record.sequence} is not what was written, or does not follow the one before it: restore the "
                f"ledger from its newest export",
                sequence=record.sequence,
            )
        head = record.head
    return head


def charges_to_json(charges: Mapping[Account, Charge]) -> list[list[Any]]:
    """Give charges as sorted rows; JSON keeps every digit of a number."""
    return [[*account_parts(account), charges[account].information, charges[account].evaluation]
            for account in sorted(charges)]  # fmt: skip


def charges_from_json(rows: Sequence[Sequence[Any]]) -> dict[Account, Charge]:
    """Read rows of charges; raises ValueError if an account is named twice, or a row has too few or too many parts."""
    if any(len(row) not in (5, 6) for row in rows):
        raise ValueError("a row of charges has an account of three or four parts, and two amounts")
    charges = {Account(*row[:-2]): Charge(*row[-2:]) for row in rows}
    if len(charges) != len(rows):
        raise ValueError("an account is named twice")
    return charges


def _digest(sequence: int, time: str, entry: Entry, terms: Mapping[str, JSON], previous: str) -> str:
    charges = tuple(tuple(row) for row in charges_to_json(entry.charges))
    texts = (canonical("note", entry.note), canonical("terms", terms))
    return hashlib.sha256(encode((PURPOSE, sequence, previous, time, entry.label, charges, *texts))).hexdigest()
