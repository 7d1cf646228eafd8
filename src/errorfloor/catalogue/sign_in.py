"""Who vouches for people: an identity provider that speaks OpenID Connect, and which of its claims mean what."""

import ipaddress
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from pydantic import Field

from errorfloor.catalogue.columns import Declaration

Texts = tuple[str, ...]
ALL = "*"


class SignIn(Declaration):
    """A provider, how this server is known to it, and which claims give a person a name and a role.

    The highest role is taken whose list names a value of the claim ``role``; somebody without any is refused.
    ``tables`` names the tables and streams that each value of that claim opens, or ALL; where it is declared, others do
    not exist for a person, and somebody without any is refused. The name is what quotas count by, so the claim ``name``
    should be one that people cannot change, as ``sub`` is.

    >>> here = SignIn(issuer="https://id.example", client_id="ef", address="https://ef.example", analyst=("staff",))
    >>> here.role_of({"groups": ["staff", "all"]}), here.role_of({"groups": ["all"]}), here.redirect
    ('analyst', None, 'https://ef.example/login/callback')
    >>> narrow = here.model_copy(update={"tables": {"staff": ("meters",), "board": ("*",)}})
    >>> [narrow.tables_of({"groups": [one]}) for one in ("staff", "board", "others")], here.tables_of({})
    ([('meters',), (), None], ())
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
    tables: dict[str, Texts] = Field(default_factory=dict)

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
        for group, names in self.tables.items():
            if not names:
                yield "tables", f'has none for {group!r}: name some, or "*" for all, or leave it out'
        if not (self.owner or self.analyst or self.reader):
            yield "reader", "give at least one of owner, analyst and reader: otherwise nobody can sign in"

    @property
    def redirect(self) -> str:
        """Where the provider sends people back to."""
        return f"{self.address.rstrip('/')}/login/callback"

    def role_of(self, claims: dict[str, object]) -> str | None:
        """Give the highest role that the claims give."""
        values = self._values(claims)
        roles = ("owner", "analyst", "reader")
        return next((role for role in roles if any(value in getattr(self, role) for value in values)), None)

    def tables_of(self, claims: dict[str, object]) -> Texts | None:
        """Give the tables that the claims give, nothing for all of them; None if they give none."""
        found = [name for value in self._values(claims) for name in self.tables.get(value, ())]
        if not self.tables or ALL in found:
            return ()
        return tuple(sorted(set(found))) or None

    def mistakes_in_tables(self, declared: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Give what is wrong with the names of tables and streams."""
        for group, names in self.tables.items():
            for name in names:
                if name != ALL and name not in declared:
                    there = ", ".join(sorted(declared)) or "none"
                    yield (
                        "sign_in",
                        f"has tables for {group!r}, and no table or stream {name!r} is declared: there are {there}",
                    )

    def _values(self, claims: dict[str, object]) -> list[str]:
        given = claims.get(self.role)
        return [one for one in (given if isinstance(given, list) else [given]) if isinstance(one, str)]


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
