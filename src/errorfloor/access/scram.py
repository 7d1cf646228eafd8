"""What is kept of a token so that PostgreSQL's protocol can ask for it without ever receiving it: SCRAM-SHA-256.

The HTTP door compares one fast hash: a token has 256 random bits, so that no slow hash makes guessing any harder. SCRAM
needs keys that are derived its own way, and they can only be made while the text of the token is known.
"""

import base64
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field

ITERATIONS = 4096  # what RFC 7677 asks for at least, and PostgreSQL's own default
SALT = 16
FORM = re.compile(r"SCRAM-SHA-256\$([0-9]{1,9}):([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+):([A-Za-z0-9+/=]+)")


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
