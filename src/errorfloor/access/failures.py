"""Every failure has one shape, ``{"error": {"code", "message", "fields"}}``, and none has a traceback."""

import json
import logging
import math
import re
import traceback
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from errorfloor.access.mistakes import mistakes
from errorfloor.access.replies import JSON, body_of
from errorfloor.access.visit import visit_of
from errorfloor.errors import ErrorFloorError

LOG = logging.getLogger("errorfloor.server")
PLACE = re.compile(r"\b[a-z][a-z0-9+]*://[^\s'\")]+|(?<![\w/.])(?:\.{0,2}/|[A-Za-z]:\\)[^\s'\":;,)]*[^\s'\":;,).]")
PLACES = frozenset({"path", "file", "folder", "url", "ledger", "anchor"})  # fields that hold one
UNEXPECTED = "something failed that should not have; the server's log says where"
CODES = {
    400: ("malformed", "the body of the request cannot be read as JSON in UTF-8"),
    404: ("not-found", "there is nothing at this address: /openapi.json lists what there is"),
    405: ("method", "this address does not take this method: the header Allow lists those it takes"),
    413: ("too-large", "the body of the request is too large"),
    415: ("media-type", "the body must be JSON: send Content-Type: application/json"),
}


class DoorError(ErrorFloorError):
    """A request that is turned away at the door, whatever it asks.

    >>> problem = DoorError(429, "rate", "too many requests: wait 2 s", headers={"Retry-After": "2"})
    >>> problem.status, problem.code, problem.headers
    (429, 'rate', {'Retry-After': '2'})
    """

    def __init__(
        self, status: int, code: str, message: str, *, headers: Mapping[str, str] | None = None, **fields: object
    ) -> None:
        super().__init__(message, **fields)
        self.status = status
        self.code = code  # type: ignore[misc]  # the others fix theirs by class; the door's differ by what is missing
        self.headers = dict(headers or {})


def failure(
    status: int,
    code: str,
    message: str,
    fields: Mapping[str, object] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Give a failure as a response."""
    plain = {name: _plain(value) for name, value in (fields or {}).items()}
    content = body_of({"error": {"code": code, "message": message, "fields": plain}})
    return Response(content, status, dict(headers or {}), media_type=JSON)


def failure_of(problem: ErrorFloorError) -> Response:
    """Give one of our own errors as a response."""
    return failure(*said_of(problem))


def said_of(problem: ErrorFloorError) -> tuple[int, str, str, Mapping[str, object], Mapping[str, str]]:
    """Give what is said of one of our own errors, at any door: status, code, message, fields and headers."""
    if isinstance(problem, DoorError):
        return problem.status, problem.code, str(problem), problem.fields, problem.headers
    headers = {"Retry-After": "5"} if problem.http_status == 503 else {}
    text, fields = str(problem), problem.fields
    if problem.http_status >= 500:
        LOG.error("%s: %s", problem.code, text)  # whoever runs the server is told where things are, nobody else
        text, fields = without_places(text), {name: value for name, value in fields.items() if name not in PLACES}
    return problem.http_status, problem.code, text, fields, headers


def without_places(text: str) -> str:
    """Take the paths and addresses of files and databases out of a message.

    >>> without_places("the ledger /srv/pay/ledger.sqlite (or postgresql://ef@db/ledger) is gone: restore it")
    'the ledger … (or …) is gone: restore it'
    """
    return PLACE.sub("…", text)


def unexpected(problem: BaseException) -> Response:
    """Answer what should not have happened; the log has where, and never what the exception says, which may be private.

    >>> json.loads(unexpected(RuntimeError("private")).body)["error"]["code"]
    'failure'
    """
    frames = traceback.extract_tb(problem.__traceback__)[-8:]
    where = " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames))
    LOG.error("unexpected %s at %s", type(problem).__name__, where)
    return failure(500, "failure", UNEXPECTED)


def install(app: FastAPI) -> None:
    """Give every failure of an app this shape."""

    async def ours(request: Request, problem: Exception) -> Response:
        assert isinstance(problem, ErrorFloorError)
        visit_of(request.scope).code = problem.code
        return failure_of(problem)

    async def invalid(request: Request, problem: Exception) -> Response:
        assert isinstance(problem, RequestValidationError)
        visit_of(request.scope).code = "input"
        found = mistakes(problem.errors(), problem.body, _model(request))
        return failure(422, "input", "; ".join(one["problem"] for one in found), {"problems": found})

    async def of_http(request: Request, problem: Exception) -> Response:
        assert isinstance(problem, HTTPException)
        code, text = CODES.get(problem.status_code, ("http", str(problem.detail)))
        visit_of(request.scope).code = code
        headers = {**(problem.headers or {}), **(_allowed(request) if problem.status_code == 405 else {})}
        return failure(problem.status_code, code, text, headers=headers)

    app.add_exception_handler(ErrorFloorError, ours)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, of_http)


def _allowed(request: Request) -> dict[str, str]:
    """List the methods that an address takes in all its routes; the router lists those of the first one only."""
    described = request.app.openapi()["paths"].get(getattr(request.scope.get("route"), "path", None))
    return {} if described is None else {"Allow": ", ".join(sorted(method.upper() for method in described))}


def _model(request: Request) -> type[BaseModel] | None:
    """Give what the body of a request to this address should look like."""
    field = getattr(request.scope.get("route"), "body_field", None)
    wanted = None if field is None else field.field_info.annotation
    return wanted if isinstance(wanted, type) and issubclass(wanted, BaseModel) else None


def _plain(value: Any) -> Any:
    """Give a field of an error as JSON; what has no such form is left as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return str(value)
    return value
