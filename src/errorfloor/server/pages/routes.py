"""The pages: their templates and files, and their routes, which only draw.

What a page shows comes by the API that everybody uses. Signing in and out (``POST /login``, ``POST /logout``, ``GET
/?token=…``) sets the cookie and belongs to the door.
"""

import hashlib
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import RedirectResponse, Response
from fastapi.templating import Jinja2Templates

from errorfloor.access.door import grant_of
from errorfloor.access.failures import DoorError
from errorfloor.access.tokens import Token
from errorfloor.access.visit import visit_of
from errorfloor.catalogue import Catalogue
from errorfloor.server.gate import POLICY
from errorfloor.server.pages.sheet import guarantee
from errorfloor.version import __version__

HERE = Path(__file__).parent
PAGES = {"ask": "Ask", "plan": "Plan", "follow": "Follow", "ledger": "Ledger", "noise": "Noise", "about": "About"}
TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
FILES = {path.name: path.read_bytes() for path in sorted((HERE / "static").iterdir()) if path.suffix in TYPES}
# Any change of any of them is another edition, under another address, which browsers keep for good. Scripts load each
# other from beside them, so that an edition is never mixed with another.
EDITION = hashlib.sha256(
    b"".join(name.encode() + hashlib.sha256(one).digest() for name, one in FILES.items())
).hexdigest()[:16]
TEMPLATES = Jinja2Templates(directory=HERE / "templates")


def drawn(request: Request, name: str, title: str, status: int = 200, **facts: Any) -> Response:
    """Draw a page; the styles that its editor makes carry a word that is drawn anew for each page."""
    nonce = secrets.token_urlsafe(16)
    known = {"title": title, "here": name, "pages": PAGES, "version": __version__, "visitor": None}
    known |= {"static": f"/static/{EDITION}", "nonce": nonce} | facts
    page = TEMPLATES.TemplateResponse(request, f"{name}.html", known, status_code=status)
    page.headers["Cache-Control"] = "no-store"
    page.headers["Content-Security-Policy"] = f"{POLICY}; style-src 'self' 'nonce-{nonce}'"
    return page


def static_file(wanted: str, name: str) -> Response:
    """Give a file that pages are drawn with, of this edition only."""
    if wanted != EDITION or name not in FILES:
        raise HTTPException(404)
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(FILES[name], media_type=TYPES[Path(name).suffix], headers=headers)


def login_page(request: Request, wanted: str, problem: DoorError | None = None) -> Response:
    """Draw the login page, with what went wrong if something did; it leads on to a page of this server only."""
    name = wanted.removeprefix("/")
    following = f"/{name}" if name in PAGES else "/ask"
    status, headers = (200, {}) if problem is None else (problem.status, problem.headers)
    if problem is not None:
        visit_of(request.scope).code = problem.code
    facts = {"following": following, "problem": problem and str(problem), "provider": _provider(request)}
    page = drawn(request, "login", "Sign in", status, **facts)
    page.headers.update(headers)
    return page


def _provider(request: Request) -> str | None:
    """Name the identity provider, if one is declared."""
    declared = getattr(request.app.state, "sign_in", None) if "app" in request.scope else None
    return None if declared is None else urlsplit(declared.issuer).hostname


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
