"""The routes for whoever runs the server: is it there, and what does it count."""

import os
from collections.abc import Iterable
from typing import Annotated

from fastapi import APIRouter, Depends, Response
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel, Field

from errorfloor.access.door import ServerDoor, failures, grant_of
from errorfloor.access.replies import as_json
from errorfloor.access.tokens import Role, Token
from errorfloor.catalogue.registers import account_names
from errorfloor.charging.standing import Standing
from errorfloor.planning.listed import account_name
from errorfloor.service.opening import PARTS
from errorfloor.version import __version__


class HealthReply(BaseModel):
    """The server is there."""

    status: str
    version: str
    process: Annotated[int, Field(description="Which of the server's processes answered.")]


class ReadyReply(BaseModel):
    """Whether questions can be answered now."""

    ready: bool
    parts: Annotated[dict[str, bool], Field(description="The ledger with its anchor, the snapshots, the engine.")]


def health(door: ServerDoor) -> APIRouter:
    """Give the routes."""
    routes = APIRouter(tags=["running"])
    Reader = Annotated[Token, Depends(door.authentication.require(Role.READER))]

    @routes.get("/healthz", responses={200: {"model": HealthReply}}, summary="Is it running")
    async def healthz() -> Response:
        """Needs no token, and reads nothing."""
        return as_json({"status": "ok", "version": __version__, "process": os.getpid()})

    @routes.get("/readyz", responses={200: {"model": ReadyReply}, 503: {"model": ReadyReply}}, summary="Can it answer")
    async def readyz() -> Response:
        """Needs no token. Says whether ledger, anchor, snapshots and engine are available; 503 if not.

        It looks once a second at most, however many ask.
        """
        parts = await door.ready()
        if parts is None:  # not within its time
            parts = dict.fromkeys(PARTS, False)
        return as_json({"ready": all(parts.values()), "parts": parts}, 200 if all(parts.values()) else 503)

    @routes.get(
        "/metrics",
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **failures()},
        summary="What it counts",
        response_class=Response,
    )
    async def metrics(token: Reader) -> Response:
        """Figures for Prometheus; none depends on a private value. A token for some tables sees no others named."""
        standings = await door.shares()  # None: the alarm that the ledger is away must not need the ledger
        seen = account_names(door.current.look().within(grant_of(token)).catalogue.tables)
        used = None if standings is None else _used(one for one in standings if one.account.table in seen)
        return Response(door.metrics.text(used), media_type=CONTENT_TYPE_LATEST)

    return routes


def _used(standings: Iterable[Standing]) -> dict[str, float]:
    """Give the largest share used among the accounts of each column and of each table's owners."""
    used: dict[str, float] = {}
    for standing in standings:
        name = account_name(standing.account)
        used[name] = max(used.get(name, 0.0), standing.used)
    return used
