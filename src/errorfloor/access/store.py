"""The file that the processes of one server share: sessions, failed attempts, last uses. It holds no secret.

A session is what the cookie of a browser names. Its identifier is random, and says nothing about a token. The file is
no ledger: losing it signs everybody out, and that is all.
"""

import datetime
import json
import os
import secrets
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from errorfloor.access.failures import DoorError
from errorfloor.access.token import Role, Terms, Token, digest
from errorfloor.access.tokens import TokenFile
from errorfloor.errors import KeyFileError

Result = TypeVar("Result")
SESSIONS = "the file of sessions"
PATIENCE = 2.0  # seconds to wait for another process that writes
NOTED = 60.0  # seconds between two notes that a token, or a session, is in use; a note is a write
TABLES = """
CREATE TABLE IF NOT EXISTS sessions (
    digest TEXT PRIMARY KEY, token TEXT NOT NULL, person TEXT,
    begun REAL NOT NULL, used REAL NOT NULL, ends REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS sessions_by_token ON sessions (token, begun);
CREATE INDEX IF NOT EXISTS sessions_by_end ON sessions (ends);
CREATE INDEX IF NOT EXISTS sessions_by_use ON sessions (used);
CREATE TABLE IF NOT EXISTS attempts (who TEXT NOT NULL, at REAL NOT NULL);
CREATE INDEX IF NOT EXISTS attempts_by_who ON attempts (who, at);
CREATE INDEX IF NOT EXISTS attempts_by_time ON attempts (at);
CREATE TABLE IF NOT EXISTS uses (token TEXT PRIMARY KEY, used REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS begun (digest TEXT PRIMARY KEY, kept TEXT NOT NULL, ends REAL NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS begun_by_end ON begun (ends);
"""
MOST = 20  # sessions of one token, or of one person
ENDED = "DELETE FROM sessions WHERE ends <= ? OR used <= ?"
OLDEST = (
    "DELETE FROM sessions WHERE digest IN "
    "(SELECT digest FROM sessions WHERE token = ? ORDER BY begun DESC LIMIT -1 OFFSET ?)"
)


class Store:
    """A small SQLite database in a file that only its owner can read; ``path`` None keeps it in memory.

    A call is one transaction. Threads may share it, and processes the file.

    Raises KeyFileError if the file cannot be used, DoorError (503) if it cannot be read or written later.

    >>> store = Store(None)
    >>> store.change("INSERT INTO uses VALUES (?, ?)", ("ab12", 7.0))
    1
    >>> store.rows("SELECT used FROM uses")
    [(7.0,)]
    """

    def __init__(self, path: str | Path | None, *, tables: str = TABLES, what: str = SESSIONS) -> None:
        self._lock, self._what = threading.Lock(), what
        if path is not None:
            _keep_to_the_owner(Path(path), what)
        try:
            self._database = sqlite3.connect(
                ":memory:" if path is None else path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
            )
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = NORMAL")
            self._database.executescript(tables)
        except sqlite3.Error as problem:
            out = "; name another with --sessions, or remove it, which signs everybody out" if what == SESSIONS else ""
            raise KeyFileError(f"cannot use {what} {path}: {problem}{out}") from None

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Read."""
        return self._done(statement, values, sqlite3.Cursor.fetchall)

    def change(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Write, and give how many rows that changed."""
        return self._done(statement, values, lambda cursor: cursor.rowcount)

    def _done(self, statement: str, values: Sequence[Any], give: Callable[[sqlite3.Cursor], Result]) -> Result:
        with self._lock:
            try:
                return give(self._database.execute(statement, values))
            except sqlite3.Error:
                text = f"{self._what} cannot be used now: try again"
                raise DoorError(503, "sessions", text, headers={"Retry-After": "5"}) from None

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._database.close()


