"""Entries: what is charged under a label, with a note of public facts; and the chained records that they become."""

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from errorfloor.accounts import Account, Charge
from errorfloor.errors import InputError, LedgerError
from errorfloor.ledger.quotas import holder_words
from errorfloor.ledger.total import Total

JSON = None | bool | int | float | str | Sequence["JSON"] | Mapping[str, "JSON"]
HASH = re.compile(r"[0-9a-f]{64}")
FORMAT = 2
PURPOSE = "errorfloor ledger record 2"  # no other hash is of something that begins so


@dataclass(frozen=True)
class Entry:
    """What an answer costs: its label (a SHA-256 in hexadecimal), the charges, and a note of public facts.

    ``more`` are further labels that the same charge pays for. It is free if all of its labels were paid for before; if
    only some were, the entry that ``part`` gives for the others is charged or, without it, the whole charge is made.

    The note says what a custodian needs to read the ledger, such as the output's name and the table's version; it must
    not hold the text of the question. Raises InputError for a label that is no hash, a charge that is negative or not
    finite, a note that is not JSON.

    >>> entry = Entry("ab" * 32, {Account("meters", "kwh", ""): Charge(0.5, 0.0)}, {"output": "avg_kwh"})
    >>> entry.note
    {'output': 'avg_kwh'}
    >>> Entry("x", {}, {})
    Traceback (most recent call last):
    errorfloor.errors.InputError: a label must be 64 hexadecimal digits, got 'x'
    """

    label: str
    charges: Mapping[Account, Charge]
    note: Mapping[str, JSON]
    more: tuple[str, ...] = ()
    part: Callable[[Sequence[str]], "Entry"] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        for label in self.labels:
            if not isinstance(label, str) or not HASH.fullmatch(label):
                raise InputError(f"a label must be 64 hexadecimal digits, got {label!r}")
        if len(set(self.labels)) < len(self.labels):
            raise InputError("an entry names a label twice")
        charges = {}
        for account, charge in self.charges.items():
            check_account(account)
            check_charge(f"the charge to {account_name(account)}", charge)
            charges[account] = Charge.of(
                {name: float(amount) for name, amount in charge.amounts().items()}, charge.profile
            )
        object.__setattr__(self, "charges", charges)
        object.__setattr__(self, "note", json.loads(canonical("note", self.note)))

    @property
    def labels(self) -> tuple[str, ...]:
        """All that the charge pays for."""
        return (self.label, *self.more)

    def of(self, labels: Sequence[str]) -> "Entry":
        """Give what some of its labels cost together."""
        if self.part is not None and len(labels) < len(self.labels):
            return self.part(labels)
        return replace(self, label=labels[0], more=tuple(labels[1:]))


def canonical(name: str, value: object) -> str:
    """Write a JSON object in the one way that compares and hashes.

    >>> canonical("note", {"b": 1, "a": (True, None)})
    '{"a":[true,null],"b":1}'
    """
    if not isinstance(value, Mapping):
        raise InputError(f"{name} must be a JSON object, got {type(value).__name__}")
    return json.dumps(_plain(name, value), sort_keys=True, separators=(",", ":"))


def _plain(name: str, value: object) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case float() if math.isfinite(value):
            return value
        case list() | tuple():
            return [_plain(name, item) for item in value]
        case Mapping() if all(isinstance(key, str) for key in value):
            return {key: _plain(name, item) for key, item in value.items()}
        case _:
            raise InputError(
                f"{name} must be JSON (text, finite numbers, true or false, lists, objects with text names), "
                f"got {value!r}"
            )


def account_name(account: Account) -> str:
    """Name an account in words.

    >>> account_name(Account("meters", "kwh", '["standard"]')), account_name(Account("meters", "", ""))
    ('meters.kwh for ["standard"]', 'the owners of meters')
    >>> account_name(Account("meters", "kwh", "", '["analyst_month", "ada", "2026-11"]'))
    'the quota of analyst ada in month 2026-11 of meters.kwh'
    """
    name = f"{account.table}.{account.column}" if account.column else f"the owners of {account.table}"
    name = f"{name} for {account.cell}" if account.cell else name
    return f"the quota of {holder_words(account.holder)} of {name}" if account.holder else name


def account_to_json(account: Account) -> dict[str, str]:
    """Give the texts that make an account, without those that are empty.

    >>> account_to_json(Account("meters", "kwh", ""))
    {'table': 'meters', 'column': 'kwh'}
    """
    parts = {"table": account.table, "column": account.column, "cell": account.cell, "holder": account.holder}
    return {name: text for name, text in parts.items() if text}


def account_from_json(plain: Mapping[str, str]) -> Account:
    """Read what ``account_to_json`` gave; raises TypeError or InputError if it is not that."""
    account = Account(**{"column": "", "cell": "", **plain})
    check_account(account)
    return account


def account_key(account: Account) -> str:
    """Give the digest that an account is found by, however long its cell is."""
    return hashlib.sha256(canonical("account", account_to_json(account)).encode()).hexdigest()


def check_account(account: Account) -> None:
    """Refuse an account whose names a database cannot hold as they are."""
    for text in (account.table, account.column, account.cell, account.holder):
        if not isinstance(text, str) or "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
            raise InputError(f"the table, column, cell and holder of an account must be plain text, got {text!r}")
    if not account.table:
        raise InputError("an account must name its table, got ''")


def check_charge(name: str, charge: Charge) -> None:
    """Refuse a charge or an allowance that is negative, not a number or without end."""
    for what, value in charge.amounts().items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise InputError(f"{name} must be finite and not negative, got {what} {value!r}")


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


class Tail(NamedTuple):
    """Where a ledger stands, and the time of its last record ("" if there is none)."""

    head: Head = EMPTY
    time: str = ""


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
        return cls.opening(head, charges, time=time, note=entry.note, terms=terms, labels=entry.labels)

    @classmethod
    def opening(
        cls,
        head: Head,
        charges: Mapping[Account, Total],
        *,
        time: str,
        note: Mapping[str, JSON],
        terms: Mapping[str, JSON],
        labels: tuple[str, ...] = (),
    ) -> "Record":
        """Begin a ledger with balances, after the head of the ledger that they come from; or, with a label, go on."""
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
