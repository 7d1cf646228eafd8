"""Who vouches for people: an identity provider that speaks OpenID Connect, and which of its claims mean what."""

import ipaddress
from collections.abc import Iterator
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from errorfloor.catalogue.columns import Declaration, MistakesError

Texts = tuple[str, ...]


class SignIn(Declaration):
    """A provider, how this server is known to it, and which claims give a person a name and a role.

    The highest role is taken whose list names a value of the claim ``role``; somebody without any is refused. The name
    is what quotas count by, so the claim ``name`` should be one that people cannot change, as ``sub`` is.

    >>> here = SignIn(issuer="https://id.example", client_id="ef", address="https://ef.example", analyst=("staff",))
    >>> here.role_of({"groups": ["staff", "all"]}), here.role_of({"groups": ["all"]}), here.redirect
    ('analyst', None, 'https://ef.example/login/callback')
    """

    issuer: str = Field(min_length=1)
    client_id: str = Field(min_length=1)
    address: str = Field(min_length=1)
    secret_file: str | None = None
    secret_variable: str | None = None
    scopes: Texts = ("openid",)
    name: str = Field(default="sub", min_length=1)
    role: str = Field(default="groups", min_length=1)
    owner: Texts = ()
    analyst: Texts = ()
    reader: Texts = ()

    @model_validator(mode="after")
    def _usable(self) -> "SignIn":
        found = list(self._mistakes())
        if found:
            raise MistakesError(found)
        return self

    def _mistakes(self) -> Iterator[tuple[str, str]]:
        for word in ("issuer", "address"):
            if not _is_protected(getattr(self, word)):
                yield (
                    word,
                    f"must be a URL such as https://{word}.example.org: what people send there must be protected",
                )
        if self.secret_file is not None and self.secret_variable is not None:
            yield "secret_variable", "cannot be combined with secret_file: give one of them"
        if "openid" not in self.scopes:
            yield "scopes", 'must have "openid" among them'
        if not (self.owner or self.analyst or self.reader):
            yield "reader", "give at least one of owner, analyst and reader: otherwise nobody can sign in"

    @property
    def redirect(self) -> str:
        """Where the provider sends people back to."""
        return f"{self.address.rstrip('/')}/login/callback"

    def role_of(self, claims: dict[str, object]) -> str | None:
        """Give the highest role that the claims give."""
        given = claims.get(self.role)
        values = given if isinstance(given, list) else [given]
        for role in ("owner", "analyst", "reader"):
            if any(value in getattr(self, role) for value in values if isinstance(value, str)):
                return role
        return None


def _is_protected(url: str) -> bool:
    """Whether a URL is one of https, or of this machine.

    >>> [_is_protected(url) for url in ("https://a.example", "http://127.0.0.1:9", "http://a.example", "a.example")]
    [True, True, False, False]
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    if parts.scheme == "https":
        return bool(host)
    try:
        return parts.scheme == "http" and (host == "localhost" or ipaddress.ip_address(host).is_loopback)
    except ValueError:
        return False
