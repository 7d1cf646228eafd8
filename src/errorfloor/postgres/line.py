"""A line: the bytes of one client, its start, and who is on it."""

import asyncio
import ipaddress
import socket
import ssl
import struct
from collections.abc import Callable
from dataclasses import dataclass

from errorfloor.access.auth import Authentication
from errorfloor.access.failures import DoorError
from errorfloor.access.shared import CountedLine
from errorfloor.access.tokens import Token
from errorfloor.access.visit import Visitor
from errorfloor.postgres import wire
from errorfloor.postgres.proof import Proof

IDLE = {
    "TCP_KEEPIDLE": 60,
    "TCP_KEEPINTVL": 15,
    "TCP_KEEPCNT": 4,
}  # two minutes after a machine is gone, so is its line
Cancel = Callable[[int, int], None]  # is told the process and the secret of the line whose question to give up


class LineProtocol(CountedLine, asyncio.StreamReaderProtocol):
    """Streams that also say when the client goes away, while nobody reads from it."""

    def __init__(self, came: Callable[["LineProtocol", asyncio.StreamReader, asyncio.StreamWriter], None]) -> None:
        super().__init__(asyncio.StreamReader(2**16), lambda reader, writer: came(self, reader, writer))
        self.stop = asyncio.Event()  # whatever is under way may be given up
        self.is_gone = self._is_counted = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Hear that a client is there; the system asks now and then whether it still is."""
        taken = transport.get_extra_info("socket")
        if taken is not None and taken.family in (socket.AF_INET, socket.AF_INET6):
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name, seconds in IDLE.items():
                if hasattr(socket, name):
                    taken.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), seconds)
        if not self._is_counted:  # once: a line that is protected is made twice
            self._is_counted = True
            self.change(+1)
        super().connection_made(transport)

    def eof_received(self) -> bool | None:
        """Hear that nothing more comes."""
        self._leave()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """Hear that the line is cut."""
        self._leave()
        if self._is_counted:
            self._is_counted = False
            self.change(-1)
        super().connection_lost(exc)

    def _leave(self) -> None:
        self.is_gone = True
        self.stop.set()


@dataclass
class ClientLine:
    """What is read from and written to, and whether others can listen."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    protocol: LineProtocol
    is_protected: bool = False

    @property
    def address(self) -> str | None:
        """Where the client is, as far as the server knows."""
        peer = self.writer.get_extra_info("peername")
        return str(peer[0]) if isinstance(peer, tuple) and peer else None

    @property
    def is_near(self) -> bool:
        """Whether the client is on this machine."""
        try:
            return ipaddress.ip_address(self.address or "").is_loopback
        except ValueError:
            return False

    async def send(self, *messages: bytes) -> None:
        """Write, and wait while the client does not read."""
        self.writer.write(b"".join(messages))
        await self.writer.drain()

    async def start(self, context: ssl.SSLContext | None, cancel: Cancel) -> dict[str, str] | None:
        """Read how the line starts, and protect it if that is wanted; None if nothing follows."""
        while True:
            number, content = await wire.read_start(self.reader)
            if number == wire.SSL_REQUEST and context is not None and not self.is_protected:
                if self.reader._buffer:  # type: ignore[attr-defined]  # it would count as protected
                    raise wire.protocol_error("something was sent before the line was protected")
                await self.send(b"S")
                await self.writer.start_tls(context)
                self.is_protected = True
            elif number in (wire.SSL_REQUEST, wire.GSS_REQUEST):
                await self.send(b"N")
            elif number == wire.CANCEL:
                if len(content) == 8:
                    cancel(*struct.unpack("!II", content))
                return None
            elif number >> 16 == wire.VERSION >> 16:
                return await self._wanted(number & 0xFFFF, content)
            else:
                raise wire.protocol_error("this server speaks version 3 of PostgreSQL's protocol")

    async def _wanted(self, minor: int, content: bytes) -> dict[str, str]:
        """Read what a client wants; newer versions and options are told which one is spoken here."""
        parts = wire.decoded(content).split("\0")
        found = dict(zip(parts[::2], parts[1::2], strict=False))
        found.pop("", None)
        unknown = [name for name in found if name.startswith("_pq_.")]
        if minor or unknown:
            names = [wire.text(name) for name in unknown]
            await self.send(wire.message(b"v", struct.pack("!II", 0, len(names)), *names))
        return {name: value for name, value in found.items() if name not in unknown}

    async def sign_in(
        self, authentication: Authentication, visitor: Visitor, user: str, certificate: bytes, *, open_air: bool
    ) -> Token:
        """Find out who is there, without ever receiving their token.

        Raises DoorError for somebody who is not known, or whose token is not good now or not from here; and on a line
        that others could listen to, unless ``open_air`` allows it.
        """
        if not (self.is_protected or self.is_near or open_air):
            raise DoorError(403, "tls", "answers would travel unprotected: connect with TLS (sslmode=require)")
        claimed = authentication.claimed(user)
        proof = Proof(None if claimed is None else claimed.scram, user, certificate if self.is_protected else b"")
        names = b"".join(map(wire.text, proof.mechanisms))
        await self.send(wire.message(b"R", struct.pack("!I", 10), names, b"\0"))
        body = await self._password()
        mechanism = body.text()
        first = body.value()
        answer = proof.challenge(mechanism, wire.decoded(first or b""))
        await self.send(wire.message(b"R", struct.pack("!I", 11), answer.encode()))
        try:
            last = proof.confirm(wire.decoded((await self._password()).rest()))
        except DoorError:
            authentication.disproved(visitor)
            raise
        assert claimed is not None, "a proof is of something"
        authentication.admit(visitor, claimed)
        await self.send(
            wire.message(b"R", struct.pack("!I", 12), last.encode()), wire.message(b"R", struct.pack("!I", 0))
        )
        return claimed

    async def _password(self) -> wire.Body:
        kind, body = await wire.read_message(self.reader, wire.START)
        if kind != b"p":
            raise wire.protocol_error("a proof was expected")
        return body
