"""No other site may post here: what changes something must come from a page of this server, or from no page at all."""

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from errorfloor.access.failures import failure
from errorfloor.access.visit import visit_of

SAFE = ("GET", "HEAD", "OPTIONS", "TRACE")
OWN = ("same-origin", "none")


def is_from_elsewhere(headers: Headers) -> bool:
    """Say whether a browser sent a request for a page of another site.

    Browsers say so themselves in ``Sec-Fetch-Site``; older ones name the page's ``Origin``, which is compared with
    ``Host``. What is no browser sends neither, and carries no cookie that another site could use.

    >>> is_from_elsewhere(Headers({"sec-fetch-site": "cross-site"}))
    True
    >>> is_from_elsewhere(Headers({"origin": "http://127.0.0.1:8470", "host": "127.0.0.1:8470"}))
    False
    """
    fetched, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if fetched is not None:
        return fetched.lower() not in OWN
    if origin is None:
        return False
    try:
        host = urlsplit(origin).netloc
    except ValueError:
        return True
    return not host or host.lower() != headers.get("host", "").lower()


class Origins:
    """Wraps an app, and refuses what a page of another site sends to change something, before it is read."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let pass what comes from here."""
        if scope["type"] == "http" and scope["method"] not in SAFE and is_from_elsewhere(Headers(scope=scope)):
            visit_of(scope).code = "origin"
            text = "a page of another site sent this, and only pages of this server may: open the server's own page"
            await failure(403, "origin", text)(scope, receive, send)
            return
        await self._app(scope, receive, send)
