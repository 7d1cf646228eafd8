"""Statements that are no questions: settings, transactions, and what tools say for politeness."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from errorfloor.catalogue import Catalogue
from errorfloor.errors import InputError, RefusedError
from errorfloor.postgres.answers import ResultRows, text_rows
from errorfloor.postgres.settings import OWN, SessionSettings
from errorfloor.sql_text import Statement

if TYPE_CHECKING:
    from errorfloor.postgres.session import Session

SET = re.compile(r"(SESSION\s+|LOCAL\s+)?([\w.\"]+)\s*(?:=|\s+TO\s+|\s)\s*(.+)", re.IGNORECASE | re.DOTALL)
BEGINNINGS, ENDINGS = ("BEGIN", "START"), ("COMMIT", "END", "ROLLBACK", "ABORT")
POLITE = {"CLOSE": "CLOSE CURSOR", "UNLISTEN": "UNLISTEN", "LISTEN": "LISTEN"}
POLITE |= {"SAVEPOINT": "SAVEPOINT", "RELEASE": "RELEASE"}
SYSTEM = ("PG_CATALOG", "INFORMATION_SCHEMA")


@dataclass(frozen=True)
class Done:
    """What a statement gives back."""

    tag: str
    rows: ResultRows | None = None
    changed: tuple[str, ...] = ()


def command(session: "Session", statement: Statement, *, describe: bool = False) -> Done | None:
    """Do what a statement says, unless it is a question; with ``describe`` only say what it would give."""
    words = statement.words
    first = words[0] if words else ""
    if first == "SHOW":
        return _show(session.settings, statement)
    if first in POLITE:
        return Done(POLITE[first])
    if first not in ("SET", "RESET", "DISCARD", "DEALLOCATE", *BEGINNINGS, *ENDINGS):
        return None
    if describe:
        return Done(first)
    if first == "DEALLOCATE":
        session.deallocate(statement.after(2 if words[1:2] == ("PREPARE",) else 1))
        return Done("DEALLOCATE")
    if first in BEGINNINGS:
        if session.status == b"I":
            session.status, session.before = b"T", session.settings.copy()
        return Done("BEGIN" if first == "BEGIN" else "START TRANSACTION")
    if first in ENDINGS:
        return _end(session, words)
    if first == "SET":
        return _set(session, statement)
    if words[1:2] in ((), ("ALL",)):
        session.settings, session.after = session.settings.reset(), None
        if first == "DISCARD":
            session.deallocate("ALL")
        return Done("DISCARD ALL" if first == "DISCARD" else "RESET")
    return _changed(session, statement.after(1), "default", "RESET") if first == "RESET" else Done("RESET")


def _end(session: "Session", words: tuple[str, ...]) -> Done:
    if words[0] == "ROLLBACK" and "TO" in words:
        if session.status == b"E":
            session.status = b"T"
        return Done("ROLLBACK")
    failed = session.status == b"E" or words[0] in ("ROLLBACK", "ABORT")
    kept = session.before if failed else session.after
    session.settings = session.settings if kept is None else kept
    session.status, session.before, session.after = b"I", None, None
    return Done("ROLLBACK" if failed else "COMMIT")


def _set(session: "Session", statement: Statement) -> Done:
    words = statement.words
    if words[1:2] == ("TRANSACTION",) or words[1:3] == ("SESSION", "CHARACTERISTICS") or words[1:3] == ("TIME", "ZONE"):
        return Done("SET")
    if words[1:2] == ("NAMES",):
        return _changed(session, "client_encoding", _plain(statement.after(2)), "SET")
    found = SET.fullmatch(statement.after(1))
    if found is None:
        raise RefusedError("SET is written SET name = value, such as SET max_error = 0.5", reason="syntax")
    if (found[1] or "").strip().upper() != "LOCAL":
        return _changed(session, found[2], _plain(found[3]), "SET")
    local = session.settings.copy()
    name = local.set(found[2], _plain(found[3]))
    if session.status == b"T":
        session.settings, session.after = local, session.after or session.settings
    elif name in OWN:
        raise InputError(
            f"SET LOCAL {name} lasts until the end of a transaction, and none has begun: BEGIN one, or SET {name}"
        )
    return Done("SET")


def _changed(session: "Session", name: str, value: str, tag: str) -> Done:
    """Set something, also for after a transaction that has settings of its own."""
    known = session.settings.set(name, value)
    if session.after is not None:
        session.after.set(name, value)
    return Done(tag, changed=(known,))


def _show(settings: SessionSettings, statement: Statement) -> Done:
    words = statement.words
    if words[1:2] == ("ALL",):
        found = settings.all()
        return Done("SHOW", text_rows({"name": list(found), "setting": list(found.values())}))
    if words[1:] == ("TRANSACTION", "ISOLATION", "LEVEL"):
        return Done("SHOW", text_rows({"transaction_isolation": ["read committed"]}))
    if words[1:] == ("TIME", "ZONE"):
        return Done("SHOW", text_rows({"TimeZone": ["UTC"]}))
    name = statement.after(1)
    return Done("SHOW", text_rows({name.lower(): [settings.show(name)]}))


def _plain(value: str) -> str:
    value = value.strip()
    return value[1:-1].replace("''", "'") if len(value) > 1 and value[0] == value[-1] == "'" else value.strip('"')


def is_lookup(statement: Statement, catalogue: Catalogue) -> bool:
    """Say whether a statement asks the system catalogue, or nothing at all; declared names come first.

    >>> [is_lookup(Statement.of(one), Catalogue(tables={})) for one in ("SELECT 1", "SELECT avg(x) FROM pay")]
    [True, False]
    """
    names = [text.strip('"').upper() for kind, text in statement.pieces if kind == "word" or text[:1] == '"']
    if not names or names[0] not in ("SELECT", "WITH", "VALUES"):
        return False
    return "FROM" not in names or any(
        name in SYSTEM or (name.startswith("PG_") and name not in _declared(catalogue)) for name in names
    )


def _declared(catalogue: Catalogue) -> Iterable[str]:
    for name, table in catalogue.tables.items():
        yield from (one.upper() for one in (name, *table.compared, *table.private))
