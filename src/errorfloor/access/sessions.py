"""Sessions: what the cookie of a browser names. Its identifier is random, and says nothing about a token."""

import json
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from errorfloor.access.failures import DoorError
from errorfloor.access.store import Store
from errorfloor.access.token import Role, Terms, Token, digest
from errorfloor.access.tokens import TokenFile

MOST = 20  # sessions of one token, or of one person
ENDED = "DELETE FROM sessions WHERE ends <= ? OR used <= ?"
OLDEST = (
    "DELETE FROM sessions WHERE digest IN "
    "(SELECT digest FROM sessions WHERE token = ? ORDER BY begun DESC LIMIT -1 OFFSET ?)"
)
NOTED = 60.0  # seconds between two notes that a session is in use; a note is a write


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
