"""The routes of standing questions: follow one, list them, read, release, extend and cancel."""

from collections.abc import Callable
from typing import Annotated, Any

import pyarrow as pa
from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic import BaseModel, Field

from errorfloor.access.auth import visitor_of
from errorfloor.access.door import POSTED, ServerDoor, analyst_of, replies
from errorfloor.access.models import AccountState, Bound, Open, OverLimit, QuotaState, Wanted
from errorfloor.access.replies import JSON, as_json, as_table, body_of, preferred
from errorfloor.access.tokens import Role, Token
from errorfloor.access.visit import Visit
from errorfloor.answering.answer import quota_facts, standing_facts
from errorfloor.charging.standing import Standing
from errorfloor.errors import RefusedError
from errorfloor.following.following import Following
from errorfloor.following.price import FollowPrice

SQL = "SELECT region, sum(kwh) AS used FROM meters GROUP BY region"
PeriodName = Annotated[str, Field(min_length=1, max_length=20, description="A period, such as 2030-12.")]
Rows = Annotated[int, Field(ge=1, le=10**12, strict=True)]
Moving = Annotated[int, Field(ge=1, le=500, strict=True)]
FOLLOWED = {"sql": SQL, "since": "2024-01", "until": "2030-12", "max_error": 500}


class Followed(Wanted, json_schema_extra={"examples": [FOLLOWED]}):
    """A standing question: a sum or an average in every period from a first to a last one, and its running totals."""

    sql: Annotated[str, Field(min_length=1, description="SELECT [keys], sum(x) AS name FROM … [WHERE …] [GROUP BY …]")]
    since: Annotated[PeriodName, Field(description="The first period, such as 2024-01.")]
    until: Annotated[PeriodName, Field(description="The last one, such as 2030-12.")]
    max_error: Annotated[Bound, Field(description="No figure, and no running total, is off by more than this.")]
    part: Annotated[
        str | None, Field(max_length=20, description="What a period is: day, week, month, quarter or year.")
    ] = None
    column: Annotated[
        str | None, Field(max_length=200, description="The public date that says which period a row is in.")
    ] = None
    owner_rows: Annotated[Rows | None, Field(description="How many rows an owner has in one period at most.")] = None
    least_rows: Annotated[Rows | None, Field(description="For an average: the fewest rows it is over.")] = None
    over_limit: OverLimit = False

    def words(self) -> dict[str, Any]:
        """Give what ``follow`` takes."""
        return self.model_dump(exclude={"over_limit"})


class WantedPeriods(Wanted, json_schema_extra={"examples": [{"through": "2024-02"}]}):
    """Up to which period figures are released."""

    through: Annotated[PeriodName, Field(description="The last period whose rows are all there.")]
    moving: Annotated[Moving | None, Field(description="Also give totals of this many periods.")] = None


class Extension(Wanted, json_schema_extra={"examples": [{"until": "2032-12", "max_error": 500}]}):
    """Up to which later period a standing question goes on."""

    until: Annotated[PeriodName, Field(description="The last period, after the last one so far.")]
    max_error: Annotated[Bound | None, Field(description="The bound of what is added; without it, the same.")] = None
    over_limit: OverLimit = False


class Cancellation(Wanted, json_schema_extra={"examples": [{}]}):
    """An empty object."""


class FollowedState(Open):
    """A standing question; ``question``, ``output``, ``unit`` and ``keys`` are null if they are somebody else's."""

    id: Annotated[str, Field(description="The name by which it is found again.")]
    table: str
    question: str | None
    part: str
    since: str
    until: str
    blocks: Annotated[list[dict[str, Any]], Field(description="What was charged at once, with its bound.")]
    released: Annotated[list[str], Field(description="The periods that were released so far.")]
    cancelled: bool
    outlived: Annotated[bool, Field(description="The ledger was accepted since: nothing new is released.")]
    mine: Annotated[bool, Field(description="Whether the caller may release, extend and cancel it.")]


