"""A ledger in memory, for demonstrations and tests: it forgets everything when its process ends."""

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, islice
from typing import ClassVar, TypeVar, final

from errorfloor.accounts import Account
from errorfloor.ledger.base import Ledger
from errorfloor.ledger.book import Book, Kept, Shelf
from errorfloor.ledger.entry import EMPTY, Head, Record, Tail
from errorfloor.ledger.total import Total

Result = TypeVar("Result")


@final
class MemoryShelf(Shelf):
    """A shelf that is forgotten with its process."""

    def __init__(self) -> None:
        self._kept: dict[int, Kept] = {}
        self._asked: dict[str, int] = {}
        self._last = 0

    def put(self, kept: Kept) -> int:
        """Add an answer at the end."""
        self._last += 1
        self._kept[self._last] = replace(kept, number=self._last)
        self._asked = {one.asked: self._last for one in kept.outputs} | self._asked
        return self._last

    def by_asked(self, asked: Collection[str]) -> dict[str, Kept]:
        """The answers with those outputs."""
        return {one: self._kept[self._asked[one]] for one in asked if one in self._asked}

    def by_label(self, labels: Collection[str]) -> dict[str, Kept]:
        """The answers with outputs that were charged under labels."""
        return {label: one for one in self._kept.values() for label in one.labels & set(labels)}

    def over(self, over: str, limit: int, before: int | None = None) -> list[Kept]:
        """The last answers, ``before`` a number, with an output over the same, newest first."""
        older = (one for number, one in reversed(self._kept.items()) if before is None or number < before)
        return list(islice((one for one in older if any(output.over == over for output in one.outputs)), limit))

    def page(self, after: int = 0, limit: int | None = None, *, whole: bool = False) -> Iterator[Kept]:
        """The answers after a number, in order."""
        found: Sequence[Kept] = [one for number, one in self._kept.items() if number > after]
        return iter(found[:limit])

    def beyond(self, room: int) -> list[int]:
        """The numbers of the oldest answers that do not last, without which the others take at most so many bytes."""
        newest = [one for one in reversed(self._kept.values()) if not one.lasts]
        taken = accumulate(one.size for one in newest)
        return [one.number for one, so_far in zip(newest, taken, strict=True) if so_far > room]

    def take_away(self, numbers: Collection[int]) -> None:
        """Remove answers."""
        gone = set(numbers)
        self._kept = {number: one for number, one in self._kept.items() if number not in gone}
        self._asked = {one: number for one, number in self._asked.items() if number not in gone}


@final
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

    def tail(self) -> Tail:
        """Where the ledger stands, and the time of its last record."""
        return Tail(self._records[-1].head, self._records[-1].time) if self._records else Tail()

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


@final
class MemoryLedger(Ledger):
    """A ledger that is not durable: floors hold for the life of the process only.

    >>> from errorfloor.ledger import Account, Charge, Entry
    >>> kwh = Account("meters", "kwh", "")
    >>> ledger = MemoryLedger()
    >>> entry = Entry("ab" * 32, {kwh: Charge(0.5, 0.0)}, {"output": "avg_kwh"})
    >>> ledger.charge([entry], {kwh: Charge(0.75, 0.0)}, {"meters": {"account_by": []}})
    [True]
    >>> ledger.charge([entry], {kwh: Charge(0.75, 0.0)}, {"meters": {"account_by": []}})  # the same again is free
    [False]
    >>> ledger.spent([kwh])[kwh].information
    0.5
    """

    is_forgotten: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__(anchor=None)
        self._book = MemoryBook()
        self._lock = threading.Lock()

    def _read(self, work: Callable[[Book], Result]) -> Result:
        with self._lock:
            return work(self._book)

    def _write(self, work: Callable[[Book], Result]) -> Result:
        with self._lock:
            return work(self._book)
