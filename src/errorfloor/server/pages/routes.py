"""The routes of the pages; they only draw, and everything they show comes by the API that everybody uses.

Signing in and out (``POST /login``, ``POST /logout``, ``GET /?token=…``) sets the cookie and belongs to the door.
"""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from errorfloor.access.door import grant_of
from errorfloor.access.failures import DoorError
from errorfloor.access.tokens import Token
from errorfloor.access.visit import visit_of
from errorfloor.catalogue import Catalogue
from errorfloor.server.pages.drawing import PAGES, drawn, login_page, static_file
from errorfloor.server.pages.sheet import guarantee


def router(catalogue: Callable[[], Catalogue], visitor: Callable[[Request], Token | None]) -> APIRouter:
    """Give the routes of the pages; the guarantee is about what ``catalogue`` gives as declared now.

    ``visitor`` says whose cookie or token a request carries; None if nobody's, who is then sent to the login page.

    >>> from errorfloor.service.example import example_database
    >>> with example_database() as db:
    ...     [route.path for route in router(lambda: db.catalogue, lambda request: None).routes]
    ['/', '/login', '/static/{wanted}/{name}', '/ask', '/plan', '/follow', '/ledger', '/noise', '/about']
    """
    pages = APIRouter(include_in_schema=False)

    def sheet(token: Token) -> dict[str, Any]:
        return {"sheet": guarantee(grant_of(token).part_of(catalogue()))}

    def page(name: str, title: str, facts: Callable[[Token], dict[str, Any]]) -> Callable[[Request], Response]:
        def show(request: Request) -> Response:
            try:
                found = visitor(request)
            except DoorError as problem:
                visit_of(request.scope).code = problem.code
                return login_page(request, name, problem)
            if found is None:
                return RedirectResponse(f"/login?next={quote('/' + name)}", status_code=303)
            return drawn(request, name, title, visitor=found, **facts(found))

        return show

    @pages.get("/")
    def home() -> Response:
        return RedirectResponse("/ask", status_code=303)

    @pages.get("/login")
    def login(request: Request) -> Response:
        return login_page(request, request.query_params.get("next", ""))

    pages.get("/static/{wanted}/{name}")(static_file)
    for name, title in PAGES.items():
        pages.get(f"/{name}", name=name)(page(name, title, sheet if name == "about" else lambda _: {}))
    return pages
