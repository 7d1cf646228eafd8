"""The routes of the ledger: how the accounts stand, and the history in pages."""

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel

from errorfloor.access.door import Dry, ServerDoor, analyst_of, replies
from errorfloor.access.failures import DoorError
from errorfloor.access.models import AccountState, Open, QuotaState
from errorfloor.access.replies import as_json
from errorfloor.access.tokens import Role, Token
from errorfloor.answering.answer import quota_facts, standing_facts

OWNERS_ONLY = ("label", "hash", "analyst", "charges")
After = Annotated[int, Query(ge=0, le=2**62, description="The number of the last one seen.")]
Most = Annotated[int, Query(ge=1, le=1000, description="How many at most.")]


class LedgerReply(Open):
    """A page of how the accounts stand, and the caller's quotas of them; ``next`` begins the page after it."""

    accounts: list[AccountState]
    quotas: list[QuotaState]
    next: int | None


class EntriesReply(BaseModel):
    """A page of the history; ``next`` is the ``after`` of the page that follows, null at the end."""

    entries: list[dict[str, Any]]
    next: int | None


class KnownAnswer(Open):
    """An answer that is kept; of somebody else's ``outputs`` is empty, and what it asked, cells and bytes are null."""

    number: int
    time: str
    table: str
    version: str
    cells: int | None
    question: str | None
    wish: dict[str, Any] | None
    outputs: list[dict[str, Any]]


class KnownReply(BaseModel):
    """A page of what is kept; ``next`` is the ``after`` of the page that follows, null at the end."""

    answers: list[KnownAnswer]
    next: int | None


def accounts(door: ServerDoor) -> APIRouter:
    """Give the routes."""
    routes = APIRouter(prefix="/v1/ledger", tags=["ledger"])
    Reader = Annotated[Token, Depends(door.authentication.require(Role.READER))]

    @routes.get("", responses=replies(LedgerReply, 422), summary="How the accounts stand")
    async def ledger(
        token: Reader,
        after: Annotated[int, Query(ge=0, le=2**62, description="How many accounts to skip.")] = 0,
        limit: Annotated[int, Query(ge=1, le=1000, description="How many accounts at most.")] = 1000,
        dry: Dry = False,
    ) -> Response:
        """A page of what is used of each allowance, and of the caller's quotas of the same accounts."""
        analyst = analyst_of(token)

        def work() -> Response:
            database = door.tables(dry, token)
            left = database.left()
            shown = left[after : after + limit]
            accounts = {standing.account for standing in shown}
            quotas = [quota for quota in database.quotas(analyst) if replace(quota.account, holder="") in accounts]
            return as_json(
                {
                    "accounts": [standing_facts(standing) for standing in shown],
                    "quotas": [quota_facts(quota) for quota in quotas],
                    "next": after + limit if after + limit < len(left) else None,
                }
            )

        return await door.looked_up(token, work)

    @routes.get("/entries", responses=replies(EntriesReply, 403, 422), summary="The history")
    async def entries(
        token: Reader,
        after: After = 0,
        limit: Most = 100,
        dry: Dry = False,
        analyst: Annotated[
            str | None, Query(max_length=200, description="Only those of this analyst; only an owner may name others.")
        ] = None,
    ) -> Response:
        """A page of the history, oldest first, with the questions that are yours or shared; the owner sees all."""
        if analyst not in (None, analyst_of(token)) and token.role is not Role.OWNER:
            raise DoorError(
                403, "role", "only an owner may ask for the history of others: leave analyst out, or give your own name"
            )

        def work() -> Response:
            found = door.tables(dry, token).history(after, limit, analyst_of(token), analyst)
            hidden = () if token.role is Role.OWNER else OWNERS_ONLY
            shown = [{name: value for name, value in entry.items() if name not in hidden} for entry in found]
            return _page("entries", shown, "sequence", limit)

        return await door.looked_up(token, work)

    @routes.get("/known", responses=replies(KnownReply, 422), summary="What is free to ask")
    async def known(token: Reader, after: After = 0, limit: Most = 100, dry: Dry = False) -> Response:
        """A page of what is kept, oldest first; asked again, it is free. Of what others asked it says when that was."""

        def work() -> Response:
            return _page("answers", door.tables(dry, token).known(after, limit, analyst_of(token)), "number", limit)

        return await door.looked_up(token, work)

    return routes


def _page(name: str, found: list[dict[str, Any]], number: str, limit: int) -> Response:
    """Give a page, and after which number the next one begins, if this one is full."""
    return as_json({name: found, "next": found[-1][number] if len(found) == limit else None})
