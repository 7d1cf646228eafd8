"""Failures of a database, in words that say what to do; the database's own text could quote a URL and is not shown."""

import sqlite3

from errorfloor.errors import LedgerError

BUSY = "other processes have held the ledger {name} for more than {patience:g} s; nothing was charged: try again"
FULL = "the disk of the ledger {name} is full; nothing was charged: make room, then ask again"
SQLITE = {
    "SQLITE_NOTADB": "{name} is not a ledger: name the file of the ledger, or one that does not exist yet",
    "SQLITE_CORRUPT": "the ledger {name} is damaged: restore it from its newest export",
    "SQLITE_READONLY": "the ledger {name} cannot be written; nothing was charged: let this user write to it and its "
    "folder",
    "SQLITE_BUSY": BUSY,
    "SQLITE_FULL": FULL,
    "SQLITE_CANTOPEN": "cannot open the ledger {name}: it must be a file that this user can read and write, in a "
    "folder that this user can write to",
    "SQLITE_IOERR": "the disk of the ledger {name} fails ({code}); whether the last charge was written is not known, "
    "but asking again charges it once at most: check the disk, then ask again",
}
POSTGRESQL = {
    "40001": "other transactions keep interfering with the ledger {name}; nothing was charged: try again",
    "55P03": BUSY,
    "53100": FULL,
    "25006": "the ledger {name} cannot be written; nothing was charged: the server is read-only, name the primary",
    "42501": "this user may not use the ledger {name}: grant it the schema errorfloor and its tables",
}
UNREACHABLE = (
    "the server of the ledger {name} cannot be reached, does not let this user in, or went away; whether the last "
    "charge was written is not known, but asking again charges it once at most: check the server, then ask again"
)
OTHER = "the ledger {name} fails ({code}); run errorfloor ledger verify, then ask again: it is charged once at most"
AGAIN = {"40001", "40P01", "23505"}  # another transaction came between; a duplicate key may be how that shows itself


class DatabaseError(Exception):
    """What a database's driver raised, as ``problem``; None if none of its connections became free in time."""

    def __init__(self, problem: Exception | None) -> None:
        super().__init__()
        self.problem = problem

    def may_pass(self) -> bool:
        """Say whether the same transaction can succeed when it is done again."""
        return getattr(self.problem, "sqlstate", None) in AGAIN

    def explained(self, name: str, patience: float) -> LedgerError:
        """Give it as a failure of ours, of the ledger ``name``."""
        if self.problem is None:
            return LedgerError(BUSY.format(name=name, patience=patience))
        if isinstance(self.problem, sqlite3.Error):
            return sqlite_failure(self.problem, name, patience)
        code = getattr(self.problem, "sqlstate", None)
        if code is None or code.startswith(("08", "57P")):  # connections, and a server that is shutting down
            text = UNREACHABLE
        else:
            text = POSTGRESQL["40001"] if code in AGAIN else POSTGRESQL.get(code, OTHER)
        return LedgerError(text.format(name=name, patience=patience, code=code), database_code=code)


def sqlite_failure(problem: sqlite3.Error, name: str, patience: float) -> LedgerError:
    """Turn a failure of SQLite into ours.

    >>> problem = sqlite3.OperationalError()
    >>> problem.sqlite_errorname = "SQLITE_FULL"
    >>> str(sqlite_failure(problem, "ledger.sqlite", 30))
    'the disk of the ledger ledger.sqlite is full; nothing was charged: make room, then ask again'
    """
    code = str(getattr(problem, "sqlite_errorname", None) or "SQLITE_ERROR")
    text = SQLITE.get("_".join(code.split("_")[:2]), OTHER)
    return LedgerError(text.format(name=name, patience=patience, code=code), database_code=code)
