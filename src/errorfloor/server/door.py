"""What all routes share: the tables, who may ask, and the threads that work."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Query

from errorfloor.server.auth import Authentication
from errorfloor.server.idempotency import Keys
from errorfloor.server.metrics import Metrics
from errorfloor.server.models import Failure
from errorfloor.server.settings import Settings
from errorfloor.server.threads import Threads
from errorfloor.server.workshop import Workshop
from errorfloor.service import Database
from errorfloor.streams import Streams

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

    def tables(self, dry: bool) -> Database:
        """Give the tables, or the same with dummy rows."""
        return self.database.dry() if dry else self.database


def failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe the failures of a route; every one has the same shape.

    >>> sorted(failures(404))
    [401, 404, 429, 503]
    """
    return {status: {"model": Failure, "description": MEANING[status]} for status in {401, 429, 503, *statuses}}
