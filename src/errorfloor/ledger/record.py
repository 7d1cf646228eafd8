"""Records: entries in a chain, so that none can be changed, dropped or moved without the last hash changing."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from errorfloor.errors import InputError, LedgerError
from errorfloor.ledger.entry import HASH, JSON, Entry, account_from_json, account_to_json, canonical
from errorfloor.ledger.total import Total
from errorfloor.pricing.accounts import Account

FORMAT = 2
PURPOSE = "errorfloor ledger record 2"  # no other hash is of something that begins so


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
    """What was written at once: the labels that it pays for, the charges, the terms that came with it, and its place.

    A record without labels opens a ledger with the balances of an older one, whose last hash it follows.

    >>> record = Record.after(EMPTY, Entry("ab" * 32, {}, {}), time="2026-01-01T00:00:00+00:00", terms={})
    >>> record.head.sequence, record.digest() == record.hash
    (1, True)
    >>> Record.from_json(record.to_json()) == record
    True
    """

    sequence: int
    time: str
    labels: tuple[str, ...]
    charges: Mapping[Account, Total]
    note: Mapping[str, JSON]
    terms: Mapping[str, JSON]
    previous: str
    hash: str

    @classmethod
    def after(cls, head: Head, entry: Entry, *, time: str, terms: Mapping[str, JSON]) -> "Record":
        """Chain an entry to a head."""
        charges = {account: Total.of(charge) for account, charge in entry.charges.items()}
        return cls._chained(head, time, entry.labels, charges, entry.note, terms)

    @classmethod
    def opening(
        cls,
        head: Head,
        charges: Mapping[Account, Total],
        *,
        time: str,
        note: Mapping[str, JSON],
        terms: Mapping[str, JSON],
    ) -> "Record":
        """Begin a ledger with balances, after the head of the ledger that they come from."""
        return cls._chained(head, time, (), charges, note, terms)

    @classmethod
    def _chained(
        cls,
        head: Head,
        time: str,
        labels: tuple[str, ...],
        charges: Mapping[Account, Total],
        note: Mapping[str, JSON],
        terms: Mapping[str, JSON],
    ) -> "Record":
        bare = cls(head.sequence + 1, time, labels, charges, note, terms, head.hash, "")
        return replace(bare, hash=bare.digest())

    @property
    def head(self) -> Head:
        """Where the ledger stands once this record is its last."""
        return Head(self.sequence, self.hash)

    def digest(self) -> str:
        """Compute the hash again from what the record says."""
        plain = {name: value for name, value in self.to_json().items() if name != "hash"}
        return hashlib.sha256(f"{PURPOSE} {canonical('record', plain)}".encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Give the record as plain data, one line of an export."""
        return {
            "format": FORMAT,
            "sequence": self.sequence,
            "time": self.time,
            "labels": list(self.labels),
            "charges": charges_to_json(self.charges),
            "note": self.note,
            "terms": self.terms,
            "previous": self.previous,
            "hash": self.hash,
        }

    @classmethod
    def from_json(cls, plain: Any) -> "Record":
        """Read what ``to_json`` gave; raises LedgerError if it is not that."""
        match plain:
            case {
                "format": 2,
                "sequence": int(sequence),
                "time": str(time),
                "labels": list(labels),
                "charges": list(charges),
                "note": dict(note),
                "terms": dict(terms),
                "previous": str(previous),
                "hash": str(digest),
            }:
                try:
                    if all(HASH.fullmatch(label) for label in labels):
                        told = charges_from_json(charges)
                        return cls(sequence, time, tuple(labels), told, note, terms, previous, digest)
                except (InputError, TypeError, ValueError):
                    pass
                raise LedgerError(f"record {sequence} is damaged: restore the ledger from its newest export")
            case {"sequence": int(), "label": str(), "charges": list()}:
                raise LedgerError(
                    "this export was written by an older errorfloor: restore it with that version, then run errorfloor "
                    "upgrade with this one"
                )
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


def charges_to_json(charges: Mapping[Account, Total]) -> list[list[dict[str, str]]]:
    """Give charges as sorted pairs of an account and its amounts by coordinate."""
    return [[account_to_json(account), charges[account].to_json()] for account in sorted(charges)]


def charges_from_json(pairs: Sequence[Any]) -> dict[Account, Total]:
    """Read pairs of charges; raises ValueError if an account is named twice, or something is not a pair."""
    charges = {account_from_json(account): Total.from_json(amounts) for account, amounts in pairs}
    if len(charges) != len(pairs):
        raise ValueError("an account is named twice")
    return charges
