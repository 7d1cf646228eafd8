"""The routes of signing in and out, and the link that the server prints."""

import json
from collections.abc import Callable
from urllib.parse import parse_qs

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from errorfloor.access.auth import Authentication
from errorfloor.access.failures import DoorError
from errorfloor.access.provider import Provider
from errorfloor.access.replies import as_json
from errorfloor.access.visit import visit_of
from errorfloor.server.pages.routes import drawn

Page = Callable[[Request, str, DoorError], Response]  # the login page again, with what went wrong


def signing_in(authentication: Authentication, page: Page) -> APIRouter:
    """Give the routes ``POST /login`` (a form, or JSON) and ``POST /logout``."""
    routes = APIRouter(include_in_schema=False)

    @routes.post("/login")
    async def login(request: Request) -> Response:
        content = await request.body()
        if request.headers.get("content-type", "").startswith("application/json"):
            token = authentication.recognise(request, _token(content))
            response: Response = as_json({"done": True})
            authentication.begin(request, response, token)
            return response
        form = parse_qs(content.decode("utf-8", "replace"))
        following = local(form.get("next", ["/"])[0])
        try:
            token = authentication.recognise(request, form.get("token", [""])[0].strip())
            response = RedirectResponse(following, status_code=303)
            authentication.begin(request, response, token)
        except DoorError as problem:
            if "application/json" in request.headers.get("accept", ""):
                raise
            return page(request, following, problem)
        return response

    @routes.post("/logout")
    async def logout(request: Request) -> Response:
        response = RedirectResponse("/login", status_code=303)
        authentication.sign_out(request, response)
        return response

    return routes


def signing_in_elsewhere(authentication: Authentication, provider: Provider, page: Page) -> APIRouter:
    """Give the routes ``GET /login/provider``, which leads to the provider, and ``GET /login/callback``, back."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/login/provider")
    async def send(request: Request) -> Response:
        following = local(request.query_params.get("next", "/"))
        try:
            authentication.check_attempts(request)
            response = await provider.send(request, following)
        except DoorError as problem:
            return page(request, following, problem)
        visit_of(request.scope).facts["sign_in"] = "begun"
        return response

    @routes.get("/login/callback")
    async def receive(request: Request) -> Response:
        try:
            authentication.check_attempts(request)
            token, following = await provider.receive(request)
            # a page, and no redirect: a strict cookie does not go along on a way that began at another site
            response = drawn(request, "signed_in", "Signed in", following=following)
            authentication.begin(request, response, token)
        except DoorError as problem:
            if problem.status == 401:
                authentication.count_failure(request)
            response = page(request, "/", problem)
        provider.forget(request, response)
        return response

    return routes


class Link:
    """Signs in who follows the link that the server printed, ``/?token=…``, and takes the token out of the address."""

    def __init__(self, app: ASGIApp, authentication: Authentication, page: Page) -> None:
        self._app, self._authentication, self._page = app, authentication, page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Redirect a link with a token; let everything else pass."""
        if scope["type"] != "http" or scope["path"] != "/" or scope["method"] != "GET" or not scope["query_string"]:
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        text = request.query_params.get("token")
        if text is None:
            await self._app(scope, receive, send)
            return
        response: Response = RedirectResponse("/", status_code=303)
        try:
            self._authentication.begin(request, response, self._authentication.recognise(request, text))
        except DoorError as problem:
            response = self._page(request, "/", problem)
        await response(scope, receive, send)


def _token(content: bytes) -> str:
    try:
        plain = json.loads(content)
    except (ValueError, RecursionError):  # brackets in brackets in brackets
        return ""
    text = plain.get("token") if isinstance(plain, dict) else None
    return text if isinstance(text, str) else ""


def local(path: str) -> str:
    """Give a path of this server; anything else could lead away.

    >>> local("/ledger"), local("//elsewhere.example"), local("https://elsewhere.example")
    ('/ledger', '/', '/')
    """
    plain = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable() and path.isascii()
    return path if plain else "/"
