"""The server's side of SCRAM-SHA-256 (RFC 5802, 7677): somebody proves to have a token without showing it."""

import base64
import hashlib
import hmac
import secrets
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.hashes import MD5, SHA1, SHA256

from errorfloor.access.failures import DoorError
from errorfloor.access.token import ITERATIONS, SALT, Verifier
from errorfloor.postgres.wire import protocol_error

PLAIN, BOUND = "SCRAM-SHA-256", "SCRAM-SHA-256-PLUS"
BINDING = "p=tls-server-end-point"
SECRET = secrets.token_bytes(32)  # of this process: those who do not exist have salts, too


class Proof:
    """One exchange: ``challenge`` answers the first message of a client, ``confirm`` the last.

    ``certificate`` is the digest of the certificate that the line is protected by, b"" without TLS: a client that binds
    its proof to it has been talking to this server and to nobody in between.

    *Guarantee*: ``confirm`` returns only to one who knows the text that the verifier was made of. Whether there is such
    a verifier at all cannot be told from what is answered.
    """

    def __init__(self, verifier: Verifier | None, user: str, certificate: bytes) -> None:
        self._verifier, self._exists, self._certificate = verifier or _nobody(user), verifier is not None, certificate
        self._said, self._nonce, self._header = "", "", ""

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """What is offered."""
        return (BOUND, PLAIN) if self._certificate else (PLAIN,)

    def challenge(self, mechanism: str, first: str) -> str:
        """Answer the first message."""
        if mechanism not in self.mechanisms:
            raise protocol_error(f"the mechanisms are {', '.join(self.mechanisms)}")
        binding, _, rest = first.partition(",")
        identity, _, bare = rest.partition(",")
        wanted = BINDING if mechanism == BOUND else "n"
        if binding != wanted and not (binding == "y" and not self._certificate):
            raise protocol_error("the proof must be bound to the line if both sides can")
        parts = dict(part.split("=", 1) for part in bare.split(",") if "=" in part)
        if identity or not parts.get("r") or "m" in parts:
            raise protocol_error("the first message of SCRAM cannot be read")
        self._header = f"{binding},,"
        self._nonce = parts["r"] + base64.b64encode(secrets.token_bytes(18)).decode()
        salt = base64.b64encode(self._verifier.salt).decode()
        answer = f"r={self._nonce},s={salt},i={self._verifier.iterations}"
        self._said = f"{bare},{answer}"
        return answer

    def confirm(self, last: str) -> str:
        """Answer the last message; raises DoorError (401) if it proves nothing."""
        without, _, proof = last.rpartition(",p=")
        bound = self._header.encode() + (self._certificate if self._header.startswith("p=") else b"")
        expected = f"c={base64.b64encode(bound).decode()},r={self._nonce}"
        message = f"{self._said},{without}".encode()
        signature = hmac.digest(self._verifier.stored_key, message, "sha256")
        try:
            given = base64.b64decode(proof, validate=True)
        except ValueError:
            given = b""
        key = bytes(a ^ b for a, b in zip(given.ljust(32, b"\0"), signature, strict=False))
        is_right = hmac.compare_digest(hashlib.sha256(key).digest(), self._verifier.stored_key)
        if not (is_right and self._exists and len(given) == 32 and hmac.compare_digest(without, expected)):
            raise DoorError(
                401,
                "proof",
                "the server does not know this token: the user is the token's name or id, the password its whole text; "
                "it may also have been revoked",
            )
        return "v=" + base64.b64encode(hmac.digest(self._verifier.server_key, message, "sha256")).decode()


def _nobody(user: str) -> Verifier:
    """Give a verifier that nobody can satisfy, the same for the same name."""
    salt = hmac.digest(SECRET, user.encode("utf-8", "replace"), "sha256")[:SALT]
    return Verifier(ITERATIONS, salt, secrets.token_bytes(32), secrets.token_bytes(32))


def digest_of(certificate: Path) -> bytes:
    """Give the digest that proofs are bound to (RFC 5929): by the certificate's own hash, unless that is weak."""
    found = x509.load_pem_x509_certificate(certificate.read_bytes())
    hashed = found.signature_hash_algorithm
    return found.fingerprint(SHA256() if hashed is None or isinstance(hashed, (MD5, SHA1)) else hashed)
