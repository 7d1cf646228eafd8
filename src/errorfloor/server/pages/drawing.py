"""How a page is drawn: a template, the facts that it shows, and where its files are."""

import hashlib
import secrets
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fastapi import HTTPException, Request
from fastapi.responses import Response
from fastapi.templating import Jinja2Templates

from errorfloor.access.failures import DoorError
from errorfloor.server.gate import POLICY
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
    facts = {"following": following, "problem": problem and str(problem), "provider": _provider(request)}
    page = drawn(request, "login", "Sign in", status, **facts)
    page.headers.update(headers)
    return page


def _provider(request: Request) -> str | None:
    """Name the identity provider, if one is declared."""
    declared = getattr(request.app.state, "sign_in", None) if "app" in request.scope else None
    return None if declared is None else urlsplit(declared.issuer).hostname
