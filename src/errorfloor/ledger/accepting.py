"""What a custodian vouches for is written down: that a clock is right, and that a ledger is the one in use.

A ledger that is accepted may lack its last records: the house may have been put back from a backup. What was read
for one of them is then not known here, and a standing question could release the same month from other rows under the
same noise. So each acceptance is counted: what was charged before one releases nothing new after it.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TypeVar

from errorfloor.ledger.book import Book
from errorfloor.ledger.entry import EMPTY, JSON, Head, Record

Result = TypeVar("Result")
AT_ONCE = 16  # acceptances that are looked up together


class Accepting(ABC):
    """The part of a ledger that counts how often its custodian vouched for it.

    Guarantee: acceptances are records of the ledger as any others, and never become fewer.
    """

    @abstractmethod
    def _write(self, work: Callable[[Book], Result]) -> Result: ...

    @abstractmethod
    def known(self, labels: Iterable[str]) -> set[str]:
        """Give those labels that are charged already."""

    def accept(self) -> Head:
        """Write down that the ledger is taken for the one in use; anchoring it comes after that."""
        return self._write(accepted)

    def acceptances(self) -> int:
        """Say how often the ledger was taken for the one in use because its custodian vouched for it."""
        count, there = 0, True
        while there:
            names = [name_of(count + place) for place in range(AT_ONCE)]
            known = self.known(names)
            more = next((place for place, name in enumerate(names) if name not in known), AT_ONCE)
            count, there = count + more, more == AT_ONCE
        return count


def accepted(book: Book) -> Head:
    """Append the record of an acceptance to a book, unless it is empty: then nothing could be missing.

    It has the time of the last record: whether the clock is right is another question.
    """
    head, latest = book.tail()
    if head == EMPTY:
        return head
    count = 0
    while name_of(count) in book.known([name_of(count)]):
        count += 1
    said: dict[str, JSON] = {"event": "accepted", "before": count}
    record = Record.opening(head, {}, time=latest, note=said, terms={}, labels=(name_of(count),))
    book.append([record], {}, {})
    return record.head


def name_of(count: int) -> str:
    """Give the label of the acceptance that comes after so many.

    >>> name_of(0) == name_of(0), name_of(0) == name_of(1)
    (True, False)
    """
    return hashlib.sha256(f"errorfloor ledger accepted {count}".encode()).hexdigest()
