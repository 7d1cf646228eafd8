"""The gate: every request passes it on the way in, and every response on the way out.

On the way in: a name for the request, TLS where a proxy promises it, and a body of bounded size, read within bounded
time. On the way out: strict headers, one line in the audit log, and the metrics.
"""

import asyncio
from collections.abc import MutableMapping
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from errorfloor.access.audit import VisitorsBook
from errorfloor.access.failures import DoorError, failure_of, unexpected
from errorfloor.access.settings import Settings
from errorfloor.access.visit import KEY, Visit
from errorfloor.server.protocol import is_ambiguous

POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"  # a chart is saved by way of a data: picture
)
HEADERS = {  # of every response that does not say otherwise itself
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
PLAIN = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
TLS = (b"strict-transport-security", b"max-age=31536000")
WITHOUT_BODY = ("GET", "HEAD", "OPTIONS", "TRACE")


class Gate:
    """Wraps an app; see the module's words."""

    def __init__(self, app: ASGIApp, settings: Settings, book: VisitorsBook) -> None:
        self._app, self._settings, self._book = app, settings, book

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        visit = scope[KEY] = Visit.fresh()
        status = [0]

        async def leave(message: Message) -> None:
            if message["type"] == "http.response.start":
                status[0] = message["status"]
                _dress(message, visit, scope)
            await send(message)

        try:
            await self._serve(scope, receive, leave, visit)
        except Exception as problem:
            visit.code = "failure"
            if status[0] == 0:
                await unexpected(problem)(scope, receive, leave)
            else:
                unexpected(problem)
        finally:
            client = scope.get("client")
            self._book.write(visit, _route(scope), _method(scope), status[0], client[0] if client else None)

    async def _serve(self, scope: Scope, receive: Receive, send: Send, visit: Visit) -> None:
        try:
            content = await self._admitted(scope, receive)
        except DoorError as problem:
            visit.code = problem.code
            await failure_of(problem)(scope, receive, send)
            return
        given = [content is None]

        async def again() -> Message:
            if given[0]:
                return await receive()
            given[0] = True
            return {"type": "http.request", "body": content, "more_body": False}

        await self._app(scope, again, send)

    async def _admitted(self, scope: Scope, receive: Receive) -> bytes | None:
        """Give the whole body of a request, None if it has none; raises DoorError for what does not pass the gate."""
        settings = self._settings
        if settings.behind_proxy and scope["scheme"] != "https" and scope["path"] != "/healthz":
            raise DoorError(403, "tls", "reach this server by https, through its proxy")
        if is_ambiguous(scope["headers"], scope["http_version"]):
            text = "the length of the body, or the host, is given twice or in two ways"
            raise DoorError(400, "malformed", text, headers={"Connection": "close"})
        if scope["method"] in WITHOUT_BODY and "content-length" not in Headers(scope=scope):
            return None
        try:
            async with asyncio.timeout(settings.time_limit):
                content = await self._read(scope, receive)
        except TimeoutError:
            raise DoorError(408, "slow", f"the body did not arrive within {settings.time_limit:g} s") from None
        if content is None:
            text = f"the body of a request may have {settings.max_body} bytes, but this has more"
            raise DoorError(413, "too-large", text, headers={"Connection": "close"}, max_body=settings.max_body)
        return content

    async def _read(self, scope: Scope, receive: Receive) -> bytes | None:
        """Read the whole body; None if it is too large."""
        announced = Headers(scope=scope).get("content-length", "0")
        if not announced.isdigit() or int(announced) > self._settings.max_body:
            return None
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return b"".join(parts)
            size += len(message.get("body", b""))
            if size > self._settings.max_body:
                return None
            parts.append(message.get("body", b""))
            if not message.get("more_body", False):
                return b"".join(parts)


def _dress(message: Message, visit: Visit, scope: Scope) -> None:
    headers = message["headers"] = list(message.get("headers", ()))
    said = {name.lower() for name, _ in headers}
    headers += [pair for pair in PLAIN if pair[0] not in said]
    if scope["scheme"] == "https" and TLS[0] not in said:
        headers.append(TLS)
    headers.append((b"x-request-id", visit.id.encode()))


def _route(scope: MutableMapping[str, Any]) -> str:
    """Give the route's own pattern: what a client wrote in the path is not repeated."""
    return str(getattr(scope.get("route"), "path", None) or "none")


def _method(scope: MutableMapping[str, Any]) -> str:
    method = scope["method"]
    return method if method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS") else "other"
