"""What all routes share: the tables, who may ask, and the threads that work."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, TypeVar, runtime_checkable

from fastapi import Query

from errorfloor.access.auth import Authentication
from errorfloor.access.course import Course, Noted
from errorfloor.access.current import Current
from errorfloor.access.failures import DoorError
from errorfloor.access.limits import Keys, UnderWay
from errorfloor.access.metrics import Metrics
from errorfloor.access.models import Asked, Failure, WantedAnswer
from errorfloor.access.settings import Settings
from errorfloor.access.threads import SharedProbe, Threads
from errorfloor.access.tokens import Role, Token
from errorfloor.access.visit import Visitor
from errorfloor.access.workshop import Workshop
from errorfloor.answering.asking import attended_by
from errorfloor.charging.settling import Grant
from errorfloor.charging.standing import Standing
from errorfloor.errors import ErrorFloorError, InputError
from errorfloor.service import Answer, Database, Price
from errorfloor.streams import Streams

Dry = Annotated[bool, Query(description="For the dummy rows instead of the tables.")]
MEANING = {
    400: "the body is not JSON in UTF-8",
    401: "no token, or an unknown one",
    403: "the role does not allow it, or the answer would break a declared floor",
    404: "there is no such thing",
    409: "the idempotency key was used for another question, or the step was answered from another measurement",
    413: "the body is too large",
    415: "the body is not declared as JSON",
    422: "what was given cannot be used, or the question is refused",
    429: "too many requests",
    503: "busy, out of time, or the ledger or the engine is out of reach",
}
POSTED = (400, 413, 415, 422)  # what can be the matter with a body


Reply = TypeVar("Reply")


@runtime_checkable
class InParts(Protocol):
    """A reply that is written while it is sent."""

    body_iterator: AsyncIterable[Any]


@dataclass(frozen=True)
class ServerDoor:
    """One server's parts."""

    current: Current
    authentication: Authentication
    settings: Settings
    threads: Threads
    designing: Threads
    workshop: Workshop
    metrics: Metrics
    keys: Keys
    streams: Streams
    under_way: UnderWay
    ready: SharedProbe[dict[str, bool]]
    shares: SharedProbe[list[Standing]]

    @property
    def database(self) -> Database:
        """The tables as they are declared now."""
        return self.current()

    def tables(self, dry: bool, token: Token, grant: Grant | None = None) -> Database:
        """Give the tables, or the same with dummy rows, as far as a token's terms reach, or a narrower grant."""
        return (self.database.dry() if dry else self.database).within(grant_of(token) if grant is None else grant)

    async def ask(
        self,
        visitor: Visitor,
        token: Token,
        asked: Asked,
        written: Callable[[Answer], Reply],
    ) -> Reply:
        """Answer a question: a reader gets what is free, others may be charged. ``written`` makes the reply."""
        self.check_length(asked.sql)
        wish, visit = asked.wish(), visitor.visit

        def noted(price: Price, fresh: Sequence[bool], labels: Sequence[str]) -> None:
            visit.facts |= charged_facts(price, fresh, labels)
            self.metrics.answer(fresh)

        def work() -> Reply:
            spends = bool(asked.charge) and token.role.covers(Role.ANALYST)
            tables = self.tables(asked.dry, token, grant_of(token, asked.most, asked.charge_per_day))
            return written(tables.ask(asked.sql, **wish, analyst=analyst_of(token), charge=spends))

        return await self.attended(visitor, token, work, noted=noted, over_limit=asked.over_limit)

    async def price(
        self,
        visitor: Visitor,
        token: Token,
        wanted: WantedAnswer,
        written: Callable[[Price], Reply],
        *,
        grant: Grant | None = None,
    ) -> Reply:
        """Price a question; nothing is charged."""
        self.check_length(wanted.sql)
        wish, analyst = wanted.wish(), analyst_of(token)

        def work() -> Reply:
            return written(self.tables(wanted.dry, token, grant).price(wanted.sql, **wish, analyst=analyst))

        return await self.attended(visitor, token, work)

    def check_length(self, sql: str) -> None:
        """Raise InputError for a question that is too long."""
        if len(sql) > self.settings.max_sql:
            raise InputError(
                f"the question has {len(sql)} characters, but {self.settings.max_sql} are allowed: ask in parts",
                max_sql=self.settings.max_sql,
            )

    async def attended(
        self,
        visitor: Visitor,
        token: Token,
        work: Callable[[], Reply],
        *,
        noted: Noted | None = None,
        over_limit: bool = False,
    ) -> Reply:
        """Work on a question in a thread: refused or given up before a charge, and after one answered on the grid.

        Only an owner may go ``over_limit``.
        """
        if over_limit and token.role is not Role.OWNER:
            raise DoorError(403, "role", f"over_limit is for an owner, but the token's role is {token.role.value}")
        limit = self.database.catalogue.limit
        course = Course(
            self.settings.grid,
            time_limit=self.settings.time_limit,
            limit=limit,
            question=None if over_limit else limit.question,
            noted=noted,
        )

        def with_attendant() -> Reply:
            with attended_by(course):
                return work()

        leave = self.under_way.enter(token.id)
        visitor.visit.ended.append(leave)  # whatever becomes of the reply
        streaming = False
        try:
            reply = await self._on_the_grid(visitor, with_attendant, course, asker=token.id)
            if isinstance(reply, InParts):
                reply.body_iterator = self._counted(reply.body_iterator, leave)
                streaming = True
            return reply
        finally:
            if not streaming:
                leave()

    async def looked_up(self, token: Token, work: Callable[[], Reply]) -> Reply:
        """Work in a thread on what is public; it counts and waits its turn as a question of this token does."""
        with self.under_way.counted(token.id):
            return await self.threads.run(work, asker=token.id)

    async def measured(self, visitor: Visitor, work: Callable[[], Reply], cost: float) -> Reply:
        """Work in a thread on something private that the caller brought: all of it is answered on the grid."""
        _ = self.database  # which refuses, if keys were discarded
        said = (ErrorFloorError,)  # streams have a fixed error of their own for what depends on a measurement
        course = Course(self.settings.grid, time_limit=self.settings.time_limit, said=said)

        def started() -> Reply:
            course.start(cost)
            return work()

        return await self._on_the_grid(visitor, started, course)

    async def _counted(self, parts: AsyncIterable[Any], leave: Callable[[], None]) -> AsyncIterator[Any]:
        """Pass the parts of a reply on, and count it off before its end is sent.

        The next question may follow at once.
        """
        try:
            async for part in self.threads.paced(parts):
                yield part
        finally:
            leave()

    async def _on_the_grid(
        self, visitor: Visitor, work: Callable[[], Reply], course: Course, *, asker: str = ""
    ) -> Reply:
        """Work; a client that goes away stops it as long as nothing is charged, and changes nothing after that."""
        working = asyncio.create_task(self.threads.run(work, course, asker=asker))
        watching = asyncio.ensure_future(visitor.gone())
        try:
            await asyncio.wait([working, watching], return_when=asyncio.FIRST_COMPLETED)
            if not working.done() and course.give_up():
                raise DoorError(499, "gone", "the client went away before anything was charged")
            return await working
        finally:
            watching.cancel()
            if not working.done():
                working.cancel()
            visitor.visit.left = course.left


