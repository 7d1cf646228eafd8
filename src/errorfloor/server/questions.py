"""The routes of questions: tables, price, ask, simulate."""

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Request, Response

from errorfloor.access.auth import visitor_of
from errorfloor.access.door import POSTED, Dry, ServerDoor, analyst_of, replies
from errorfloor.access.failures import DoorError
from errorfloor.access.models import (
    AnswerReply,
    Asked,
    ColumnsReply,
    DescribedQuestion,
    PriceReply,
    ReconciledReply,
    SimulationReply,
    TablesReply,
    TableState,
    WantedAnswer,
)
from errorfloor.access.replies import JSON, TABLES, as_json, as_table, in_parts, preferred
from errorfloor.access.tokens import Role, Token
from errorfloor.answering.answer import stated
from errorfloor.postgres.answers import described_columns
from errorfloor.server.statements import AT_ONCE, facts_json, json_parts, table_parts
from errorfloor.service import Answer
from errorfloor.sql import parse


def questions(door: ServerDoor) -> APIRouter:
    """Give the routes."""
    routes = APIRouter(prefix="/v1", tags=["questions"])
    Reader = Annotated[Token, Depends(door.authentication.require(Role.READER))]
    Poster = Annotated[Token, Depends(door.authentication.require(Role.READER, posted=True))]

    @routes.post("/ask", responses=replies(AnswerReply, *POSTED, 403, 409, forms=TABLES), summary="Ask")
    async def ask(
        request: Request,
        token: Poster,
        asked: Asked,
        idempotency_key: Annotated[
            str | None, Header(max_length=200, description="Refused (409) if it was used for another question.")
        ] = None,
    ) -> Response:
        """Charge, then answer. The same question again has the same answer and is free.

        A reader gets what was charged before; an analyst and an owner may spend. With `Accept:
        application/vnd.apache.arrow.stream` or `application/vnd.apache.parquet` the table comes as Arrow or Parquet,
        the rest in its schema's metadata; with `text/csv` it comes alone, safe to open in a spreadsheet.
        """
        door.check_length(asked.sql)
        if idempotency_key is not None:
            door.keys.check(token.id, idempotency_key, asked.model_dump_json().encode())

        def written(answer: Answer) -> Response:
            form = preferred(request.headers.get("accept"))
            if form != JSON:
                return as_table(answer.to_arrow(), form, facts_json(answer))
            return in_parts(json_parts(answer), large=answer.to_arrow().num_rows > AT_ONCE)

        return await door.ask(visitor_of(request), token, asked, written)

    @routes.get("/tables", responses=replies(TablesReply, 422), summary="What is declared")
    async def tables(token: Reader, dry: Dry = False) -> Response:
        """Names, units, ranges and floors of the declared tables; nothing that depends on a private value."""
        found = await door.threads.run(lambda: door.tables(dry, token).tables(), asker=token.id)
        return as_json({"tables": found})

    @routes.get("/tables/{name}", responses=replies(TableState, 404, 422), summary="One table")
    async def table(token: Reader, name: str) -> Response:
        """Names, units, ranges and floors of one declared table."""
        declared = await door.threads.run(door.tables(False, token).tables, asker=token.id)
        found = {one["name"]: one for one in declared}
        if name not in found:
            raise DoorError(404, "not-found", f"there is no table {name[:64]!r}; there are {', '.join(sorted(found))}")
        return as_json(found[name])

    @routes.post("/price", responses=replies(PriceReply, *POSTED, 403), summary="What it would cost")
    async def price(request: Request, token: Poster, wanted: WantedAnswer) -> Response:
        """What an answer would state and cost. Nothing is charged, and no private column is read."""
        return await door.price(visitor_of(request), token, wanted, lambda price: as_json(stated(price)))

    @routes.post(
        "/reconcile",
        responses=replies(ReconciledReply, *POSTED, 403, forms=TABLES),
        summary="An answer with numbers that agree with others",
    )
    async def reconcile(request: Request, token: Poster, wanted: WantedAnswer) -> Response:
        """The table of an answer that was charged before, with numbers that agree with other answers. It is free.

        Where answers about the same rows have a sum in common, certain intervals are intersected; a number is then
        between its ends, but perhaps farther from the truth than `max_error`. Used are answers that were the token's
        own, or are shared, and for an owner all. It comes in the forms that `/v1/ask` has.
        """
        door.check_length(wanted.sql)
        wish, analyst, visitor = wanted.wish(), analyst_of(token), visitor_of(request)

        def found() -> Answer:
            return door.tables(wanted.dry, token).ask(wanted.sql, **wish, analyst=analyst, charge=False)

        answer = await door.attended(visitor, token, found)

        def work() -> Response:
            table, form = answer.reconciled(), preferred(request.headers.get("accept"))
            return as_table(table, form, b"{}") if form != JSON else in_parts(table_parts(table), large=False)

        return await door.attended(visitor, token, work)  # of released numbers alone: what is refused may be said

    @routes.post("/columns", responses=replies(ColumnsReply, *POSTED), summary="Which columns an answer has")
    async def columns(token: Poster, wanted: DescribedQuestion) -> Response:
        """The names and types of the columns of an answer, in order, which follow from the question. Nothing is asked.

        The ends of certain intervals (`…_low`, `…_high`) of all that is private come last.
        """
        door.check_length(wanted.sql)
        catalogue = door.tables(False, token).catalogue
        found = await door.looked_up(token, lambda: described_columns(parse(wanted.sql, catalogue)))
        return as_json({"columns": found})

    @routes.post("/simulate", responses=replies(SimulationReply, *POSTED, 403), summary="What can still be asked")
    async def simulate(request: Request, token: Poster, wanted: WantedAnswer) -> Response:
        """How many more answers of this price fit, and how exact one can still be. Nothing is charged."""
        door.check_length(wanted.sql)
        wish, analyst = wanted.wish(), analyst_of(token)

        def work() -> Response:
            found = door.tables(wanted.dry, token).simulate(wanted.sql, **wish, analyst=analyst)
            return as_json({**found.to_dict(), "explain": found.explain()})

        return await door.attended(visitor_of(request), token, work)

    return routes
