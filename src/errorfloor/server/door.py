"""What all routes share: the tables, who may ask, and the threads that work."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Query, Request, Response
from fastapi.responses import StreamingResponse

from errorfloor.charging.settling import Grant
from errorfloor.charging.standing import Standing
from errorfloor.errors import ErrorFloorError
from errorfloor.server.auth import Authentication
from errorfloor.server.course import Course, Noted
from errorfloor.server.current import Current
from errorfloor.server.failures import DoorError
from errorfloor.server.idempotency import Keys
from errorfloor.server.metrics import Metrics
from errorfloor.server.models import Failure
from errorfloor.server.probe import SharedProbe
from errorfloor.server.settings import Settings
from errorfloor.server.threads import Threads
from errorfloor.server.tokens import Token
from errorfloor.server.under_way import UnderWay
from errorfloor.server.visit import visit_of
from errorfloor.server.workshop import Workshop
from errorfloor.service import Database
from errorfloor.service.asking import attended_by
from errorfloor.streams import Streams

Dry = Annotated[bool, Query(description="Of the dummy rows instead of the tables.")]
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

    def tables(self, dry: bool, token: Token) -> Database:
        """Give the tables, or the same with dummy rows, as far as a token's terms reach."""
        return (self.database.dry() if dry else self.database).within(grant_of(token))

    async def attended(
        self,
        request: Request,
        token: Token,
        work: Callable[[], Response],
        *,
        noted: Noted | None = None,
        over_limit: bool = False,
    ) -> Response:
        """Work on a question in a thread: refused or given up before a charge, and after one answered on the grid."""
        limit = self.database.catalogue.limit
        course = Course(
            self.settings.grid,
            time_limit=self.settings.time_limit,
            limit=limit,
            question=None if over_limit else limit.question,
            noted=noted,
        )

        def with_attendant() -> Response:
            with attended_by(course):
                return work()

        leave = self.under_way.enter(token.id)
        visit_of(request.scope).ended.append(leave)  # whatever becomes of the reply
        streaming = False
        try:
            reply = await self._on_the_grid(request, with_attendant, course, asker=token.id)
            if isinstance(reply, StreamingResponse):
                reply.body_iterator = self._counted(reply.body_iterator, leave)
                streaming = True
            return reply
        finally:
            if not streaming:
                leave()

    async def looked_up(self, token: Token, work: Callable[[], Response]) -> Response:
        """Work in a thread on what is public; it counts and waits its turn as a question of this token does."""
        with self.under_way.counted(token.id):
            return await self.threads.run(work, asker=token.id)

    async def measured(self, request: Request, work: Callable[[], Response], cost: float) -> Response:
        """Work in a thread on something private that the caller brought: all of it is answered on the grid."""
        said = (ErrorFloorError,)  # streams have a fixed error of their own for what depends on a measurement
        course = Course(self.settings.grid, time_limit=self.settings.time_limit, said=said)

        def started() -> Response:
            course.start(cost)
            return work()

        return await self._on_the_grid(request, started, course)

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
        self, request: Request, work: Callable[[], Response], course: Course, *, asker: str = ""
    ) -> Response:
        """Work; a client that goes away stops it as long as nothing is charged, and changes nothing after that."""
        working = asyncio.create_task(self.threads.run(work, course, asker=asker))
        watching = asyncio.create_task(_gone(request))
        try:
            await asyncio.wait([working, watching], return_when=asyncio.FIRST_COMPLETED)
            if not working.done() and course.give_up():
                raise DoorError(499, "gone", "the client went away before anything was charged")
            return await working
        finally:
            watching.cancel()
            if not working.done():
                working.cancel()
            visit_of(request.scope).left = course.left


async def _gone(request: Request) -> None:
    """Wait until the client goes away; its body has been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def grant_of(token: Token) -> Grant:
    """Give what the questions of a token are limited to."""
    return Grant(token.id, token.terms.tables, token.terms.question, token.terms.day)


def failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe the failures of a route; every one has the same shape.

    >>> sorted(failures(404))
    [401, 404, 429, 503]
    """
    return {status: {"model": Failure, "description": MEANING[status]} for status in {401, 429, 503, *statuses}}
