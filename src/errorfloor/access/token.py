"""A token: who may ask, how long, from where, about what and how much. Only hashes of its text are kept.

The HTTP door compares one fast hash: a token has 256 random bits, so that no slow hash makes guessing any harder.
PostgreSQL's protocol asks for a token without ever receiving it, by SCRAM-SHA-256, which needs keys that are derived
its own way; they can only be made while the text of the token is known.
"""

import base64
import datetime
import enum
import hashlib
import hmac
import ipaddress
import re
import secrets
from dataclasses import asdict, dataclass, field
from typing import Any

from errorfloor.errors import InputError

ITERATIONS = 4096  # what RFC 7677 asks for at least, and PostgreSQL's own default
SALT = 16
FORM = re.compile(r"SCRAM-SHA-256\$([0-9]{1,9}):([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+):([A-Za-z0-9+/=]+)")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}")
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True)
class Verifier:
    """Salt, iterations, StoredKey and ServerKey of RFC 5802, written as PostgreSQL writes them.

    SaltedPassword = PBKDF2(text, salt, iterations), StoredKey = H(HMAC(SaltedPassword, "Client Key")) and ServerKey =
    HMAC(SaltedPassword, "Server Key"), all with SHA-256.

    *Guarantee*: the text does not follow from it, for a text with enough random bits.

    Raises ValueError for a text that is no verifier.

    >>> kept = Verifier.of("pencil", salt=base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ=="))
    >>> str(kept)[:45], Verifier.read(str(kept)) == kept
    ('SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$W', True)
    """

    iterations: int
    salt: bytes
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)

    @classmethod
    def of(cls, text: str, *, salt: bytes | None = None, iterations: int = ITERATIONS) -> "Verifier":
        """Derive it from a text of ASCII, which SCRAM's preparation of texts leaves as it is."""
        chosen = secrets.token_bytes(SALT) if salt is None else salt
        salted = hashlib.pbkdf2_hmac("sha256", text.encode("ascii"), chosen, iterations)
        client_key = hmac.digest(salted, b"Client Key", "sha256")
        server_key = hmac.digest(salted, b"Server Key", "sha256")
        return cls(iterations, chosen, hashlib.sha256(client_key).digest(), server_key)

    @classmethod
    def read(cls, text: str) -> "Verifier":
        """Read what ``str`` wrote."""
        found = FORM.fullmatch(text)
        if found is None:
            raise ValueError("this is no SCRAM-SHA-256 verifier")
        salt, stored, server = (base64.b64decode(part, validate=True) for part in found.groups()[1:])
        if len(stored) != 32 or len(server) != 32 or not salt:
            raise ValueError("this is no SCRAM-SHA-256 verifier")
        return cls(int(found[1]), salt, stored, server)

    def __str__(self) -> str:
        salt, stored, server = (base64.b64encode(p).decode() for p in (self.salt, self.stored_key, self.server_key))
        return f"SCRAM-SHA-256${self.iterations}:{salt}${stored}:{server}"


