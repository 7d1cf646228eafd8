"""What the messages on a line do, from the moment that its client is known to the end."""

import os
import secrets
import struct
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import TypeVar

from errorfloor.access.failures import DoorError, said_of
from errorfloor.access.replies import body_of
from errorfloor.errors import ErrorFloorError, RefusedError
from errorfloor.postgres import wire
from errorfloor.postgres.answers import PRICE, ResultRows, parameter_kinds
from errorfloor.postgres.commands import Done, command
from errorfloor.postgres.copying import Copy
from errorfloor.postgres.session_questions import (
    Counted,
    Portal,
    PreparedStatement,
    SessionQuestions,
    failed_unexpectedly,
    read_question,
)
from errorfloor.postgres.settings import REPORTED, SessionSettings
from errorfloor.postgres.values import FLOAT8, KINDS, SAMPLES, TEXT, UNKNOWN, Kind, ResultColumn, parameter
from errorfloor.sql_text import Statement, statements

MOST_STATEMENTS = 100  # in one text
ENDING = ("protocol", "token", "expired", "address")  # failures after which a line has no meaning any more
MOST_NAMES = 1000  # prepared statements, and portals, of one line
MOST_HELD = 100  # times the longest question: characters of all of them together, with the types of parameters
Result = TypeVar("Result", bound=PreparedStatement | Portal)


