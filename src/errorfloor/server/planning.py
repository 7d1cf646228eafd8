"""The route of plans: what a list of questions would take together."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, Field

from errorfloor.access.auth import visitor_of
from errorfloor.access.door import POSTED, ServerDoor, analyst_of, replies
from errorfloor.access.models import SQL, Bound, Open, Spend, Sql, Wanted
from errorfloor.access.replies import as_json
from errorfloor.access.tokens import Role, Token
from errorfloor.errors import InputError

MOST_PRICES = 1000  # that one plan may take
EXAMPLE: dict[str, Any] = {
    "questions": [{"sql": SQL, "max_error": [0.5, 1.0]}],
    "candidates": {"meters": {"kwh": [1.0, 5.0]}},
}


class ListedAnswer(Wanted):
    """A question of a plan, and how exact its answer should be."""

    sql: Sql
    max_error: Annotated[
        Bound | Annotated[list[Bound], Field(min_length=1, max_length=20)] | dict[str, Bound] | None,
        Field(description="No answer is off by more than this; of several the first counts, the others are priced."),
    ] = None
    spend: Spend = None
    name: Annotated[str, Field(max_length=80, description="What it is called in the plan.")] = ""


class WantedPlan(BaseModel, extra="forbid", json_schema_extra={"examples": [EXAMPLE]}):
    """Questions in the order in which they would be asked, and what might be declared instead."""

    questions: Annotated[list[ListedAnswer], Field(min_length=1, max_length=500)]
    candidates: Annotated[
        dict[str, dict[str, list[Bound | dict[str, Any]]]],
        Field(
            description="By table: floors to compare, for each private column, and for `owner` (numbers, or objects "
            "with `floor`, `apart`, `per` and `column`)."
        ),
    ] = {}
    dry: Annotated[bool, Field(description="Use dummy rows made from the catalogue alone.")] = False


class PlanReply(Open):
    """What the questions take, what fits together, and the floors that would allow it."""

    questions: list[dict[str, Any]]
    accounts: list[dict[str, Any]]
    fits: Annotated[bool, Field(description="From an empty ledger, under the declared floors.")]
    first_unfit: Annotated[str | None, Field(description="The name of the first question that no longer fits.")]
    fits_so_far: Annotated[
        bool | None, Field(description="The same with what was spent so far; null if nothing was spent.")
    ]
    wider: Annotated[
        float | None, Field(description="How many times as wide all bounds must be for everything to fit.")
    ]
    explain: str


def planning(door: ServerDoor) -> APIRouter:
    """Give the route."""
    routes = APIRouter(prefix="/v1", tags=["questions"])
    Poster = Annotated[Token, Depends(door.authentication.require(Role.READER, posted=True))]

    @routes.post("/plan", responses=replies(PlanReply, *POSTED, 403), summary="What questions would take together")
    async def plan(request: Request, token: Poster, wanted: WantedPlan) -> Response:
        """What questions take of each account, in order, and which floors would allow them.

        Nothing is charged, no private column is read, and nothing is promised.
        """
        for one in wanted.questions:
            door.check_length(one.sql)
        considered = sum(len(choices) for table in wanted.candidates.values() for choices in table.values())
        bounds = sum(len(one.max_error) for one in wanted.questions if isinstance(one.max_error, list))
        declared = door.tables(wanted.dry, token).catalogue.tables.values()
        accounts = sum(len(table.private) + (table.owner is not None) for table in declared)
        prices = bounds + len(wanted.questions) * (2 + considered + accounts)  # each is priced for each of these
        if prices > MOST_PRICES:
            raise InputError(
                f"this plan takes {prices:,} prices, and {MOST_PRICES:,} are allowed: plan fewer questions or fewer "
                f"candidates at a time, or beside the data with errorfloor plan",
                prices=prices,
                most=MOST_PRICES,
            )
        questions = [one.model_dump(exclude_none=True) for one in wanted.questions]

        def work() -> Response:
            tables = door.tables(wanted.dry, token)
            found = tables.plan(questions, wanted.candidates, analyst=analyst_of(token))
            return as_json({**found.to_dict(), "explain": found.explain()})

        return await door.attended(visitor_of(request), token, work)

    return routes
