"""Who is asking: a bearer token, or the session that the cookie of a page names.

No other site may post here: what changes something must come from a page of this server, or from no page at all.
"""

import datetime
from collections.abc import Awaitable, Callable
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import Depends, Request, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from errorfloor.access.failures import DoorError, failure
from errorfloor.access.limits import Attempts, Rates, attempted
from errorfloor.access.store import Sessions, Store, Uses
from errorfloor.access.tokens import Role, Token, TokenFile
from errorfloor.access.visit import Visitor, visit_of

SAFE = ("GET", "HEAD", "OPTIONS", "TRACE")
OWN = ("same-origin", "none")
COOKIE = "errorfloor"
BEARER = HTTPBearer(auto_error=False, description="A token made by errorfloor tokens create.")
Credentials = Annotated[HTTPAuthorizationCredentials | None, Depends(BEARER)]


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


class Authentication:
    """Finds out who is asking, and sends away who may not.

    *Guarantee*: a cookie names a session and is never a token. It counts for a request that changes something only with
    the header ``X-Errorfloor: page``, which no page of another site can send. Where an address, or a token, has failed
    too often, a further attempt to sign in is not looked at; a right bearer token, and a right proof of one, is always
    let in, since one stale script behind a shared address must not stop everybody.

    >>> tokens = TokenFile(None)
    >>> _, text = tokens.create("anna", Role.ANALYST)
    >>> scope = {"type": "http", "method": "GET", "headers": [(b"authorization", f"Bearer {text}".encode())]}
    >>> Authentication(tokens, Rates(0, 1)).caller(Request(scope)).name
    'anna'
    """

    def __init__(
        self,
        tokens: TokenFile,
        rates: Rates,
        *,
        store: Store | None = None,
        idle: float = 3600.0,
        life: float = 43200.0,
        failures: int = 0,
        vouched_by: str = "",
    ) -> None:
        kept = Store(None) if store is None else store
        self._tokens, self._rates = tokens, rates
        self._sessions = Sessions(kept, tokens, idle, life, vouched_by=vouched_by)
        self._attempts = Attempts(kept, failures)
        self._uses = Uses(kept)

    def caller(self, request: Request) -> Token | None:
        """Give who sent a request; None if nobody who is known.

        Raises DoorError for a token or session that counts no longer, or not from here, and for a forged request.
        """
        header = request.headers.get("authorization")
        if header is not None:
            scheme, _, text = header.partition(" ")
            return self._bearer(request, text.strip()) if scheme.lower() == "bearer" else None
        cookie = request.cookies.get(cookie_name(request))
        if cookie is None:
            return None
        if request.method not in SAFE and request.headers.get("x-errorfloor") != "page":
            raise DoorError(
                403,
                "forged",
                "a request that changes something and carries a cookie needs the header X-Errorfloor: page",
            )
        token = self._sessions.find(cookie)
        return None if token is None else self.admit(visitor_of(request), token)

    def require(self, role: Role, *, posted: bool = False) -> Callable[[Request, Credentials], Awaitable[Token]]:
        """Give a dependency that lets through who has at least this role, at the rate allowed.

        What is ``posted`` must be JSON.
        """

        async def required(request: Request, _: Credentials) -> Token:
            token = self.caller(request)
            if token is None:
                self._rates.take(f"from {address_of(request)}")
                raise DoorError(401, "token", _why(request), headers={"WWW-Authenticate": 'Bearer realm="errorfloor"'})
            self._rates.take(token.id)
            if not token.role.covers(role):
                raise DoorError(
                    403,
                    "role",
                    f"this needs the role {role.value}, but the token's role is {token.role.value}",
                    role=role.value,
                )
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if posted and kind != "application/json":
                raise DoorError(415, "media-type", "the body must be JSON: send Content-Type: application/json")
            return token

        return required

    def again(self, visitor: Visitor, token: Token, *, is_counted: bool) -> Token:
        """Let a token ask once more on a line that it opened, at its rate; raises DoorError once it is not good.

        What ``is_counted`` already is not counted again.
        """
        visitor.visit.came(token.name, token.role.value)
        admitted = self.admit(visitor, self.still_good(visitor.address, token))
        if not is_counted:
            self._rates.take(admitted.id)
        return admitted

    def still_good(self, address: str | None, token: Token) -> Token:
        """Give a token as it is now; raises DoorError if it was revoked, has expired, or is not good from here."""
        found = self._tokens.get(token.id)
        if found is None:
            raise DoorError(401, "token", "this token was revoked: ask the custodian for another")
        _check(address, found)
        return found

    def claimed(self, user: str) -> Token | None:
        """Give the token that somebody claims to have; what proves it comes later."""
        return self._tokens.claimed(user)

    def disproved(self, visitor: Visitor) -> None:
        """Count a proof that was none; raises DoorError (429) if there were too many from their address."""
        self._attempts.check_and_fail(attempted("postgresql", visitor.address, ""))

    def recognise(self, request: Request, text: str) -> Token:
        """Give whose token this text is, to begin a session with it; the audit log gets the outcome and the address.

        Raises DoorError: 403 for a page of another site, 429 after too many failures or above the token's rate, 401 for
        an unknown token.
        """
        if is_from_elsewhere(Headers(scope=request.scope)):
            self._refused_so_far(request)
            raise DoorError(403, "origin", "a page of another site cannot sign you in: open the server's own page")
        self.check_attempts(request, text)
        token = self._tokens.find(text)
        if token is None:
            self.count_failure(request, text)
            raise DoorError(
                401,
                "refused",
                "the server does not know this token: copy all of it; it may also have been revoked",
                headers={"WWW-Authenticate": "Bearer"},
            )
        admitted = self.admit(visitor_of(request), token)
        self._rates.take(token.id)
        return admitted

    def check_attempts(self, request: Request, text: str = "") -> None:
        """Raise DoorError (429) if this address, or the token that a text claims to be, has failed too often."""
        self._refused_so_far(request)
        self._attempts.check(attempted("sign-in", address_of(request), text))

    def count_failure(self, request: Request, text: str = "") -> None:
        """Count an attempt to sign in that failed."""
        self._attempts.fail(attempted("sign-in", address_of(request), text))

    def begin(self, request: Request, response: Response, token: Token) -> None:
        """Begin a session of who was recognised; the cookie lasts until the browser is closed, or the session ends."""
        before = request.cookies.get(cookie_name(request))
        if before is not None:
            self._sessions.end(before)
        visit = visit_of(request.scope)
        visit.came(token.name, token.role.value)
        visit.facts |= {"sign_in": "done", "address": address_of(request)}
        identifier = self._sessions.begin(token)
        response.set_cookie(cookie_name(request), identifier, **cookie_shape(request))

    def sign_out(self, request: Request, response: Response) -> None:
        """End the session, wherever its identifier was kept, and take the cookie away."""
        self.caller(request)  # a forged request is refused
        cookie = request.cookies.get(cookie_name(request))
        if cookie is not None:
            self._sessions.end(cookie)
        response.delete_cookie(cookie_name(request), **cookie_shape(request))

    def close(self) -> None:
        """Let go of the file of sessions."""
        self._sessions.store.close()

    def _refused_so_far(self, request: Request) -> None:
        """Let the audit log say that a sign-in was refused, unless it says otherwise later."""
        visit_of(request.scope).facts |= {"sign_in": "refused", "address": address_of(request)}

    def _bearer(self, request: Request, text: str) -> Token | None:
        token = self._tokens.find(text)
        if token is None:
            self._attempts.check_and_fail(attempted("bearer", address_of(request), text))
            return None
        return self.admit(visitor_of(request), token)

    def admit(self, visitor: Visitor, token: Token) -> Token:
        """Note who comes, and refuse a token that is not good now, or not from here; its holder is told why."""
        visitor.visit.came(token.name, token.role.value)
        _check(visitor.address, token)
        if token.digest:
            self._uses.note(token.id)
        return token


