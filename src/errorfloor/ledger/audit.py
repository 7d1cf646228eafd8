"""Audits: replay every record, and compare what follows with what is kept."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from errorfloor.errors import LedgerError
from errorfloor.ledger.book import Book
from errorfloor.ledger.entry import account_name, canonical, rises
from errorfloor.ledger.record import EMPTY, Head, Record, follow
from errorfloor.ledger.total import Total
from errorfloor.pricing.accounts import Account


@dataclass
class Replay:
    """What follows from records: the head, the totals, the terms.

    >>> replay = Replay()
    >>> list(replay.through([])), replay.head.sequence
    ([], 0)
    """

    head: Head = EMPTY
    totals: dict[Account, Total] = field(default_factory=dict)
    terms: dict[str, str] = field(default_factory=dict)
    _labels: set[bytes] = field(default_factory=set, repr=False)

    def through(self, records: Iterable[Record]) -> Iterator[Record]:
        """Pass records on while adding them up.

        Raises LedgerError at the first that is missing, changed, or charges again what was charged.
        """
        for record in records:
            self.head = follow(self.head, [record])
            label = bytes.fromhex(record.entry.label)
            again = label in self._labels
            self._labels.add(label)
            self._fix(record)
            for account, charge in record.entry.charges.items():
                self.totals[account] = self.totals.get(account, Total()).plus(charge)
            if again or any(account.table not in self.terms for account in record.entry.charges):
                raise _wrong(f"record {record.sequence} {'repeats a label' if again else 'has no terms'}")
            yield record

    def _fix(self, record: Record) -> None:
        for table, value in record.terms.items():
            if table in self.terms and not rises(json.loads(self.terms[table]), value):
                raise _wrong(f"record {record.sequence} fixes the terms of {table} a second time")
            self.terms[table] = canonical("terms", value)


def audit(book: Book) -> Replay:
    """Replay a whole book; raises LedgerError if a record, a total or the terms are not what follows.

    >>> from errorfloor.ledger.book import MemoryBook
    >>> audit(MemoryBook()).head.sequence
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
    if terms != replay.terms:
        raise _wrong("the terms that are kept are not those of the records")
    return replay


def _wrong(what: str) -> LedgerError:
    return LedgerError(f"{what}: the ledger was changed by something else; restore it from its newest export")