@dataclass
class Session(SessionQuestions):
    """One client's settings, statements and transaction.

    *Guarantee*: questions and prices go through ``ServerDoor`` as those over HTTP do: the same limits, turns, charges,
    refusals and times. A line that is cut, or a cancellation, gives a question up if nothing is charged yet, and
    changes nothing after that.
    """

    before: SessionSettings | None = None  # at the beginning of the transaction
    after: SessionSettings | None = None  # at its end, if some are SET LOCAL
    status: bytes = b"I"
    secret: int = field(default_factory=lambda: secrets.randbits(32))
    is_busy: bool = False
    is_ending: bool = False
    ended_by: ErrorFloorError | None = None  # where it was ended while nothing was asked
    _statements: dict[str, PreparedStatement] = field(default_factory=dict)
    _portals: dict[str, Portal] = field(default_factory=dict)
    _skips: bool = False

    async def serve(self) -> None:
        """Greet the client, then do what it says until it leaves."""
        shown = {name: self.settings.show(name) for name in REPORTED} | {"session_authorization": self.token.name}
        greeting = [wire.parameter_status(name, value) for name, value in shown.items()]
        key = wire.message(b"K", struct.pack("!II", os.getpid(), self.secret))
        await self.line.send(*greeting, key, self._ready())
        while not self.is_ending:
            kind, body = await wire.read_message(self.line.reader, self.door.settings.max_body)
            if kind == b"X":
                return
            self.is_busy = True
            try:
                await self._hear(kind, body)
            finally:
                self.is_busy = False

    def cancel(self) -> None:
        """Give up the question under way, if nothing is charged yet."""
        if self.is_busy:
            self.line.protocol.stop.set()

    def deallocate(self, name: str) -> None:
        """Forget a prepared statement, or all of them."""
        if name.upper() == "ALL":
            self._statements.clear()
        else:
            self._statements.pop(name.strip('"') if name[:1] == '"' else name.lower(), None)

    async def _hear(self, kind: bytes, body: wire.Body) -> None:
        if kind == b"S":
            self._skips = False
            if self.status == b"I":
                self._portals.clear()
            await self.line.send(self._ready())
            return
        if self._skips:
            return
        try:
            await HEARD.get(kind, Session._unknown)(self, body)
        except (OSError, EOFError):
            raise
        except Exception as problem:
            await self._fail(problem if isinstance(problem, ErrorFloorError) else failed_unexpectedly(problem))
            self._skips = kind != b"Q"
        if kind == b"Q":
            await self.line.send(self._ready())

    async def _fail(self, problem: ErrorFloorError) -> None:
        _, code, text, fields, _ = said_of(problem)
        if code in ENDING:
            raise problem
        if self.status == b"T":
            self.status = b"E"
        detail = body_of({"code": code, **fields}).decode() if fields else ""
        await self.line.send(wire.failure_message(code, text, fields, detail=detail[:4000]))

    def _ready(self) -> bytes:
        return wire.message(b"Z", self.status)

    # -- the messages

    async def _query(self, body: wire.Body) -> None:
        text = body.text()
        body.end()
        self._check_length(text)
        whole = Counted()
        await self.count(whole)
        found = await self.thought(len(text), lambda: statements(text))
        if len(found) > MOST_STATEMENTS:
            raise DoorError(
                413, "too-large", f"a text may have {MOST_STATEMENTS} statements, but this has {len(found)}: send parts"
            )
        if not found:
            await self.line.send(wire.message(b"I"))
        for one in found:
            portal = Portal(PreparedStatement(one.text, one.hints, []), one.text, [], is_paid=whole.is_paid)
            whole.is_paid = False
            await self._execute(portal, 0, described=False)

    async def _parse(self, body: wire.Body) -> None:
        name, text, types = body.text(), body.text(), body.numbers("!I")
        body.end()
        self._check_length(text)
        await self.count(Counted())
        found = await self.thought(len(text), lambda: statements(text))
        if len(found) > 1:
            raise RefusedError("a prepared statement is one statement: send the others by themselves", reason="syntax")
        statement = found[0] if found else Statement(())
        types += [0] * (statement.parameters - len(types))
        self._hold(self._statements, name, PreparedStatement(statement.text, statement.hints, types, is_paid=True))
        await self.line.send(wire.message(b"1"))

    async def _bind(self, body: wire.Body) -> None:
        name, prepared = body.text(), self._named(self._statements, body.text(), "prepared statement")
        forms = body.numbers("!h")
        values = [body.value() for _ in range(body.number("!H"))]
        formats = body.numbers("!h")
        body.end()
        await self.count(prepared)
        statement = await self.thought(len(prepared.text), lambda: prepared.statement)
        wanted = statement.parameters
        if len(values) < wanted or {*forms, *formats} - {0, 1} or len(forms) not in (0, 1, len(values)):
            raise wire.protocol_error(f"{wanted} parameters are needed, in format 0 or 1; {len(values)} were given")
        forms = forms * len(values) if len(forms) == 1 else forms or [0] * len(values)
        given = zip(values[:wanted], prepared.types, await self._kinds(prepared), forms, strict=False)
        literals = [parameter(place, *one) for place, one in enumerate(given, start=1)]
        text = statement.filled(literals)
        self._check_length(text)
        portal = Portal(prepared, text, formats, is_paid=True)
        prepared.is_paid = prepared.is_described = False
        self._hold(self._portals, name, portal)
        await self.line.send(wire.message(b"2"))

    async def _describe(self, body: wire.Body) -> None:
        kind, name = body.take(1), body.text()
        body.end()
        if kind == b"S":
            prepared = self._named(self._statements, name, "prepared statement")
            await self.count(prepared)
            kinds = await self._kinds(prepared)
            types = [one or kind.oid for one, kind in zip(prepared.types, kinds, strict=False)]
            await self.line.send(wire.message(b"t", struct.pack(f"!H{len(types)}I", len(types), *types)))
            samples = [SAMPLES.get(kind, "NULL") for kind in kinds]
            text = await self.thought(len(prepared.text), lambda: prepared.statement.filled(samples))
            portal = Portal(prepared, text, [])
            columns = await self._columns(portal, prepared)
        else:
            portal = self._named(self._portals, name, "portal")
            columns = await self._columns(portal, portal)
        if columns is None:
            await self.line.send(wire.message(b"n"))
        else:
            await self.line.send(wire.row_description(columns, _spread(portal.formats, len(columns))))

    async def _execute_message(self, body: wire.Body) -> None:
        portal, most = self._named(self._portals, body.text(), "portal"), body.number("!i")
        body.end()
        if not portal.prepared.text:
            await self.line.send(wire.message(b"I"))
            return
        await self._execute(portal, max(most, 0), described=True)

    async def _close(self, body: wire.Body) -> None:
        kind, name = body.take(1), body.text()
        body.end()
        (self._statements if kind == b"S" else self._portals).pop(name, None)
        await self.line.send(wire.message(b"3"))

    async def _flush(self, body: wire.Body) -> None:
        body.end()

    async def _unknown(self, _: wire.Body) -> None:
        raise wire.protocol_error("a message of this kind is not known here")

    # -- what they mean

    async def _kinds(self, prepared: PreparedStatement) -> list[Kind]:
        """Say of which types parameters are; what a client does not say follows from what they are compared with."""
        if prepared.kinds is None:
            statement = await self.thought(len(prepared.text), lambda: prepared.statement)
            catalogue = self.catalogue
            prepared.kinds = [KINDS.get(one, TEXT) for one in prepared.types[: statement.parameters]]
            if any(one in UNKNOWN for one in prepared.types):
                given = TEXT if self.is_looked_up(statement) else FLOAT8
                question, _ = Statement(statement.pieces).wish()
                found = await self.door.looked_up(
                    self.token,
                    lambda: parameter_kinds(question, statement.parameters, catalogue, in_functions=given),
                )
                said = zip(prepared.types, prepared.kinds, found, strict=False)
                prepared.kinds = [new if one in UNKNOWN else old for one, old, new in said]
        return prepared.kinds

    async def _columns(self, portal: Portal, counted: Counted) -> tuple[ResultColumn, ...] | None:
        """Say which columns a portal's rows have; None if it has none."""
        statement = await self.thought(len(portal.text), lambda: Statement.of(portal.text))
        done = command(self, statement, describe=True)
        if done is not None:
            return None if done.rows is None else done.rows.columns
        if statement.words[:1] == ("PRICE",):
            return PRICE
        if statement.words[:1] == ("COPY",):
            return None
        async with self.visit("DESCRIBE", counted):
            if self.is_looked_up(statement):
                portal.found = await self.look_up(statement)
                return portal.found.columns
            question = await self.thought(len(statement.pieces), lambda: read_question(statement))
            return (await self.described(question)).columns

    async def _execute(self, portal: Portal, most: int, *, described: bool) -> None:
        read = await self.thought(len(portal.text), lambda: Statement.of(portal.text))
        statement = Statement(read.pieces, portal.prepared.hints)
        self._check_transaction(statement)
        if portal.found is not None and portal.found.sent:
            await self._send(portal.found, portal.found.again(), most)
            return
        done = command(self, statement)
        if done is not None:
            await self._send_done(done, portal, described)
            return
        if statement.words[:1] == ("COPY",):
            await self._copy(portal, Copy.of(statement))
            return
        method = "PRICE" if statement.words[:1] == ("PRICE",) else "SELECT"
        async with self.visit(method, portal) as visitor:
            rows = portal.found or await self.answered(statement, visitor)
            portal.found = rows
            rows.formats = _spread(portal.formats, len(rows.columns))
            if not described:
                await self.line.send(wire.row_description(rows.columns, rows.formats))
            await self._send(rows, rows.body_iterator, most)

    async def _copy(self, portal: Portal, copy: Copy) -> None:
        async with self.visit("SELECT", portal) as visitor:
            rows = await self.answered(copy.question, visitor)
            rows.write = copy.rows
            await self.line.send(copy.start(rows.columns))
            async for part in rows.body_iterator:
                await self.line.send(part)
        await self.line.send(copy.end(), wire.complete(f"COPY {rows.sent}"))

    async def _send(self, rows: ResultRows, parts: AsyncIterator[bytes], most: int) -> None:
        first = rows.sent
        rows.most = most or rows.table.num_rows
        async for part in parts:
            await self.line.send(part)
        if rows.sent < rows.table.num_rows:
            for other in self._portals.values():  # one answer at a time is held
                other.found = rows if other.found is rows else None
            await self.line.send(wire.message(b"s"))
            return
        said = [wire.notice(rows.said)] if rows.said and self.settings.notices else []
        await self.line.send(*said, wire.complete(f"SELECT {rows.sent - first}"))

    async def _send_done(self, done: Done, portal: Portal, described: bool) -> None:
        if done.rows is not None:
            portal.found = done.rows
            done.rows.formats = _spread(portal.formats, len(done.rows.columns))
            if not described:
                await self.line.send(wire.row_description(done.rows.columns, done.rows.formats))
            async for part in done.rows.body_iterator:
                await self.line.send(part)
        changed = [wire.parameter_status(name, self.settings.show(name)) for name in done.changed if name in REPORTED]
        await self.line.send(*changed, wire.complete(done.tag))

    def _hold(self, names: dict[str, Result], name: str, what: Result) -> None:
        """Hold a statement or a portal under its name, in the place of what had it."""
        names.pop(name, None)
        most = MOST_HELD * self.door.settings.max_sql
        held: list[PreparedStatement | Portal] = [*self._statements.values(), *self._portals.values()]
        if len(names) > MOST_NAMES or what.size + sum(one.size for one in held) > most:
            raise DoorError(
                413,
                "too-large",
                f"a session may hold {MOST_NAMES} prepared statements and as many portals, of {most} characters "
                f"together: close some",
            )
        names[name] = what

    def _check_length(self, text: str) -> None:
        most = 2 * self.door.settings.max_sql  # tools look the system catalogue up with long ones
        if len(text) > most:
            raise DoorError(413, "too-large", f"a statement may have {most} characters, but this has {len(text)}")

    def _check_transaction(self, statement: Statement) -> None:
        if self.status == b"E" and statement.words[:1] not in (("ROLLBACK",), ("COMMIT",), ("END",), ("ABORT",)):
            raise DoorError(409, "transaction", "a statement of this transaction failed: ROLLBACK ends it")

    def _named(self, found: dict[str, Result], name: str, what: str) -> Result:
        if name not in found:
            raise DoorError(404, "unknown-name", f"there is no {what} {name[:60]!r}")
        return found[name]


HEARD = {
    b"Q": Session._query,
    b"P": Session._parse,
    b"B": Session._bind,
    b"D": Session._describe,
    b"E": Session._execute_message,
    b"C": Session._close,
    b"H": Session._flush,
}


def _spread(formats: list[int], count: int) -> list[int]:
    """Give the format of each column: one for all, or one each."""
    if len(formats) not in (0, 1, count):
        raise wire.protocol_error(f"{len(formats)} formats were given for {count} columns")
    return formats * count if len(formats) == 1 else formats or [0] * count