def analyst_of(token: Token) -> str | None:
    """Give the name that quotas count by; the owner has none."""
    return None if token.role is Role.OWNER else token.name


def charged_facts(price: Price, fresh: Sequence[bool], labels: Sequence[str]) -> dict[str, Any]:
    """Give what the audit log says of an answer: its labels in the ledger and its charges; none of its numbers."""
    return {
        "table": price.prepared.question.table,
        "labels": list(labels),
        "fresh": list(fresh),
        "charges": {standing.name: standing.used_by_this for standing in price.standings},
    }


def grant_of(token: Token, question: float | None = None, day: float | None = None) -> Grant:
    """Give what the questions of a token are limited to, and no more than they allow themselves.

    >>> token, _ = Token.fresh("anna", Role.ANALYST)
    >>> grant_of(token, question=0.01).question, grant_of(token).day
    (0.01, None)
    """
    limits = ((question, token.terms.question), (day, token.terms.day))
    least = (min((one for one in both if one is not None), default=None) for both in limits)
    return Grant(token.id, token.terms.tables, *least)


def replies(model: Any, *statuses: int, forms: Sequence[str] = ()) -> dict[int | str, dict[str, Any]]:
    """Describe what a route gives, as JSON or in other ``forms``, and its failures; those all have the same shape.

    >>> sorted(replies(None, 404))
    [200, 401, 404, 429, 503]
    """
    done: dict[str, Any] = {"model": model}
    if forms:
        done["content"] = {form: {"schema": {"type": "string", "format": "binary"}} for form in forms}
    return {200: done, **failures(*statuses)}


def failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe the failures of a route; every one has the same shape.

    >>> sorted(failures(404))
    [401, 404, 429, 503]
    """
    return {status: {"model": Failure, "description": MEANING[status]} for status in {401, 429, 503, *statuses}}