class FollowingReply(BaseModel):
    """The standing questions, oldest first."""

    following: list[FollowedState]


class FiguresReply(FollowedState):
    """A standing question, with what was released of it."""

    columns: list[str]
    rows: list[list[Any]]
    outputs: Annotated[list[dict[str, Any]], Field(description="How far each column of numbers may be off.")]
    wider: Annotated[list[str], Field(description="Where averages are over fewer rows than their bound is for.")]
    fresh: Annotated[bool, Field(description="Whether something was charged now.")]
    accounts: list[AccountState]
    explain: str


class FollowPriceReply(BaseModel):
    """What a standing question, or more of it, would cost; nothing was charged."""

    affordable: bool
    max_error: float
    total_error: Annotated[float, Field(description="The bound of running totals, in which bounds add up.")]
    accounts: list[AccountState]
    quotas: list[QuotaState]
    explain: str


def following(door: ServerDoor) -> APIRouter:
    """Give the routes."""
    routes = APIRouter(prefix="/v1/following", tags=["following"])
    Reader = Annotated[Token, Depends(door.authentication.require(Role.READER))]
    Poster = Annotated[Token, Depends(door.authentication.require(Role.READER, posted=True))]
    Analyst = Annotated[Token, Depends(door.authentication.require(Role.ANALYST, posted=True))]
    Id = Annotated[str, Path(min_length=1, max_length=40, description="The name under which it is listed.")]
    figured, priced = (replies(one, *POSTED, 403) for one in (FiguresReply, FollowPriceReply))

    async def worked(
        request: Request, token: Token, work: Callable[[], Following], show: Callable[[Following], pa.Table], over: bool
    ) -> Response:
        """Do what may charge, or read private columns, and give the figures that ``show`` gives."""
        visitor = visitor_of(request)

        def reply() -> Response:
            found = work()
            _note(visitor.visit, found)
            return _shown(found, show(found), request.headers.get("accept"))

        return await door.attended(visitor, token, reply, over_limit=over)

    def found(token: Token, name: str) -> Following:
        return door.tables(False, token).followed(name, analyst=analyst_of(token))

    @routes.get("", responses=replies(FollowingReply), summary="Standing questions")
    async def listed(token: Reader) -> Response:
        """Those about tables that the token may ask. Others' texts are null, unless the table shares its questions."""
        return await door.looked_up(
            token, lambda: as_json({"following": door.tables(False, token).following(analyst_of(token))})
        )

    @routes.post("", responses=figured, summary="Follow a question")
    async def follow(request: Request, token: Analyst, wanted: Followed) -> Response:
        """Charge a standing question for its whole horizon, once; in the same words again it is free."""
        door.check_length(wanted.sql)

        def work() -> Following:
            return door.tables(False, token).follow(**wanted.words(), analyst=analyst_of(token))

        return await worked(request, token, work, _so_far, wanted.over_limit)

    @routes.post("/price", responses=priced, summary="What following would cost")
    async def price(request: Request, token: Poster, wanted: Followed) -> Response:
        """What a standing question would cost, and what would be certain. Nothing is charged."""
        door.check_length(wanted.sql)

        def work() -> Response:
            return _priced(door.tables(False, token).follow_price(**wanted.words(), analyst=analyst_of(token)))

        return await door.attended(visitor_of(request), token, work)

    @routes.get("/{id}", responses=replies(FiguresReply, 422), summary="What was released")
    async def figures(
        request: Request,
        token: Reader,
        id: Id,
        moving: Annotated[int | None, Query(ge=1, le=500, description="Also give totals of this many periods.")] = None,
    ) -> Response:
        """The figures so far, for everybody who may ask the table. Nothing is read that was not released before.

        As with answers, `Accept` chooses Arrow, Parquet or CSV. In others' figures, columns have neutral names.
        """

        def work() -> Response:
            one = found(token, id)
            return _shown(one, one.figures(moving=moving), request.headers.get("accept"))

        return await door.attended(visitor_of(request), token, work)

    @routes.post("/{id}/release", responses=figured, summary="Release periods")
    async def release(request: Request, token: Analyst, id: Id, wanted: WantedPeriods) -> Response:
        """The figures up to a period. One that is new is read now, once and for all; nothing is charged.

        Only whoever follows the question, or an owner, releases new periods.
        """

        def show(one: Following) -> pa.Table:
            return one.release(wanted.through, moving=wanted.moving)

        return await worked(request, token, lambda: found(token, id), show, False)

    @routes.post("/{id}/extend/price", responses=priced, summary="What extending would cost")
    async def price_extension(request: Request, token: Poster, id: Id, wanted: Extension) -> Response:
        """What an extension would cost, and by how much bounds add up. Nothing is charged."""

        def work() -> Response:
            return _priced(found(token, id).price_extension(wanted.until, max_error=wanted.max_error))

        return await door.attended(visitor_of(request), token, work)

    @routes.post("/{id}/extend", responses=figured, summary="Extend it")
    async def extend(request: Request, token: Analyst, id: Id, wanted: Extension) -> Response:
        """Go on up to a later period: charged anew, with a noise and a bound of its own. Bounds of totals add up."""

        def work() -> Following:
            return found(token, id).extend(wanted.until, max_error=wanted.max_error)

        return await worked(request, token, work, _so_far, wanted.over_limit)

    @routes.post("/{id}/cancel", responses=figured, summary="Cancel it")
    async def cancel(request: Request, token: Analyst, id: Id, wanted: Cancellation) -> Response:
        """Release nothing more. What was charged stays charged, and what was released stays."""

        def work() -> Following:
            one = found(token, id)
            one.cancel()
            return one

        return await worked(request, token, work, _so_far, False)

    return routes