def _check(address: str | None, token: Token) -> None:
    """Raise DoorError for a token that is not good now, or not from here."""
    if token.expired(datetime.datetime.now(datetime.UTC)):
        raise DoorError(
            401,
            "expired",
            "this token has expired: ask the custodian for another (errorfloor tokens create)",
            headers={"WWW-Authenticate": 'Bearer realm="errorfloor"'},
        )
    if not token.terms.allow_address(address):
        raise DoorError(
            403,
            "address",
            f"this token may not be used from {address}: errorfloor tokens list shows from where",
        )


def visitor_of(request: Request) -> Visitor:
    """Give who sent a request; its body has been read when somebody waits for them to go away."""

    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    return Visitor(visit_of(request.scope), address_of(request), gone)


def address_of(request: Request) -> str | None:
    """Give the address that a request comes from, as far as the server knows."""
    return None if request.client is None else request.client.host


def cookie_name(request: Request, name: str = COOKIE) -> str:
    """Give the name of a cookie; by https no other host of the same domain can set it."""
    return f"__Host-{name}" if request.url.scheme == "https" else name


def cookie_shape(request: Request, same_site: str = "strict") -> dict[str, Any]:
    """Give what else is said of a cookie."""
    return {"httponly": True, "samesite": same_site, "secure": request.url.scheme == "https", "path": "/"}


def _why(request: Request) -> str:
    """Say what is the matter with a request from nobody who is known; whether its token ever was one is not told."""
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and text.strip():
        return (
            "this server does not know this token: it is mistyped, revoked or another server's; errorfloor tokens "
            "list shows the known ones, errorfloor tokens create makes one"
        )
    if not scheme and cookie_name(request) in request.cookies:
        return "your session has ended: sign in again, at /login"
    return "this needs a token: send Authorization: Bearer TOKEN (errorfloor tokens create makes one)"
