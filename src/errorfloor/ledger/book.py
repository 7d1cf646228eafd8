"""Books: what a ledger reads and writes inside one transaction."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import final

from errorfloor.accounts import Account
from errorfloor.ledger.entry import EMPTY, Head, Record
from errorfloor.ledger.total import Total


class Book(ABC):
    """Everything that is written down, as one transaction sees it. Terms are canonical JSON texts by name."""

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
        self._records: list[Record] = []
        self._labels: dict[str, Record] = {}
        self._totals: dict[Account, Total] = {}
        self._terms: dict[str, str] = {}

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
