"""What a session asks: prepared statements and portals, and the way of their questions through the server's door."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from errorfloor.access.audit import VisitorsBook
from errorfloor.access.door import ServerDoor
from errorfloor.access.failures import UNEXPECTED, DoorError, said_of, unexpected
from errorfloor.access.models import Asked
from errorfloor.access.tokens import Token
from errorfloor.access.visit import Visit, Visitor
from errorfloor.catalogue import Catalogue
from errorfloor.errors import ErrorFloorError
from errorfloor.postgres.answers import ResultRows, answer_rows, no_rows, no_rows_of_table, price_rows
from errorfloor.postgres.commands import is_lookup
from errorfloor.postgres.declared import SystemCatalogues
from errorfloor.postgres.line import ClientLine
from errorfloor.postgres.settings import SessionSettings
from errorfloor.postgres.values import Kind
from errorfloor.service import Answer
from errorfloor.sql import parse
from errorfloor.sql_text import Statement
from errorfloor.sql_text.asked import AskedQuestion, asked

Read = TypeVar("Read")
ROUTE = "postgresql"
LONG = 1000  # signs of a text that is read at once, in the event loop
PATIENCE = 10.0  # seconds that a statement above the rate waits for its turn; tools look up dozens at once


@dataclass
class Counted:
    """What was counted against the rate of a token, and what that covers: one description, and one execution."""

    is_paid: bool = field(default=False, kw_only=True)
    is_described: bool = field(default=False, kw_only=True)

    def covers(self, method: str) -> bool:
        """Say whether something need not be counted again, and remember that it was done."""
        covered = self.is_paid and not (method == "DESCRIBE" and self.is_described)
        self.is_described = method == "DESCRIBE"
        self.is_paid = method == "DESCRIBE"
        return covered


@dataclass
class PreparedStatement(Counted):
    """A statement and the types of its parameters, as far as the client says; its text is held, and not its pieces."""

    text: str
    hints: tuple[str, ...]
    types: list[int]
    kinds: list[Kind] | None = None  # as far as the client does not say, once they were looked for

    @property
    def statement(self) -> Statement:
        """The statement."""
        return Statement(Statement.of(self.text).pieces, self.hints)

    @property
    def size(self) -> int:
        """How many characters and types it holds."""
        return len(self.text) + sum(map(len, self.hints)) + len(self.types)


@dataclass
class Portal(Counted):
    """A statement with its parameters, and what became of it."""

    prepared: PreparedStatement
    text: str
    formats: list[int]
    found: ResultRows | None = None

    @property
    def size(self) -> int:
        """How many characters and formats it holds, with the statement, whose name may have gone."""
        return len(self.text) + len(self.formats) + self.prepared.size


@dataclass
class SessionQuestions:
    """The questions of one client: each is a visit, and goes through ``ServerDoor`` as one over HTTP does."""

    line: ClientLine
    door: ServerDoor
    book: VisitorsBook
    token: Token
    systems: SystemCatalogues
    settings: SessionSettings = field(default_factory=SessionSettings)

    async def answered(self, statement: Statement, visitor: Visitor) -> ResultRows:
        """Ask, price or look up; what is wanted around a question is read before anything is charged."""
        if self.is_looked_up(statement):
            return await self.look_up(statement)
        is_price = statement.words[:1] == ("PRICE",)
        found = await self.thought(len(statement.pieces), lambda: read_question(statement))
        bounds = self.settings.bounds
        if found.around and not is_price:
            described = await self.described(found)
            if found.is_probe:
                return described
        wish = found.wish or self.settings.wish()
        limits: dict[str, Any] = {"charge": self.settings.charge, "charge_per_day": self.settings.charge_per_day}
        wanted = Asked(sql=found.sql or " ", **wish, **limits, dry=self.settings.dry)
        if is_price:
            grant = self.settings.grant(self.token)
            return await self.door.price(visitor, self.token, wanted, price_rows, grant=grant)

        def written(answer: Answer) -> ResultRows:
            return answer_rows(answer, found, bounds=bounds)

        return await self.door.ask(visitor, self.token, wanted, written)

    async def described(self, found: AskedQuestion) -> ResultRows:
        """Give the result set of a question without its rows; nothing is asked."""
        catalogue, bounds = self.catalogue, self.settings.bounds
        self.door.check_length(found.sql)
        if found.table:
            return await self.door.looked_up(self.token, lambda: no_rows_of_table(catalogue, found))
        return await self.door.looked_up(self.token, lambda: no_rows(parse(found.sql, catalogue), found, bounds=bounds))

    async def look_up(self, statement: Statement) -> ResultRows:
        """Look something up in the system catalogue."""
        whole, seen = self.door.database.catalogue, self.catalogue
        text = statement.text

        def work() -> ResultRows:
            return ResultRows(*self.systems.of(whole, seen).query(text))

        return await self.door.looked_up(self.token, work)

    async def thought(self, size: int, work: Callable[[], Read]) -> Read:
        """Read a text of some signs or pieces; a long one in a thread, where it waits its turn as a question does."""
        return work() if size <= LONG else await self.door.looked_up(self.token, work)

    def is_looked_up(self, statement: Statement) -> bool:
        """Say whether a statement asks the system catalogue, or nothing."""
        return is_lookup(statement, self.catalogue)

    @property
    def catalogue(self) -> Catalogue:
        """What is declared, as far as the token may see it."""
        return self.door.tables(False, self.token).catalogue

    async def count(self, what: Counted) -> None:
        """Count something against the rate of the token before any work on it, unless it was; commands count, too."""
        if what.is_paid:
            return
        visitor = Visitor(Visit.fresh(), self.line.address, self.line.protocol.stop.wait)
        try:
            await self._admit(visitor, is_counted=False)
        except ErrorFloorError as problem:
            status, visitor.visit.code = said_of(problem)[:2]
            self.book.write(visitor.visit, ROUTE, "READ", status, self.line.address)
            raise
        what.is_paid = True

    async def _admit(self, visitor: Visitor, *, is_counted: bool) -> None:
        """Let the token do one thing more, at its rate: a statement above it waits, if that helps soon."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                self.token = self.door.authentication.again(visitor, self.token, is_counted=is_counted)
                return
            except DoorError as problem:
                wait = problem.fields.get("wait") if problem.code == "rate" else None
                if not isinstance(wait, int) or time.monotonic() + wait > until:
                    raise
                with suppress(TimeoutError):
                    await asyncio.wait_for(visitor.gone(), wait)
                    raise

    @asynccontextmanager
    async def visit(self, method: str, what: Counted) -> AsyncIterator[Visitor]:
        """Let the token ask once more, and write down what became of it."""
        stop = self.line.protocol.stop
        if not self.line.protocol.is_gone:
            stop.clear()
        visit, status = Visit.fresh(), 200
        visitor = Visitor(visit, self.line.address, stop.wait)
        try:
            await self._admit(visitor, is_counted=what.covers(method))
            yield visitor
        except ErrorFloorError as problem:
            status, visit.code = said_of(problem)[:2]
            if visit.code == "gone" and not self.line.protocol.is_gone:
                raise DoorError(499, "gone", "cancelled as you asked, before anything was charged") from None
            raise
        except (OSError, asyncio.CancelledError):
            visit.code = "gone"
            raise
        except Exception as problem:
            status, visit.code = 500, "failure"
            raise failed_unexpectedly(problem) from None
        finally:
            self.book.write(visit, ROUTE, method, status, self.line.address)


def read_question(statement: Statement) -> AskedQuestion:
    """Give the question in a statement, after PRICE if that comes first."""
    if statement.words[:1] == ("PRICE",):
        statement = Statement(Statement.of(statement.after(1)).pieces, statement.hints)
    return asked(statement)


def failed_unexpectedly(problem: Exception) -> DoorError:
    """Log where something failed that should not have, and give what is said of it."""
    unexpected(problem)
    return DoorError(500, "failure", UNEXPECTED)
