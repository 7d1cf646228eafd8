"""Who is asking: a bearer token, or the same token in a cookie for the pages."""

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, Request, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from errorfloor.server.failures import DoorError
from errorfloor.server.rates import Rates
from errorfloor.server.tokens import Role, Token, TokenFile
from errorfloor.server.visit import visit_of

COOKIE = "errorfloor"
SAFE = ("GET", "HEAD", "OPTIONS")
BEARER = HTTPBearer(auto_error=False, description="A token made by errorfloor tokens create.")
Credentials = Annotated[HTTPAuthorizationCredentials | None, Depends(BEARER)]


class Authentication:
    """Finds out who is asking, and sends away who may not.

    Guarantee: a cookie counts for a request that changes something only with the header ``X-Errorfloor: page``, which
    no page of another site can send.

    >>> tokens = TokenFile(None)
    >>> _, text = tokens.create("anna", Role.ANALYST)
    >>> scope = {"type": "http", "method": "GET", "headers": [(b"authorization", f"Bearer {text}".encode())]}
    >>> Authentication(tokens, Rates(0, 1)).caller(Request(scope)).name
    'anna'
    """

    def __init__(self, tokens: TokenFile, rates: Rates) -> None:
        self._tokens = tokens
        self._rates = rates

    def caller(self, request: Request) -> Token | None:
        """Give the token that a request carries; None if it carries none that is known."""
        header = request.headers.get("authorization")
        if header is not None:
            scheme, _, text = header.partition(" ")
            return self.known(text.strip()) if scheme.lower() == "bearer" else None
        cookie = request.cookies.get(COOKIE)
        if cookie is None:
            return None
        if request.method not in SAFE and request.headers.get("x-errorfloor") != "page":
            raise DoorError(
                403,
                "forged",
                "a request that changes something and carries a cookie needs the header X-Errorfloor: page",
            )
        return self.known(cookie)

    def known(self, text: str) -> Token | None:
        """Give the token with this text."""
        return self._tokens.find(text)

    def require(self, role: Role) -> Callable[[Request, Credentials], Awaitable[Token]]:
        """Give a dependency that lets through who has at least this role, at the rate allowed."""

        async def required(request: Request, _: Credentials) -> Token:
            token = self.caller(request)
            if token is None:
                host = request.client.host if request.client else "unknown"
                self._rates.take(f"from {host}")
                raise DoorError(401, "token", _why(request), headers={"WWW-Authenticate": 'Bearer realm="errorfloor"'})
            visit = visit_of(request.scope)
            visit.who, visit.role = token.name, token.role.value
            self._rates.take(token.id)
            if not token.role.covers(role):
                raise DoorError(
                    403,
                    "role",
                    f"this needs the role {role.value}, and the token's is {token.role.value}",
                    role=role.value,
                )
            return token

        return required

    def posting(self, role: Role) -> Callable[[Request, Credentials], Awaitable[Token]]:
        """Give the same for requests with a body, which must be JSON."""
        let_in = self.require(role)

        async def required(request: Request, credentials: Credentials) -> Token:
            token = await let_in(request, credentials)
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json":
                raise DoorError(415, "media-type", "the body must be JSON: send Content-Type: application/json")
            return token

        return required

    def sign_in(self, request: Request, response: Response, text: str) -> Token | None:
        """Set the cookie if the text is a known token's; it lasts as long as the browser is open."""
        token = self.known(text)
        if token is not None:
            secure = request.url.scheme == "https"
            response.set_cookie(COOKIE, text, httponly=True, samesite="strict", secure=secure, path="/")
        return token

    def sign_out(self, response: Response) -> None:
        """Take the cookie away."""
        response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")


def _why(request: Request) -> str:
    """Say what is the matter with a request from nobody who is known; whether its token ever was one is not told."""
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and text.strip():
        return (
            "this server does not know this token: it is mistyped, revoked or another server's; errorfloor tokens list "
            "shows whose there are, errorfloor tokens create makes one"
        )
    if not scheme and COOKIE in request.cookies:
        return "this server no longer knows the token that you signed in with: sign in again, at /login"
    return "this needs a token: send Authorization: Bearer TOKEN (errorfloor tokens create makes one)"