@dataclass(frozen=True)
class Uses:
    """The last use of each token, exact to a minute.

    >>> uses = Uses(Store(None), clock=lambda: 86400.0)
    >>> uses.note("ab12")
    >>> uses.last()["ab12"].isoformat()
    '1970-01-02T00:00:00+00:00'
    """

    store: Store
    clock: Callable[[], float] = time.time
    _noted: dict[str, float] = field(default_factory=dict)

    def note(self, token: str) -> None:
        """Note that a token is used now; where that cannot be written down the request goes on."""
        now = self.clock()
        if now - self._noted.get(token, -NOTED) < NOTED:
            return
        self._noted[token] = now
        try:
            self.store.change("INSERT OR REPLACE INTO uses VALUES (?, ?)", (token, now))
        except DoorError:
            self._noted.pop(token, None)

    def last(self) -> dict[str, datetime.datetime]:
        """Give the last use of every token that was used."""
        found = self.store.rows("SELECT token, used FROM uses")
        return {token: datetime.datetime.fromtimestamp(used, datetime.UTC) for token, used in found}


def _keep_to_the_owner(path: Path, what: str) -> None:
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        mode = path.stat().st_mode
    except OSError as problem:
        other = "; name another with --sessions" if what == SESSIONS else ""
        raise KeyFileError(f"cannot use {what} {path}: {problem.strerror}{other}") from None
    if stat.S_IMODE(mode) & 0o077:
        raise KeyFileError(f"others can read {what} {path}: allow its owner only (chmod 600 {path})")


@dataclass(frozen=True)
class Sessions:
    """The sessions of a server, in every process of it.

    *Guarantee*: a session ends ``idle`` seconds after its last use (up to a minute earlier), at most ``life`` seconds
    after it began, when it is signed out, when its token is revoked or expires, when ``MOST`` others of its token
    began after it, and, of somebody who signed in elsewhere, when a server starts for which something else is declared
    of that, whichever is first. The file has hashes of identifiers only, so that reading it signs nobody in.

    >>> now = [0.0]
    >>> tokens = TokenFile(None)
    >>> token, _ = tokens.create("anna", Role.ANALYST)
    >>> sessions = Sessions(Store(None), tokens, idle=600, life=3600, clock=lambda: now[0])
    >>> named = sessions.begin(token)
    >>> sessions.find(named).name
    'anna'
    >>> now[0] = 601.0
    >>> sessions.find(named) is None
    True
    """

    store: Store
    tokens: TokenFile
    idle: float
    life: float
    clock: Callable[[], float] = time.time
    vouched_by: str = ""  # what is declared of signing in elsewhere

    def begin(self, token: Token) -> str:
        """Begin a session of who was recognised, and give its identifier."""
        now = self.clock()
        self.store.change(ENDED, (now, now - self.idle))
        self.store.change(OLDEST, (token.id, MOST - 1))
        identifier = secrets.token_urlsafe(32)
        given = [token.name, token.role.value, token.terms.tables, self.vouched_by]
        person = None if token.digest else json.dumps(given)
        ends = now + self.life
        if token.terms.expires is not None:
            ends = min(ends, token.terms.expires.timestamp())
        row = (digest(identifier), token.id, person, now, now, ends)
        self.store.change("INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?)", row)
        return identifier

    def find(self, identifier: str) -> Token | None:
        """Give whose session this is; None if there is none, or it has ended."""
        key, now = digest(identifier), self.clock()
        rows = self.store.rows(
            "SELECT token, person, used FROM sessions WHERE digest = ? AND ends > ? AND used > ?",
            (key, now, now - self.idle),
        )
        if not rows:
            return None
        identity, person, used = rows[0]
        if now - used >= min(NOTED, self.idle / 2):
            with suppress(DoorError):  # it ends earlier, then
                self.store.change("UPDATE sessions SET used = ? WHERE digest = ?", (now, key))
        if person is None:
            return self.tokens.get(identity)
        name, role, *limits = json.loads(person)
        if limits[1:] != [self.vouched_by]:  # others gave a role and tables then, or a version that knew no limits
            return None
        return Token.vouched(identity, name, Role(role), Terms(tables=tuple(limits[0])))

    def end(self, identifier: str) -> None:
        """Sign out: the identifier counts no longer, whoever has kept it."""
        self.store.change("DELETE FROM sessions WHERE digest = ?", (digest(identifier),))
