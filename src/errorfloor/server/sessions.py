"""Signing in and out: the pages carry the token in a cookie that scripts cannot read."""

import json
from typing import Any
from urllib.parse import parse_qs, quote

from fastapi import APIRouter, Request, Response
from starlette.requests import Request as Asked
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from errorfloor.server.auth import Authentication
from errorfloor.server.failures import DoorError
from errorfloor.server.replies import as_json


def sessions(authentication: Authentication) -> APIRouter:
    """Give the routes ``POST /login`` (a form, or JSON) and ``POST /logout``."""
    routes = APIRouter(include_in_schema=False)

    @routes.post("/login")
    async def login(request: Request) -> Response:
        content = await request.body()
        if request.headers.get("content-type", "").startswith("application/json"):
            response: Response = as_json({"done": True})
            if authentication.sign_in(request, response, _token(_json(content))) is None:
                raise _unknown()
            return response
        form = parse_qs(content.decode("utf-8", "replace"))
        following = _local(form.get("next", ["/"])[0])
        response = RedirectResponse(following, status_code=303)
        if authentication.sign_in(request, response, form.get("token", [""])[0].strip()) is None:
            if "application/json" in request.headers.get("accept", ""):
                raise _unknown()
            return RedirectResponse(f"/login?failed=1&next={quote(following)}", status_code=303)
        return response

    @routes.post("/logout")
    async def logout(request: Request) -> Response:
        authentication.caller(request)  # a forged request is refused
        response = RedirectResponse("/login", status_code=303)
        authentication.sign_out(response)
        return response

    return routes


class Link:
    """Signs in who follows the link that the server printed, ``/?token=…``, and takes the token out of the address."""

    def __init__(self, app: ASGIApp, authentication: Authentication) -> None:
        self._app, self._authentication = app, authentication

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Redirect a link with a token; let everything else pass."""
        if scope["type"] != "http" or scope["path"] != "/" or scope["method"] != "GET" or not scope["query_string"]:
            await self._app(scope, receive, send)
            return
        request = Asked(scope)
        text = request.query_params.get("token")
        if text is None:
            await self._app(scope, receive, send)
            return
        response = RedirectResponse("/", status_code=303)
        if self._authentication.sign_in(request, response, text) is None:
            response = RedirectResponse("/login?failed=1", status_code=303)
        await response(scope, receive, send)


def _unknown() -> DoorError:
    return DoorError(401, "token", "the server does not know this token", headers={"WWW-Authenticate": "Bearer"})


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):  # brackets in brackets in brackets
        return None


def _token(plain: Any) -> str:
    text = plain.get("token") if isinstance(plain, dict) else None
    return text if isinstance(text, str) else ""


def _local(path: str) -> str:
    """Give a path of this server; anything else could lead away.

    >>> _local("/ledger"), _local("//elsewhere.example"), _local("https://elsewhere.example")
    ('/ledger', '/', '/')
    """
    plain = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable() and path.isascii()
    return path if plain else "/"
