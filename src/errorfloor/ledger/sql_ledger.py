"""A ledger in a database, anchored outside it; its transactions are done again when another came between."""

import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TypeVar, final

from errorfloor.catalogue.model import Place
from errorfloor.errors import LedgerError
from errorfloor.ledger import postgresql, sqlite, tables
from errorfloor.ledger.anchor import Anchor, open_anchor
from errorfloor.ledger.audit import Replay, accepted, audit
from errorfloor.ledger.base import Ledger
from errorfloor.ledger.book import Book
from errorfloor.ledger.connections import Connections, LedgerConnection, Mode, Together
from errorfloor.ledger.entry import EMPTY, Head, Record, follow
from errorfloor.ledger.failures import DatabaseError
from errorfloor.ledger.shelf import Kept

Result = TypeVar("Result")
ATTEMPTS = 100
PATIENCE = 30.0  # seconds to wait for another process's charge
BATCH = 1000  # records written at a time when a ledger is restored


@final
class SqlLedger(Ledger):
    """A ledger in a file (SQLite) or behind a URL (postgresql://…).

    Guarantee: a ledger that does not continue the anchored one is refused. One that is ahead of its anchor, because a
    process died between its commit and the anchor, is accepted if every record after the anchored one follows it. A
    ledger is made by ``create`` or ``restore`` alone, and only where no anchor counts records of another; what is
    refused leaves nothing behind.

    ``create`` makes a ledger where there is none. ``accept`` takes one whose anchor is missing, after a full audit;
    each is recorded before it is anchored, and so is that there are records where the anchor knows of none.
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
        self._database = LedgerStore(place, patience=patience, read_only=read_only)
        self._together = Together(lambda work: self._database.run(work, "write"))
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
            if kept is None and not accept and not (create and book.tail().head == EMPTY):
                raise anchor.missing(book.tail().head)
            return self._continued(book, kept)

        head = self._read(work)
        is_vouched_for = accept or kept == EMPTY != head  # an empty anchor says nothing of records that are there
        return self.accept() if is_vouched_for and not self._read_only else head

    def _restore(self, anchor: Anchor, records: list[Record], *, accept: bool) -> Head:
        kept = anchor.read()
        if kept is None and not accept:
            raise anchor.missing(records[-1].head if records else EMPTY, restoring=True)
        self._database.prepare(create=False)  # one of another version is not touched

        def work(connection: LedgerConnection) -> Head:
            book = Book(connection)
            _fill(book, records)
            head = self._continued(book, kept)
            return accepted(book) if accept or kept == EMPTY else head

        return self._database.make(work)

    def _continued(self, book: Book, kept: Head | None) -> Head:
        """Give where a book stands that goes on from the anchored head, record by record."""
        if kept is None:
            return audit(book).head
        self._check(book, kept)
        return follow(kept, book.records(kept.sequence))

    def _read(self, work: Callable[[Book], Result]) -> Result:
        return self._database.run(lambda connection: work(Book(connection)), "read")

    def _write(self, work: Callable[[Book], Result]) -> Result:
        if self._read_only:
            raise LedgerError(f"the ledger {self._database.name} was opened for reading only; nothing was charged")
        return self._together.run(lambda connection: work(Book(connection)))

    def forget(self, chosen: Callable[[Kept], bool]) -> int:
        """Take answers off the shelf for good, also out of the log beside the file."""
        gone = super().forget(chosen)
        self._database.empty_log()
        return gone

    def close(self) -> None:
        """Wait for what is being anchored, and close the connections to the database."""
        super().close()
        self._database.close()


def open_ledger(
    place: Place,
    folder: Path,
    *,
    create: bool = False,
    accept: bool = False,
    restore: Iterable[Record] | None = None,
    read_only: bool = False,
) -> SqlLedger:
    """Open the ledger of a place; paths are relative to ``folder``, where the catalogue lies.

    ``place.ledger`` is a file or postgresql://…, ``place.anchor`` a file, or ``!`` and a command of the custodian's.
    For ``create``, ``accept``, ``restore``, ``read_only`` and what is raised see ``SqlLedger``.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name, open_ledger(Place(), Path(name), create=True) as ledger:
    ...     ledger.head().sequence, sorted(path.name for path in Path(name).glob("*.anchor"))
    (0, ['ledger.anchor'])
    """
    where = place_of(place, folder)
    anchor = open_anchor(place, folder)
    ledger = SqlLedger(where, anchor, create=create, accept=accept, restore=restore, read_only=read_only)
    ledger.room = place.kept_bytes
    return ledger


def place_of(place: Place, folder: Path) -> str | Path:
    """Give where the ledger of a place is: a URL, or a path.

    >>> place_of(Place(), Path("there")).as_posix()
    'there/ledger.sqlite'
    """
    return place.ledger if "://" in place.ledger else Path(folder) / place.ledger


def _fill(book: Book, records: Iterable[Record]) -> None:
    """Write the records of another ledger into an empty book, as they are."""
    if (head := book.tail().head) != EMPTY:
        raise LedgerError(
            f"there are {head.sequence} records already in the ledger: restore into one that does not exist yet"
        )
    replay, batch = Replay(), []
    for record in replay.through(records):
        batch.append(record)
        if len(batch) == BATCH:
            book.append(batch, {}, {})
            batch = []
    book.append(batch, replay.totals, replay.terms)


class LedgerStore:
    """SQLite in a file or PostgreSQL behind a URL; ``name`` is what messages call it, without user or password."""

    def __init__(self, place: str | Path, *, patience: float, read_only: bool = False) -> None:
        self.patience = patience
        self._closing = ExitStack()
        self._turn = threading.Lock()
        self._file: tuple[int, int] | None = None  # which file it is, once that is known
        self.path = None if isinstance(place, str) and "://" in place else Path(place).absolute()
        if self.path is None:
            kind, self.name = postgresql.kind(str(place), patience)
        else:
            if read_only:
                self.path = self._closing.enter_context(sqlite.readable(self.path, str(place)))
            kind, self.name = sqlite.kind(self.path, patience), str(place)
        self.connections = Connections(kind, patience)

    def run(self, work: Callable[[LedgerConnection], Result], mode: Mode) -> Result:
        """Do work in one transaction, and do it again if another transaction came between.

        Raises LedgerError with what to do if the database fails.
        """
        for attempt in range(ATTEMPTS):
            try:
                return self._attempt(work, mode)
            except DatabaseError as problem:
                failure, again = problem.explained(self.name, self.patience), problem.may_pass()
            if not again:
                raise failure
            time.sleep(random.uniform(0, 0.002 * min(attempt + 1, 50)))  # in another order than the others
        raise failure

    def version(self) -> int:
        """Give the version of the tables that are there; 0 if there are none."""
        if self.path is not None and not self.path.exists():
            return 0
        return self.run(lambda connection: tables.version(connection, self.name), "read")

    def prepare(self, *, create: bool) -> bool:
        """Make the tables if ``create`` is on and there are none; say whether there are any.

        Raises LedgerError if they are of another version: an older ledger is never changed by opening it.
        """
        found = self.version()
        if found > tables.VERSION:
            raise LedgerError(
                f"the ledger {self.name} has version {found} and this program knows {tables.VERSION}: install a newer "
                f"errorfloor",
                version=found,
            )
        if 0 < found < tables.VERSION:
            raise LedgerError(
                f"the ledger {self.name} was written by an older errorfloor (version {found}, this program has "
                f"{tables.VERSION}): stop every server, then run errorfloor upgrade",
                version=found,
            )
        if found == 0 and create:
            self.make(lambda connection: None)
        return found > 0 or create

    def make(self, work: Callable[[LedgerConnection], Result]) -> Result:
        """Make the tables if there are none and do work on them, in one transaction; if it fails nothing is left."""
        existed = self.path is None or self.path.exists()
        if self.path is not None:
            sqlite.prepare_file(self.path, self.name, self.patience)

        def all_of_it(connection: LedgerConnection) -> Result:
            if tables.version(connection, self.name) == 0:  # another process may have come first
                tables.create(connection)
            return work(connection)

        try:
            return self.run(all_of_it, "prepare")
        except BaseException:
            if self.path is not None and not existed:
                self._remove(self.path)
            raise

    def _remove(self, path: Path) -> None:
        """Take away a file that was made for nothing, unless another process made a ledger of it meanwhile."""
        if self.version() == 0:
            self.connections.close()
            for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
                path.with_name(name).unlink(missing_ok=True)

    def empty_log(self) -> None:
        """Put what is in the log of SQLite into its file, and cut the log; one who reads all the while prevents it."""
        if self.path is not None:
            with suppress(DatabaseError), self._one_writer("write"), self.connections.lend() as connection:
                connection.run("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close every connection."""
        self.connections.close()
        self._closing.close()

    def _attempt(self, work: Callable[[LedgerConnection], Result], mode: Mode) -> Result:
        if self.path is not None and mode != "prepare":
            self._check_file(self.path)
        with self._one_writer(mode), self.connections.lend() as connection, connection.transaction(mode):
            return work(connection)

    def _check_file(self, path: Path) -> None:
        """Refuse to go on in a file that nobody finds any more, or that another has taken the place of."""
        try:
            status = path.stat()
            found = (status.st_dev, status.st_ino)
        except OSError:
            found = None
        known, self._file = self._file, found
        if found is None or known not in (None, found):
            self.connections.close()  # what is there the next time is opened anew, and compared with the anchor
            raise LedgerError(
                f"the file of the ledger {self.name} was moved or replaced while it was in use; nothing was charged: "
                f"put the newest one back, then ask again"
            )

    @contextmanager
    def _one_writer(self, mode: Mode) -> Iterator[None]:
        """Let threads write to SQLite in turn: SQLite itself would have them sleep and try again."""
        if self.path is None or mode == "read":
            yield
            return
        if not self._turn.acquire(timeout=self.patience):
            raise DatabaseError(None)
        try:
            yield
        finally:
            self._turn.release()