def _so_far(found: Following) -> pa.Table:
    """Give the figures so far; none where they are too many to be shown: what was charged is charged."""
    try:
        return found.figures()
    except RefusedError:
        return pa.table({found.shape.part: pa.array([], pa.string())})


def shown_table(found: Following, table: pa.Table) -> pa.Table:
    """Give figures as one may see them: the names in a question are as much of it as its text."""
    if found.is_seen:
        return table
    shape = found.shape
    names = {shape.part: shape.part} | {key: f"key_{place}" for place, key in enumerate(shape.keys, 1)}
    return table.rename_columns([names.get(one) or _without_name(one, found) for one in table.column_names])


def _without_name(column: str, found: Following) -> str:
    """Give a column of numbers without the name that the question gives them."""
    return f"value{column.removeprefix(found.shape.output)}"


def _shown(found: Following, table: pa.Table, accept: str | None) -> Response:
    shown, seen = shown_table(found, table), found.is_seen
    facts = {
        **found.to_dict(),
        "columns": shown.column_names,
        "outputs": [
            one if seen else {**one, "name": _without_name(one["name"], found), "unit": None} for one in found.outputs()
        ],
        "wider": found.wider(),
        "fresh": found.fresh,
        "accounts": _accounts(found.standings),
        "explain": found.explain() if seen else "",
    }
    form = preferred(accept)
    if form != JSON:
        return as_table(shown, form, body_of(facts))
    return as_json({**facts, "rows": [list(row.values()) for row in shown.to_pylist()]})


def _priced(price: FollowPrice) -> Response:
    quotas = [quota_facts(one) for one in price.quotas]
    said = {**price.to_dict(), "accounts": _accounts(price.standings), "quotas": quotas}
    return as_json({**said, "explain": price.explain()})


def _accounts(standings: tuple[Standing, ...]) -> list[dict[str, Any]]:
    return [standing_facts(one) for one in standings]


def _note(visit: Visit, found: Following) -> None:
    """Say for the audit log what was charged."""
    visit.facts |= {
        "table": found.facts["table"],
        "labels": [block.charge for block in found.blocks],
        "fresh": [found.fresh],
        "charges": {one.name: one.used_by_this for one in found.standings},
    }
