"""Signing in at an identity provider: OpenID Connect's code flow, with PKCE, state and nonce, by Authlib."""

import hmac
import json
import os
import time
from pathlib import Path
from typing import Any

from fastapi import Request, Response
from starlette.responses import RedirectResponse

from errorfloor.access.auth import cookie_name, cookie_shape
from errorfloor.access.failures import DoorError
from errorfloor.access.store import Store
from errorfloor.access.token import Role, Terms, Token, digest
from errorfloor.catalogue.sign_in import SignIn
from errorfloor.errors import InputError, KeyFileError, MissingExtraError

COOKIE = "errorfloor-state"
PATIENCE = 600.0  # seconds that somebody may take at the provider
MOST_BEGUN = 10_000  # sign-ins that are under way; of more, the oldest make room
TIME_LIMIT = 10.0  # seconds that the provider may take
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")


class Provider:
    """A declared identity provider.

    *Guarantee*: whoever comes back is the browser that was sent (state, held in a cookie), with a code that was made
    for this sign-in (PKCE) and a statement that was signed by the provider for this server and this sign-in (issuer,
    audience, expiry, nonce), each used once.

    Raises MissingExtraError without the extra ``oidc``, KeyFileError if the secret cannot be read.
    """

    def __init__(self, declared: SignIn, folder: Path, store: Store) -> None:
        try:
            from authlib.integrations.starlette_client.apps import StarletteOAuth2App
        except ImportError:
            raise MissingExtraError("oidc", "authlib") from None

        self._declared, self._store = declared, store
        secret = _secret(declared, folder)
        self._app: Any = StarletteOAuth2App(
            None,
            name="provider",
            client_id=declared.client_id,
            client_secret=secret,
            server_metadata_url=f"{declared.issuer.rstrip('/')}/.well-known/openid-configuration",
            client_kwargs={
                "scope": " ".join(declared.scopes),
                "code_challenge_method": "S256",
                "timeout": TIME_LIMIT,
                **({} if secret is not None else {"token_endpoint_auth_method": "none"}),
            },
        )

    async def send(self, request: Request, following: str) -> Response:
        """Send a browser to the provider; what it must come back with is kept here, under a hash."""
        await self._check_metadata()
        made = await self._app.create_authorization_url(self._declared.redirect)
        now = time.time()
        kept = json.dumps({"nonce": made["nonce"], "verifier": made["code_verifier"], "following": following})
        self._store.change("DELETE FROM begun WHERE ends <= ?", (now,))
        self._store.change("INSERT INTO begun VALUES (?, ?, ?)", (digest(made["state"]), kept, now + PATIENCE))
        last = "SELECT ends FROM begun ORDER BY ends DESC LIMIT 1 OFFSET ?"
        self._store.change(f"DELETE FROM begun WHERE ends <= ({last})", (MOST_BEGUN,))
        response = RedirectResponse(made["url"], status_code=303)
        lax = cookie_shape(request, "lax")  # since the provider's page leads back here
        response.set_cookie(cookie_name(request, COOKIE), made["state"], max_age=int(PATIENCE), **lax)
        return response

    async def receive(self, request: Request) -> tuple[Token, str]:
        """Give who came back from the provider, and where to go on to.

        Raises DoorError: 401 if something does not fit, 403 for somebody without a role, 503 if the provider is away.
        """
        given, kept = request.query_params.get("state", ""), request.cookies.get(cookie_name(request, COOKIE), "")
        begun = self._take(given) if given and hmac.compare_digest(given.encode(), kept.encode()) else None
        if begun is None:
            raise _refused("this sign-in was not begun in this browser, or took too long")
        if "error" in request.query_params or "code" not in request.query_params:
            raise _refused("the identity provider did not confirm who you are")
        await self._check_metadata()
        if request.query_params.get("iss", self._declared.issuer) != self._declared.issuer:
            raise _refused("another identity provider answered")
        claims = await self._claims(request.query_params["code"], begun)
        return self._person(claims), begun["following"]

    def forget(self, request: Request, response: Response) -> None:
        """Take the cookie of a sign-in under way from the browser."""
        response.delete_cookie(cookie_name(request, COOKIE), **cookie_shape(request, "lax"))

    def _take(self, state: str) -> dict[str, str] | None:
        """Give what was kept of a sign-in that was begun, once."""
        key = digest(state)
        rows = self._store.rows("SELECT kept FROM begun WHERE digest = ? AND ends > ?", (key, time.time()))
        taken = self._store.change("DELETE FROM begun WHERE digest = ?", (key,))
        return json.loads(rows[0][0]) if rows and taken == 1 else None

    async def _check_metadata(self) -> None:
        """Read what the provider says of itself, once: it must be the one declared, and sign with keys of its own."""
        import httpx2

        try:
            found = await self._app.load_server_metadata()
        except (httpx2.HTTPError, ValueError):
            raise _away() from None
        if found.get("issuer") != self._declared.issuer:
            self._app.server_metadata.clear()
            raise _refused("the identity provider names itself otherwise than the catalogue does")
        offered = found.get("id_token_signing_alg_values_supported", ["RS256"])
        found["id_token_signing_alg_values_supported"] = [one for one in ALGORITHMS if one in offered]

    async def _claims(self, code: str, begun: dict[str, str]) -> dict[str, object]:
        import httpx2
        from authlib.integrations.base_client import OAuthError
        from joserfc.errors import JoseError

        options = {
            "iss": {"essential": True, "values": [self._declared.issuer]},
            "aud": {"essential": True, "values": [self._declared.client_id]},
        }
        try:
            given = await self._app.fetch_access_token(
                redirect_uri=self._declared.redirect, code=code, code_verifier=begun["verifier"]
            )
            if "id_token" not in given:
                raise _refused("the identity provider did not say who you are")
            found = await self._app.parse_id_token(given, nonce=begun["nonce"], claims_options=options)
        except httpx2.HTTPError:
            raise _away() from None
        except (OAuthError, JoseError, ValueError, KeyError, TypeError):
            raise _refused("what the identity provider said does not fit this sign-in") from None
        return dict(found)

    def _person(self, claims: dict[str, object]) -> Token:
        declared = self._declared
        named, role, tables = claims.get(declared.name), declared.role_of(claims), declared.tables_of(claims)
        if declared.name == "email" and claims.get("email_verified") is not True:
            raise _refused("the identity provider has not verified your address")
        if role is None or tables is None:
            what = "role" if role is None else "tables"
            raise DoorError(
                403, "role", f"you are known, and your {declared.role} gives you no {what} here: ask the custodian"
            )
        identity = digest(f"{declared.issuer}\n{claims['sub']}")[:12]
        try:
            return Token.vouched(f"oidc-{identity}", str(named), Role(role), Terms(tables=tables))
        except InputError:
            raise _refused(
                f"the claim {declared.name} is no name of up to 64 letters, digits and _.@-: the custodian can choose "
                f"another claim"
            ) from None


def _refused(text: str) -> DoorError:
    return DoorError(401, "refused", f"{text}: sign in again")


def _away() -> DoorError:
    text = "the identity provider cannot be reached: try again, or sign in with a token"
    return DoorError(503, "provider", text, headers={"Retry-After": "5"})


def _secret(declared: SignIn, folder: Path) -> str | None:
    if declared.secret_variable is not None:
        if not os.environ.get(declared.secret_variable):
            raise KeyFileError(f"the variable {declared.secret_variable} has no secret for the identity provider")
        return os.environ[declared.secret_variable]
    if declared.secret_file is None:
        return None
    path = folder / declared.secret_file
    try:
        if path.stat().st_mode & 0o077:
            raise KeyFileError(f"others can read {path}: allow its owner only (chmod 600 {path})")
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise KeyFileError(f"cannot read the identity provider's secret in {path}") from None
