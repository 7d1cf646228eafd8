"""Audits: replay every record, and compare what follows with what is kept; and what a custodian vouches for instead.

A ledger that is accepted may lack its last records: the house may have been put back from a backup. What was read
for one of them is then not known here, and a standing question could release the same month from other rows under the
same noise. So each acceptance is counted, as a record like any other: what was charged before one releases nothing new
after it.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

from errorfloor.accounts import Account
from errorfloor.errors import LedgerError
from errorfloor.ledger.book import Book
from errorfloor.ledger.entry import EMPTY, JSON, Head, Record, account_name, canonical, follow
from errorfloor.ledger.terms import stricter, term_name, words
from errorfloor.ledger.total import Total


@dataclass
class Replay:
    """What follows from records: the head, the totals, the terms, and which record pays for each label.

    >>> replay = Replay()
    >>> list(replay.through([])), replay.head.sequence
    ([], 0)
    """

    head: Head = EMPTY
    totals: dict[Account, Total] = field(default_factory=dict)
    terms: dict[str, str] = field(default_factory=dict)
    labels: dict[bytes, int] = field(default_factory=dict, repr=False)

    def through(self, records: Iterable[Record]) -> Iterator[Record]:
        """Pass records on while adding them up.

        Raises LedgerError at the first that is missing, changed, or charges again what was charged.
        """
        for record in records:
            first = self.head == EMPTY
            if first and not record.labels:  # it goes on where an older ledger ended
                self.head = Head(record.sequence - 1, record.previous)
            self.head = follow(self.head, [record])
            labels = {bytes.fromhex(label) for label in record.labels}
            if len(labels) < len(record.labels) or not labels.isdisjoint(self.labels):
                raise _wrong(f"record {record.sequence} repeats a label")
            if not labels and not first:
                raise _wrong(f"record {record.sequence} has no label")
            self.labels |= dict.fromkeys(labels, record.sequence)
            for name, value in record.terms.items():
                if name in self.terms and not stricter(json.loads(self.terms[name]), cast(Mapping[str, JSON], value)):
                    raise _wrong(f"record {record.sequence} fixes the terms of {words(name)} a second time")
                self.terms[name] = canonical("terms", value)
            for account, charge in record.charges.items():
                if term_name(account.table) not in self.terms:
                    raise _wrong(f"record {record.sequence} has no terms")
                if charge:
                    self.totals[account] = self.totals.get(account, Total()).plus(charge)
            yield record


def audit(book: Book) -> Replay:
    """Replay a whole book; raises LedgerError if a record, a total or the terms are not what follows.

    >>> from errorfloor.ledger.memory import MemoryLedger
    >>> MemoryLedger().verify().head.sequence
    0
    """
    replay = Replay()
    for _ in replay.through(book.records()):
        pass
    totals, terms = book.totals(), book.terms()
    if totals != replay.totals:
        different = [a for a in {*totals, *replay.totals} if totals.get(a) != replay.totals.get(a)]
        first = min(different)
        raise _wrong(
            f"what is kept as spent of {account_name(first)} is not the sum of its {replay.head.sequence} records"
        )
    count = 0
    for label, sequence in book.labels():
        count += 1
        if replay.labels.get(bytes.fromhex(label)) != sequence:
            raise _wrong(f"label {label} is recorded as paid for, but record {sequence} does not say so")
    if count != len(replay.labels):
        raise _wrong("labels that records pay for are missing")
    if terms != replay.terms:
        raise _wrong("the stored terms are not those of the records")
    return replay


def _wrong(what: str) -> LedgerError:
    return LedgerError(f"{what}: the ledger was changed by something else; restore it from its newest export")


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
