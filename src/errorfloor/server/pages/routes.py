"""The routes of the pages; they only draw, and everything they show comes by the API that everybody uses.

Signing in and out (``POST /login``, ``POST /logout``, ``GET /?token=…``) sets the cookie and belongs to the door.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import RedirectResponse, Response
from fastapi.templating import Jinja2Templates

from errorfloor.server.pages.files import read_folder
from errorfloor.server.pages.sheet import guarantee
from errorfloor.service import Database
from errorfloor.version import __version__

HERE = Path(__file__).parent
PAGES = {"ask": "Ask", "ledger": "Ledger", "noise": "Noise", "about": "About"}


class Visitor(Protocol):
    """Who is signed in: the name and the role (owner, analyst, reader) of a token."""

    @property
    def name(self) -> str:
        """The token's name."""

    @property
    def role(self) -> str:
        """What the token may do."""


def router(database: Database, visitor: Callable[[Request], Visitor | None]) -> APIRouter:
    """Give the routes of the pages.

    Parameters
    ----------
    database
        The tables that the guarantee is about; nothing but declarations is read.
    visitor
        Says whose cookie or token a request carries; None if nobody's, who is then sent to the login page.

    >>> from errorfloor.service.example import example_database
    >>> with example_database() as db:
    ...     [route.path for route in router(db, lambda request: None).routes]
    ['/', '/login', '/static/{wanted}/{name}', '/ask', '/ledger', '/noise', '/about']
    """
    pages = APIRouter(include_in_schema=False)
    templates = Jinja2Templates(directory=HERE / "templates")
    files = read_folder(HERE / "static")
    edition = files.edition

    def drawn(request: Request, name: str, title: str, **facts: Any) -> Response:
        known = {"title": title, "here": name, "pages": PAGES, "version": __version__, "visitor": None}
        page = templates.TemplateResponse(request, f"{name}.html", known | {"static": f"/static/{edition}"} | facts)
        page.headers["Cache-Control"] = "no-store"
        return page

    def page(name: str, title: str, facts: Callable[[], dict[str, Any]]) -> Callable[[Request], Response]:
        def show(request: Request) -> Response:
            found = visitor(request)
            if found is None:
                return RedirectResponse(f"/login?next={quote('/' + name)}", status_code=303)
            return drawn(request, name, title, visitor=found, **facts())

        return show

    @pages.get("/")
    def home() -> Response:
        return RedirectResponse("/ask", status_code=303)

    @pages.get("/login")
    def login(request: Request) -> Response:
        wanted = request.query_params.get("next", "").removeprefix("/")
        following = f"/{wanted}" if wanted in PAGES else "/ask"  # a page of this server, never an address elsewhere
        return drawn(request, "login", "Sign in", following=following, failed="failed" in request.query_params)

    @pages.get("/static/{wanted}/{name}")
    def static(wanted: str, name: str) -> Response:
        if wanted != edition or name not in files.content:
            raise HTTPException(404)
        headers = {"Cache-Control": "public, max-age=31536000, immutable"}
        return Response(files.content[name], media_type=files.type_of(name), headers=headers)

    for name, title in PAGES.items():
        facts = (lambda: {"sheet": guarantee(database.catalogue)}) if name == "about" else dict
        pages.get(f"/{name}", name=name)(page(name, title, facts))
    return pages
