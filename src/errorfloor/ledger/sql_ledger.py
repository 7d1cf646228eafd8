"""A ledger in a database, anchored outside it."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar, final

from sqlalchemy import Connection

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
    """A ledger in a file (SQLite) or behind a URL (postgresql://…).

    Guarantee: a ledger that does not continue the anchored one is refused. One that is ahead of its anchor, because a
    process died between its commit and the anchor, is accepted if every record after the anchored one follows it. A
    ledger is made by ``create`` or ``restore`` alone, and only where no anchor counts records of another; what is
    refused leaves nothing behind.

    ``create`` makes a ledger where there is none. ``accept`` takes one whose anchor is missing, after a full audit.
    ``restore`` fills a new ledger with the records of an export. With ``read_only`` nothing is written anywhere, and a
    read-only disk will do. ``patience`` is how long to wait for other processes, in seconds.

    Raises LedgerError if it is older than its anchor, forked, damaged, of a newer version, no ledger, or out of reach.

    >>> import tempfile
    >>> from errorfloor.ledger import Account, Charge, Entry, FileAnchor
    >>> kwh = Account("meters", "kwh", "")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     here = Path(folder)
    ...     with SqlLedger(here / "ledger.sqlite", FileAnchor(here / "ledger.anchor"), create=True) as ledger:
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
        create: bool = False,
        accept: bool = False,
        restore: Iterable[Record] | None = None,
        read_only: bool = False,
        patience: float = PATIENCE,
    ) -> None:
        super().__init__(anchor)
        self._read_only = read_only
        self._database = Database(place, patience=patience, read_only=read_only)
        try:
            head = (
                self._open(anchor, create=create, accept=accept)
                if restore is None
                else self._restore(anchor, list(restore), accept=accept)
            )
            if not read_only:
                anchor.advance(head)
        except BaseException:
            self.close()
            raise

    def _open(self, anchor: Anchor, *, create: bool, accept: bool) -> Head:
        kept = anchor.read()
        may_create = create and (kept is None or kept == EMPTY)  # otherwise it would be an older one
        if not self._database.prepare(create=may_create):
            raise anchor.absent(kept, self._database.name)

        def work(book: Book) -> Head:
            if kept is None and not accept and not (create and book.head() == EMPTY):
                raise anchor.missing(book.head())
            return self._continued(book, kept)

        return self._read(work)

    def _restore(self, anchor: Anchor, records: list[Record], *, accept: bool) -> Head:
        kept = anchor.read()
        if kept is None and not accept:
            raise anchor.missing(records[-1].head if records else EMPTY, restoring=True)
        self._database.prepare(create=False)  # one of another version is not touched

        def work(connection: Connection) -> Head:
            book = SqlBook(connection)
            _fill(book, records)
            return self._continued(book, kept)

        return self._database.make(work)

    def _continued(self, book: Book, kept: Head | None) -> Head:
        """Give where a book stands that goes on from the anchored head, record by record."""
        if kept is None:
            return audit(book).head
        self._check(book, kept)
        return follow(kept, book.records(kept.sequence))

    def _read(self, work: Callable[[Book], Result]) -> Result:
        return self._database.run(lambda connection: work(SqlBook(connection)), "read")

    def _write(self, work: Callable[[Book], Result]) -> Result:
        if self._read_only:
            raise LedgerError(f"the ledger {self._database.name} was opened to be read; nothing was charged")
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