class Role(enum.StrEnum):
    """What a token may do: a reader what is free, an analyst also spends, an owner also sees who did.

    >>> Role.OWNER.covers(Role.READER), Role.READER.covers(Role.ANALYST)
    (True, False)
    """

    READER = "reader"
    ANALYST = "analyst"
    OWNER = "owner"

    def covers(self, other: "Role") -> bool:
        """Whether this role may do what the other may."""
        order = list(Role)
        return order.index(self) >= order.index(other)


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What a token is limited to; None and nothing named are no limit.

    ``expires`` is a moment with its zone; ``addresses`` are networks from which it may be used; ``tables`` names tables
    and streams. ``question`` and ``day`` are shares of every allowance that one question, or all of one day (of
    universal time), may take through this token. ``silently`` lets SQL tools be charged within both without a word.

    Raises InputError for a share that is none, an address that is none, a moment without its zone, and tools that are
    charged without limits.

    >>> Terms(question=0.01, addresses=("10.0.0.0/8",)).to_dict()
    {'expires': None, 'addresses': ['10.0.0.0/8'], 'tables': [], 'question': 0.01, 'day': None, 'silently': False}
    """

    expires: datetime.datetime | None = None
    addresses: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    question: float | None = None
    day: float | None = None
    silently: bool = False

    def __post_init__(self) -> None:
        for name in ("question", "day"):
            share = getattr(self, name)
            if share is not None and not 0 < share <= 1:
                raise InputError(f"{name} is a share of the allowance, above 0 and at most 1; got {share}")
        if self.silently and (self.question is None or self.day is None):
            raise InputError("tools may be charged silently within limits only: give question and day, too")
        for address in self.addresses:
            _network(address)
        if self.expires is not None and self.expires.tzinfo is None:
            raise InputError(f"expires needs its zone, such as +00:00; got {self.expires.isoformat()}")

    def allow_address(self, address: str | None) -> bool:
        """Whether it may be used from this address.

        >>> terms = Terms(addresses=("10.0.0.0/8", "::1"))
        >>> [terms.allow_address(one) for one in ("10.2.3.4", "::ffff:10.2.3.4", "11.0.0.1", None)]
        [True, True, False, False]
        """
        if not self.addresses:
            return True
        try:
            found = ipaddress.ip_address(address or "")
        except ValueError:
            return False
        plain = getattr(found, "ipv4_mapped", None) or found
        return any(plain in _network(one) for one in self.addresses)

    def to_dict(self) -> dict[str, Any]:
        """Give them as plain JSON types."""
        expires = None if self.expires is None else self.expires.isoformat(timespec="seconds")
        return asdict(self) | {"expires": expires, "addresses": list(self.addresses), "tables": list(self.tables)}

    @classmethod
    def read(cls, plain: dict[str, Any]) -> "Terms":
        """Read what ``to_dict`` gave."""
        expires = plain.get("expires")
        return cls(
            expires=None if expires is None else datetime.datetime.fromisoformat(expires),
            addresses=tuple(map(str, plain.get("addresses", ()))),
            tables=tuple(map(str, plain.get("tables", ()))),
            question=plain.get("question"),
            day=plain.get("day"),
            silently=plain.get("silently", False) is True,
        )


NO_TERMS = Terms()


@dataclass(frozen=True)
class Token:
    """A token as it is kept: a name, which quotas count by, a role, its terms, and a hash.

    ``scram`` is what a door that speaks PostgreSQL's protocol needs. A token with an empty hash has no text: it stands
    for somebody whom an identity provider vouches for.

    >>> token, text = Token.fresh("anna", Role.ANALYST)
    >>> token.name, token.role.value, token.matches(text), token.matches(text + "x"), text in repr(token)
    ('anna', 'analyst', True, False, False)
    """

    id: str
    name: str
    role: Role
    created: str
    digest: str = field(repr=False)
    terms: Terms = NO_TERMS
    scram: Verifier | None = field(default=None, repr=False)

    @classmethod
    def fresh(cls, name: str, role: Role, terms: Terms = NO_TERMS) -> "tuple[Token, str]":
        """Draw a token from the operating system; its text is shown once and not kept."""
        check_name(name)
        identity = secrets.token_hex(6)
        text = f"ef_{identity}_{secrets.token_urlsafe(32)}"
        return cls(identity, name, Role(role), _now(), digest(text), terms, Verifier.of(text)), text

    @classmethod
    def vouched(cls, identity: str, name: str, role: Role, terms: Terms = NO_TERMS) -> "Token":
        """Give one that has no text, for somebody who signed in elsewhere."""
        return cls(identity, check_name(name), Role(role), _now(), "", terms)

    def matches(self, text: str) -> bool:
        """Compare in a time that does not depend on where the difference is."""
        return hmac.compare_digest(self.digest, digest(text))

    def expired(self, now: datetime.datetime) -> bool:
        """Whether its time is over."""
        return self.terms.expires is not None and now >= self.terms.expires

    def to_dict(self) -> dict[str, Any]:
        """Give what may be shown."""
        plain = {"id": self.id, "name": self.name, "role": self.role.value, "created": self.created}
        return plain | self.terms.to_dict()


def digest(text: str) -> str:
    """Hash a token, or what else has so many random bits: no salt and no slow hash is needed."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def check_name(name: str) -> str:
    """Accept a name that can stand in a log, a path and a sentence.

    >>> check_name("anna@example.org")
    'anna@example.org'
    """
    if not NAME.fullmatch(name):
        raise InputError(f"a token's name is made of up to 64 letters, digits and _.@-, got {name!r}")
    return name


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _network(address: str) -> Network:
    try:
        return ipaddress.ip_network(address)
    except ValueError:
        raise InputError(
            f"{address!r} is neither an address nor a network: write 10.1.2.3, 10.0.0.0/8 or 2001:db8::/32"
        ) from None
