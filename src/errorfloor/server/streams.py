"""The routes of streams: what is declared, push a measurement, pull what was answered.

Measurements are private. They come from the owner's side alone, are in no log, metric or failure, and are not kept:
what is kept is the answer. Whoever may read may pull it.
"""

import hashlib
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel, Field

from errorfloor.access.auth import visitor_of
from errorfloor.access.door import POSTED, ServerDoor, grant_of, replies
from errorfloor.access.failures import DoorError, failure, failure_of
from errorfloor.access.models import Open, Wanted
from errorfloor.access.replies import as_json
from errorfloor.access.tokens import Role, Token
from errorfloor.access.visit import visit_of
from errorfloor.errors import RefusedError
from errorfloor.streams import Journal

PUSH = 0.01  # seconds that an answer to a measurement takes: two durable records and a few numbers
OF_THE_MEASUREMENT = ("corrected", "measurement")  # reasons that depend on it
EXAMPLE = {"entity": "car 7", "trip": "2026-05-01 morning", "step": 0, "measurement": [120.0]}


class Measured(Wanted, json_schema_extra={"examples": [EXAMPLE]}):
    """A measurement: the true output C x[k] at step k of a trip of an entity."""

    entity: Annotated[str, Field(min_length=1, max_length=200, description="Whose trip it is, by a public name.")]
    trip: Annotated[str, Field(min_length=1, max_length=200, description="The trip's name, used for no other trip.")]
    step: Annotated[int, Field(ge=0, le=2**31, strict=True, description="k, from 0 to the horizon; each step once.")]
    measurement: Annotated[
        list[Any],
        Field(
            max_length=100,
            description="The m numbers of C x[k]. They are private and not kept; the log does not say whether "
            "they were accepted.",
            json_schema_extra={"items": {"type": "number"}},
        ),
    ]


class StateFacts(Open):
    """What is declared of a private state, and what a trip costs it."""

    name: str
    unit: str
    floor: float
    distance: float
    share: Annotated[float, Field(description="The part of an entity's allowance that one trip takes.")]
    explain: str


class StreamState(Open):
    """What is declared and promised of a stream; public things only."""

    name: str
    horizon: int
    outputs: Annotated[int, Field(description="How many numbers a measurement has.")]
    step: Annotated[float, Field(description="Answers are multiples of it.")]
    private: list[StateFacts]
    public: Annotated[list[str], Field(description="States that are released exactly.")]
    trips: Annotated[int, Field(description="How many trips of an entity the declared floors allow.")]
    explain: str


class StreamsReply(BaseModel):
    """Every declared stream."""

    streams: list[StreamState]


class ReleasedStep(BaseModel):
    """What was released for a step."""

    step: int
    answer: list[float]


class StepReply(ReleasedStep):
    """What is released for a step; ``fresh`` is false if it had been before."""

    fresh: bool


class StepsReply(BaseModel):
    """Steps of a trip that were answered; ``next`` is the ``after`` of the page that follows, null at the horizon."""

    answers: list[ReleasedStep]
    next: int | None


def streams(door: ServerDoor) -> APIRouter:
    """Give the routes."""
    routes = APIRouter(prefix="/v1/streams", tags=["streams"])
    Reader = Annotated[Token, Depends(door.authentication.require(Role.READER))]
    Pusher = Annotated[Token, Depends(door.authentication.require(Role.OWNER, posted=True))]

    def journal(name: str, token: Token) -> Journal:
        names = [one for one in door.streams.names if grant_of(token).covers(one)]
        if name not in names:
            known = ", ".join(names) or "none"
            raise DoorError(404, "not-found", f"there is no stream {name[:64]!r}; declared are {known}")
        return door.streams.journal(name)

    @routes.get("", responses=replies(StreamsReply), summary="Which streams there are")
    async def declared(token: Reader) -> Response:
        """Horizon, states, floors, and what a trip takes of its entity's allowance; nothing private."""
        found = await door.threads.run(door.streams.facts, asker=token.id)
        return as_json({"streams": [facts for facts in found if grant_of(token).covers(facts["name"])]})

    @routes.get("/{name}", responses=replies(StreamState, 404, 422), summary="One stream")
    async def one(token: Reader, name: str) -> Response:
        """Horizon, states and floors of one stream, and what a trip takes."""
        journal(name, token)
        found = await door.threads.run(door.streams.facts, asker=token.id)
        return as_json(next(facts for facts in found if facts["name"] == name))

    @routes.post("/{name}/answers", responses=replies(StepReply, *POSTED, 403, 404, 409), summary="Push a measurement")
    async def push(request: Request, token: Pusher, name: str, measured: Measured) -> Response:
        """Release the measurement C x[k] of one step of a trip; for the owner's side alone, since it is private.

        A trip is charged once to its entity's account, before its first answer. Each step is answered once: the same
        measurement again gives the same answer, free; another one for that step is refused (409).
        """
        found, visit = journal(name, token), visit_of(request.scope)
        visit.facts |= {"stream": name, "labels": [_digest(name, measured)]}

        def work() -> Response:
            try:
                names = measured.entity, measured.trip, measured.step
                answer = found.answer(*names, measured.measurement, grant_of(token))
            except RefusedError as problem:
                if problem.fields.get("reason") not in OF_THE_MEASUREMENT:
                    raise
                visit.written = 200  # what is written down must not depend on the measurement
                if problem.fields["reason"] == "corrected":
                    return failure(409, "answered", str(problem), problem.fields)
                return failure_of(problem)
            return as_json(answer.to_dict())

        return await door.measured(visitor_of(request), work, PUSH)

    @routes.get("/{name}/answers", responses=replies(StepsReply, 404, 422), summary="Pull what was answered")
    async def pull(
        token: Reader,
        name: str,
        entity: Annotated[str, Query(min_length=1, max_length=200)],
        trip: Annotated[str, Query(min_length=1, max_length=200)],
        after: Annotated[int, Query(ge=-1, le=2**31, description="The last step seen; -1: none.")] = -1,
        limit: Annotated[int, Query(ge=1, le=1000, description="How many steps to look at, at most.")] = 100,
    ) -> Response:
        """The answers to the steps after one, as far as they were given. Nothing is charged."""
        found = journal(name, token)
        horizon = found.stream.plan.system.horizon

        def work() -> dict[str, Any]:
            answers = found.answers(entity, trip, after=after, limit=limit)
            following = after + limit if after + limit < horizon else None
            return {"answers": [{"step": one.step, "answer": list(one.answer)} for one in answers], "next": following}

        return as_json(await door.threads.run(work, asker=token.id))

    return routes


def _digest(name: str, measured: Measured) -> str:
    """Say for the audit log which answer it is about: neither its numbers nor the measurement's are in it."""
    names = (name, measured.entity, measured.trip, measured.step)
    return hashlib.sha256(repr(names).encode("utf-8", "backslashreplace")).hexdigest()
