"""The database that holds a ledger: transactions that are done again when another came between, and its tables."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Literal, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, TimeoutError

from errorfloor.errors import LedgerError
from errorfloor.ledger import postgresql, sqlite, tables
from errorfloor.ledger.failures import explain, may_try_again

Result = TypeVar("Result")
Mode = Literal["read", "write", "prepare"]
ATTEMPTS = 100


class Database:
    """SQLite in a file or PostgreSQL behind a URL; ``name`` is what messages call it, without user or password."""

    def __init__(self, place: str | Path, *, patience: float, read_only: bool = False) -> None:
        self.patience = patience
        self._closing = ExitStack()
        self._turn = threading.Lock()
        self._file: tuple[int, int] | None = None  # which file it is, once that is known
        self.path = None if isinstance(place, str) and "://" in place else Path(place).absolute()
        if self.path is None:
            self.engine, self.name = postgresql.make_engine(str(place), patience)
        else:
            if read_only:
                self.path = self._closing.enter_context(sqlite.readable(self.path, str(place)))
            self.engine, self.name = sqlite.make_engine(self.path, patience), str(place)

    def run(self, work: Callable[[Connection], Result], mode: Mode) -> Result:
        """Do work in one transaction, and do it again if another transaction came between.

        Raises LedgerError with what to do if the database fails.
        """
        for attempt in range(ATTEMPTS):
            try:
                return self._attempt(work, mode)
            except (DBAPIError, TimeoutError) as problem:
                failure, again = explain(problem, self.name, self.patience), may_try_again(problem)
            if not again:
                raise failure
            time.sleep(random.uniform(0, 0.002 * min(attempt + 1, 50)))  # in another order than the others
        raise failure

    def prepare(self, *, create: bool) -> bool:
        """Make the tables if ``create`` is on and there are none; say whether there are any.

        Raises LedgerError if they are of another version: an older ledger is never changed by opening it.
        """
        if self.path is not None and not self.path.exists():
            found = 0
        else:
            found = self.run(lambda connection: tables.version(connection, self.name), "read")
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

    def make(self, work: Callable[[Connection], Result]) -> Result:
        """Make the tables if there are none and do work on them, in one transaction; if it fails nothing is left."""
        existed = self.path is None or self.path.exists()
        if self.path is not None:
            sqlite.prepare_file(self.path, self.name, self.patience)

        def all_of_it(connection: Connection) -> Result:
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
        if self.run(lambda connection: tables.version(connection, self.name), "read") == 0:
            self.engine.dispose()
            for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
                path.with_name(name).unlink(missing_ok=True)

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()
        self._closing.close()

    def _attempt(self, work: Callable[[Connection], Result], mode: Mode) -> Result:
        if self.path is not None and mode != "prepare":
            self._check_file(self.path)
        with self._one_writer(mode), self.engine.connect() as connection:
            connection.execution_options(mode=mode)
            if self.path is None and mode == "read":
                connection.execution_options(postgresql_readonly=True)
            if self.path is None and mode == "prepare":  # the lock is waited for with a statement, which must not be
                connection.execution_options(isolation_level="READ COMMITTED")  # all that the transaction ever sees
            with connection.begin():
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
            self.engine.dispose()  # what is at that place by the next time is opened anew, and compared with the anchor
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
            raise TimeoutError
        try:
            yield
        finally:
            self._turn.release()
