"""Books: what a ledger reads and writes inside one transaction, and which snapshots belong to it.

Registration writes snapshots down, and no other is ever charged. Without this a ledger that was never charged would
pass for the one that a snapshot was charged in: a disk that is not mounted, another house's ledger, an older copy.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, final

from errorfloor.accounts import Account
from errorfloor.errors import CatalogueError, LedgerError
from errorfloor.ledger.entry import EMPTY, Head, Record
from errorfloor.ledger.shelf import MemoryShelf, Shelf
from errorfloor.ledger.total import Total

Pinned = Mapping[tuple[str, ...], Mapping[str, Any]]
REGISTERED, KEPT, SOURCE, ERASED, GONE = "registered", "kept", "source", "erased", "gone"  # what paths are called
RECORDS = "protects records"  # of a table whose secret is who is there


class Deposit(NamedTuple):
    """A snapshot as a ledger knows it: its table, its version, and the identity that was drawn for it.

    >>> Deposit("meters", "2013", "5eed").path
    ('meters', 'registered', '5eed')
    """

    table: str
    version: str
    identity: str

    @property
    def path(self) -> tuple[str, ...]:
        """Where the terms say that it belongs to the ledger."""
        return self.table, REGISTERED, self.identity


class Book(ABC):
    """Everything that is written down, as one transaction sees it. Terms are canonical JSON texts by name."""

    @property
    @abstractmethod
    def shelf(self) -> Shelf:
        """What was released for what is charged."""

    @abstractmethod
    def tail(self) -> tuple[Head, str]:
        """Where the ledger stands, and the time of its last record ("" if there is none)."""

    @final
    def head(self) -> Head:
        """Where the ledger stands."""
        return self.tail()[0]

    @abstractmethod
    def start(self) -> Head:
        """Where the ledger stood before its first record: nowhere, or at the end of an older one."""

    @abstractmethod
    def hash_at(self, sequence: int) -> str | None:
        """The hash of one record; None if there is no such record."""

    @abstractmethod
    def known(self, labels: Collection[str]) -> set[str]:
        """Those labels that are charged already."""

    @abstractmethod
    def labels(self) -> Iterator[tuple[str, int]]:
        """Every label that is charged, with the number of the record that pays for it."""

    @abstractmethod
    def found(self, labels: Collection[str]) -> dict[str, Record]:
        """The records with those labels; a label that was never charged is left out."""

    @abstractmethod
    def totals(
        self, accounts: Collection[Account] | None = None, *, of: str | None = None, holder: str | None = None
    ) -> dict[Account, Total]:
        """The totals of accounts, or of all those of a table and a holder; one that was never charged is left out."""

    @abstractmethod
    def terms(self, names: Collection[str] | None = None) -> dict[str, str]:
        """The terms of those names, or all; those that were never fixed are left out."""

    @abstractmethod
    def records(self, after: int = 0, limit: int | None = None) -> Iterator[Record]:
        """The records after one number, in order, at most ``limit`` of them."""

    @abstractmethod
    def append(self, records: Sequence[Record], totals: Mapping[Account, Total], terms: Mapping[str, str]) -> None:
        """Write records, the new totals of the accounts that they charge, and the terms that they fix."""


class MemoryBook(Book):
    """A book that is forgotten with its process."""

    def __init__(self) -> None:
        self._shelf = MemoryShelf()
        self._records: list[Record] = []
        self._labels: dict[str, Record] = {}
        self._totals: dict[Account, Total] = {}
        self._terms: dict[str, str] = {}

    @property
    def shelf(self) -> Shelf:
        """What was released for what is charged."""
        return self._shelf

    def tail(self) -> tuple[Head, str]:
        """Where the ledger stands, and the time of its last record."""
        return (self._records[-1].head, self._records[-1].time) if self._records else (EMPTY, "")

    def start(self) -> Head:
        """Where the ledger stood before its first record."""
        return EMPTY

    def hash_at(self, sequence: int) -> str | None:
        """The hash of one record; None if there is no such record."""
        if sequence == 0:
            return EMPTY.hash
        return self._records[sequence - 1].hash if sequence <= len(self._records) else None

    def known(self, labels: Collection[str]) -> set[str]:
        """Those labels that are charged already."""
        return self._labels.keys() & set(labels)

    def labels(self) -> Iterator[tuple[str, int]]:
        """Every label that is charged, with the number of the record that pays for it."""
        return ((label, record.sequence) for label, record in self._labels.items())

    def found(self, labels: Collection[str]) -> dict[str, Record]:
        """The records with those labels; a label that was never charged is left out."""
        return {label: self._labels[label] for label in labels if label in self._labels}

    def totals(
        self, accounts: Collection[Account] | None = None, *, of: str | None = None, holder: str | None = None
    ) -> dict[Account, Total]:
        """The totals of accounts, or of all those of a table and a holder; one that was never charged is left out."""
        if accounts is not None:
            return {account: self._totals[account] for account in accounts if account in self._totals}
        return {a: t for a, t in self._totals.items() if of in (None, a.table) and holder in (None, a.holder)}

    def terms(self, names: Collection[str] | None = None) -> dict[str, str]:
        """The terms of those names, or all; those that were never fixed are left out."""
        wanted = self._terms if names is None else names
        return {name: self._terms[name] for name in wanted if name in self._terms}

    def records(self, after: int = 0, limit: int | None = None) -> Iterator[Record]:
        """The records after one number, in order, at most ``limit`` of them."""
        return iter(self._records[after : None if limit is None else after + limit])

    def append(self, records: Sequence[Record], totals: Mapping[Account, Total], terms: Mapping[str, str]) -> None:
        """Write records, the new totals of the accounts that they charge, and the terms that they fix."""
        self._records.extend(records)
        self._labels |= {label: record for record in records for label in record.labels}
        self._totals.update(totals)
        self._terms.update(terms)


def pinned_in(book: Book) -> Pinned:
    """Give all terms of a book by path."""
    return {tuple(json.loads(name)): json.loads(text) for name, text in book.terms().items()}


def first_charged(fixed: Mapping[str, str]) -> list[Deposit]:
    """Give the snapshots among terms that are about to be fixed.

    >>> first_charged({'["meters", "snapshot", "homes", "a"]': '{"identity": "5eed"}', '["meters"]': "{}"})
    [Deposit(table='homes', version='a', identity='5eed')]
    """
    found = []
    for name, text in fixed.items():
        match json.loads(name), json.loads(text):
            case [_, "snapshot", str(table), str(version), *_], {"identity": str(identity)}:
                found.append(Deposit(table, version, identity))
    return found


def check_belong(book: Book, deposits: Iterable[Deposit]) -> None:
    """Refuse snapshots that the book does not know."""
    wanted = {json.dumps(list(one.path), ensure_ascii=False): one for one in deposits}
    known = book.terms(list(wanted)) if wanted else {}
    for name, one in wanted.items():
        if name not in known:
            raise LedgerError(
                f"this ledger does not know the snapshot of {one.table} in version {one.version!r}, so nothing can be "
                f"charged for it: it was registered with another ledger, or this is an older copy. Mount or restore "
                f"the one that was in use. Only if you vouch that this one lacks no charge, run errorfloor ledger "
                f"checkpoint --accept",
                table=one.table,
                version=one.version,
            )


def division_of(terms: Mapping[str, Any]) -> str | None:
    """Give, as one text, by what the terms of a table divide its accounts, and what its rows go by; None if nothing.

    >>> division_of({"row_key": [["id", "whole", None]], "account_by": [["region", "text", None]], "owner": None})
    '[[["id", "whole", null]], [["region", "text", null]], null]'
    """
    if not (terms.get("account_by") or terms.get("per") or terms.get("joined")):
        return None
    division = [terms.get("row_key"), terms.get("account_by"), terms.get("per")]
    if terms.get("joined"):
        division += [terms.get("owner"), terms["joined"]]
    return json.dumps(division, ensure_ascii=False)


def check_in_cells(book: Book, fixed: Mapping[str, str], given: Mapping[str, str]) -> None:
    """Refuse a first charge for a version whose rows were never found to be in the cells where others have them.

    ``fixed`` are terms that are about to be fixed, ``given`` all those of the call.
    """
    for deposit in first_charged(fixed):
        division = division_of(json.loads(given.get(json.dumps([deposit.table], ensure_ascii=False), "{}")))
        if division is None:
            continue
        name = json.dumps([deposit.table, KEPT, deposit.identity, division], ensure_ascii=False)
        if name not in book.terms([name]):
            raise CatalogueError(
                f"the accounts of {deposit.table} are divided, and version {deposit.version!r} was never compared with "
                f"the others: a row that is in another cell there would have two allowances. Run errorfloor register, "
                f"which compares them",
                table=deposit.table,
                version=deposit.version,
            )


def successors(identity: str, table: str, pinned: Pinned) -> set[str]:
    """Give the identities of a snapshot and of all that go on from it after erasures.

    >>> erased = {("meters", "erased", "a", "b"): {}, ("meters", "erased", "b", "c"): {}}
    >>> sorted(successors("a", "meters", erased))
    ['a', 'b', 'c']
    """
    pairs = [path[2:] for path in pinned if path[:2] == (table, ERASED)]
    found, before = {identity}, set[str]()
    while found != before:
        before = set(found)
        found |= {new for old, new in pairs if old in before}
    return found
