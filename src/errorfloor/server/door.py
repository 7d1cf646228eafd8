"""What all routes share: the tables, who may ask, and the threads that work."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Query

from errorfloor.errors import ErrorFloorError
from errorfloor.server.auth import Authentication
from errorfloor.server.course import Course
from errorfloor.server.idempotency import Keys
from errorfloor.server.metrics import Metrics
from errorfloor.server.models import Failure
from errorfloor.server.settings import Settings
from errorfloor.server.threads import Threads
from errorfloor.server.tokens import Token
from errorfloor.server.visit import Visit
from errorfloor.server.workshop import Workshop
from errorfloor.service import Database, Price
from errorfloor.service.attending import attended_by
from errorfloor.service.grant import Grant
from errorfloor.streams import Streams

Result = TypeVar("Result")
Dry = Annotated[bool, Query(description="Of the dummy rows that stand in for the tables.")]
MEANING = {
    400: "the body is not JSON in UTF-8",
    401: "no token, or one that is not known",
    403: "the role does not allow it, or the answer would break a declared floor",
    404: "there is no such thing",
    409: "the idempotency key was used for another question, or the step was answered from another measurement",
    413: "the body is too large",
    415: "the body is not announced as JSON",
    422: "what was given cannot be used, or a question that is not answered",
    429: "too many requests",
    503: "busy, out of time, or the ledger or the engine is out of reach",
}


@dataclass(frozen=True)
class Door:
    """One server's parts."""

    database: Database
    authentication: Authentication
    settings: Settings
    threads: Threads
    designing: Threads
    workshop: Workshop
    metrics: Metrics
    keys: Keys
    streams: Streams

    def tables(self, dry: bool, token: Token) -> Database:
        """Give the tables, or the same with dummy rows, as far as a token's terms reach."""
        return (self.database.dry() if dry else self.database).within(grant_of(token))

    async def attended(
        self, work: Callable[[], Result], visit: Visit, noted: Callable[[Price, Sequence[bool]], None] | None = None
    ) -> Result:
        """Work on questions in a thread: refused or given up before a charge, and after one answered on the grid."""
        course = Course(self.settings.grid, time_limit=self.settings.time_limit, noted=noted)

        def with_attendant() -> Result:
            with attended_by(course):
                return work()

        return await self._on_the_grid(with_attendant, visit, course)

    async def measured(self, work: Callable[[], Result], visit: Visit, cost: float) -> Result:
        """Work in a thread on something private that the caller brought: all of it is answered on the grid."""
        said = (ErrorFloorError,)  # streams have a fixed error of their own for what depends on a measurement
        course = Course(self.settings.grid, time_limit=self.settings.time_limit, said=said)

        def started() -> Result:
            course.start(cost)
            return work()

        return await self._on_the_grid(started, visit, course)

    async def _on_the_grid(self, work: Callable[[], Result], visit: Visit, course: Course) -> Result:
        try:
            return await self.threads.run(work, course)
        finally:
            visit.left = course.left


def grant_of(token: Token) -> Grant:
    """Give what the questions of a token are limited to."""
    return Grant(token.id, token.terms.tables, token.terms.question, token.terms.day)


def failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe the failures of a route; every one has the same shape.

    >>> sorted(failures(404))
    [401, 404, 429, 503]
    """
    return {status: {"model": Failure, "description": MEANING[status]} for status in {401, 429, 503, *statuses}}
