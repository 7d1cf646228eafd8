"""A ledger in a database, anchored outside it."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar, final

from errorfloor.errors import LedgerError
from errorfloor.ledger.anchor import Anchor
from errorfloor.ledger.audit import Replay, audit
from errorfloor.ledger.base import Ledger
from errorfloor.ledger.book import Book
from errorfloor.ledger.database import Database
from errorfloor.ledger.record import EMPTY, Head, Record, follow
from errorfloor.ledger.sql_book import SqlBook

Result = TypeVar("Result")
PATIENCE = 30.0  # seconds to wait for another process's charge
BATCH = 1000  # records written at a time when a ledger is restored


@final
class SqlLedger(Ledger):
    """A ledger in a file (SQLite) or behind a URL (postgresql://…), made if it does not exist and ``create`` is on.

    Guarantee: a ledger that does not continue the anchored one is refused. One that is ahead of its anchor, because a
    process died between its commit and the anchor, is accepted if every record after the anchored one follows it.

    ``accept`` takes a ledger whose anchor is missing, after a full audit. ``restore`` fills a new ledger with the
    records of an export. ``patience`` is how long to wait for other processes, in seconds.

    Raises LedgerError if it is older than its anchor, forked, damaged, of a newer version, no ledger, or out of reach.

    >>> import tempfile
    >>> from errorfloor.ledger import Account, Charge, Entry, FileAnchor
    >>> kwh = Account("meters", "kwh", "")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     here = Path(folder)
    ...     with SqlLedger(here / "ledger.sqlite", FileAnchor(here / "ledger.anchor")) as ledger:
    ...         entry = Entry("ab" * 32, {kwh: Charge(0.5, 0.0)}, {"output": "avg_kwh"})
    ...         ledger.charge([entry], {kwh: Charge(0.75, 0.0)}, {"meters": {"account_by": []}})
    ...     with SqlLedger(here / "ledger.sqlite", FileAnchor(here / "ledger.anchor")) as ledger:
    ...         ledger.spent([kwh])[kwh].information, ledger.verify().head.sequence
    [True]
    (0.5, 1)
    """

    def __init__(
        self,
        place: str | Path,
        anchor: Anchor,
        *,
        create: bool = True,
        accept: bool = False,
        restore: Iterable[Record] | None = None,
        patience: float = PATIENCE,
    ) -> None:
        super().__init__(anchor)
        self._database = Database(place, patience=patience)
        try:
            self._open(anchor, create, accept, restore)
        except BaseException:
            self.close()
            raise

    def _open(self, anchor: Anchor, create: bool, accept: bool, restore: Iterable[Record] | None) -> None:
        kept = anchor.read()
        given = None if restore is None else list(restore)  # a transaction may have to be done again
        forgotten = given is None and kept is not None and kept.sequence > 0  # a new ledger would be an older one
        if not self._database.prepare(create=create and not forgotten):
            if kept is not None and forgotten:
                raise anchor.older(kept, EMPTY)
            raise LedgerError(f"there is no ledger {self._database.name} yet: the first charge makes it")

        def work(book: Book) -> Head:
            if given is not None:
                _fill(book, given)
            head = book.head()
            if kept is None:
                if head.sequence > 0 and not accept:
                    raise anchor.missing(head)
                return audit(book).head
            self._check(book, kept)
            return follow(kept, book.records(kept.sequence))

        anchor.advance(self._read(work) if given is None else self._write(work))

    def _read(self, work: Callable[[Book], Result]) -> Result:
        return self._database.run(lambda connection: work(SqlBook(connection)), "read")

    def _write(self, work: Callable[[Book], Result]) -> Result:
        return self._database.run(lambda connection: work(SqlBook(connection)), "write")

    def close(self) -> None:
        """Wait for what is being anchored, and close the connections to the database."""
        super().close()
        self._database.close()


def _fill(book: Book, records: Iterable[Record]) -> None:
    """Write the records of another ledger into an empty book, as they are."""
    if book.head() != EMPTY:
        raise LedgerError(
            f"there are {book.head().sequence} records in the ledger already: restore into one that does not exist yet"
        )
    replay, batch = Replay(), []
    for record in replay.through(records):
        batch.append(record)
        if len(batch) == BATCH:
            book.append(batch, {}, {})
            batch = []
    book.append(batch, replay.totals, replay.terms)
