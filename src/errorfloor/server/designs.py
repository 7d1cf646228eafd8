"""``POST /v1/designs``: the best noise for a support, beside the usual ones at the same standard error."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response
from pydantic import BaseModel, Field

from errorfloor.access.door import POSTED, ServerDoor, replies
from errorfloor.access.models import Open
from errorfloor.access.replies import as_json
from errorfloor.access.tokens import Role, Token
from errorfloor.access.workshop import WantedDesign


class DeltaCurve(BaseModel):
    """The smallest δ for each ε."""

    epsilon: list[float]
    delta: list[float]


class Told(BaseModel):
    """How often, at best, the right one of two true answers this far apart is named, at even odds."""

    distance: float
    told_apart: float


class DesignReply(Open):
    """The best noise and what it promises."""

    noise: dict[str, Any]
    information: list[list[float]]
    standard_error: list[float]
    max_error: Annotated[list[float | None], Field(description="null: no bound")]
    floors: list[Told]
    density: dict[str, Any]
    certificate: dict[str, Any] | None
    delta_curve: Annotated[DeltaCurve | None, Field(description="null where no formula is known")]
    compare: list[dict[str, Any]]


def designs(door: ServerDoor) -> APIRouter:
    """Give the route."""
    routes = APIRouter(prefix="/v1", tags=["designs"])
    Reader = Annotated[Token, Depends(door.authentication.require(Role.READER, posted=True))]

    @routes.post("/designs", responses=replies(DesignReply, *POSTED), summary="The best noise")
    async def best(_: Reader, wanted: WantedDesign) -> Response:
        """Find the noise that reveals least. It touches no table, and nothing is charged."""
        return await door.designing.run(lambda: as_json(door.workshop.design(wanted)))

    return routes
