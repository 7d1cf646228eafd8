"""Messages of PostgreSQL's protocol, version 3: a kind, a length, a body."""

import asyncio
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from errorfloor.access.failures import DoorError
from errorfloor.postgres.values import ResultColumn

VERSION = 3 << 16
SSL_REQUEST, GSS_REQUEST, CANCEL = 80877103, 80877104, 80877102
START = 10_000  # bytes of a message before somebody is known, at most; as PostgreSQL allows
STATES = {  # SQLSTATE by the code of a failure; those of refusals follow from their reason
    **{"token": "28000", "expired": "28000", "address": "28000", "attempts": "28000", "proof": "28P01", "tls": "28000"},
    **{"role": "42501", "allowance": "53400", "rate": "53000", "running": "53300", "connections": "53300"},
    **{"busy": "53000", "time": "57014", "gone": "57014", "stopping": "57P01", "protocol": "08P01"},
    **{"ledger": "58000", "engine": "58000", "key-file": "58000", "input": "22023", "refused": "0A000"},
    **{"transaction": "25P02", "setting": "42704", "unknown-name": "26000", "too-large": "54000", "parameter": "22P02"},
}
REASONS = {"syntax": "42601", "table": "42P01", "column": "42703", "not-select": "42601", "too-long": "54001"}
HINTS = {
    "allowance": "PRICE SELECT … shows what a question takes. SET charge = on lets the session's questions be charged, "
    "SET charge = 0.01 up to that share of an allowance each; SET max_error asks for a wider answer.",
    "input": "SET max_error = 0.5, SET spend = 0.01, or WITHIN 0.5 at the end of a question says how exact it is to be",
    "refused": "A question selects public columns and aggregates: SELECT team, avg(wage) FROM pay GROUP BY team.",
    "rate": "Questions are limited per second and token.",
}


def protocol_error(text: str) -> DoorError:
    """Give the failure of a line whose messages cannot be read."""
    return DoorError(400, "protocol", text)


async def read_start(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Read a message without a kind: the number of what is wanted, and its body."""
    size, number = struct.unpack("!Ii", await reader.readexactly(8))
    if not 8 <= size <= START:
        raise protocol_error(f"the first message of a line has {size} bytes; 8 to {START} are allowed")
    return number, await reader.readexactly(size - 8)


async def read_message(reader: asyncio.StreamReader, most: int) -> tuple[bytes, "Body"]:
    """Read a message of at most ``most`` bytes: its kind and its body."""
    kind, size = struct.unpack("!cI", await reader.readexactly(5))
    if not 4 <= size <= most:
        raise protocol_error(f"a message of {size} bytes was announced; 4 to {most} are allowed")
    return kind, Body(await reader.readexactly(size - 4))


class Body:
    r"""The body of a message, read from its beginning to its end.

    Raises DoorError where it ends too early or too late, or has a text that is not UTF-8.

    >>> body = Body(b"\x00\x02abc\x00")
    >>> body.number("!h"), body.text()
    (2, 'abc')
    """

    def __init__(self, content: bytes) -> None:
        self._content, self._place = content, 0

    def number(self, form: str) -> int:
        """Read a number."""
        return int(struct.unpack(form, self.take(struct.calcsize(form)))[0])

    def numbers(self, form: str) -> list[int]:
        """Read how many numbers there are, and those."""
        return [self.number(form) for _ in range(self.number("!H"))]

    def text(self) -> str:
        """Read a text, which ends with a zero byte."""
        end = self._content.find(b"\0", self._place)
        if end < 0:
            raise protocol_error("a message ends within a text")
        return decoded(self.take(end + 1 - self._place)[:-1])

    def take(self, size: int) -> bytes:
        """Read some bytes."""
        if size < 0 or self._place + size > len(self._content):
            raise protocol_error("a message is shorter than its parts")
        self._place += size
        return self._content[self._place - size : self._place]

    def value(self) -> bytes | None:
        """Read a value with its length before it; None is NULL."""
        size = self.number("!i")
        return None if size == -1 else self.take(size)

    def rest(self) -> bytes:
        """Read what is left."""
        return self.take(len(self._content) - self._place)

    def end(self) -> None:
        """Expect nothing more."""
        if self._place != len(self._content):
            raise protocol_error("a message is longer than its parts")


def decoded(content: bytes) -> str:
    """Read UTF-8."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise protocol_error("a text is not UTF-8") from None


def message(kind: bytes, *parts: bytes) -> bytes:
    r"""Write a message.

    >>> message(b"Z", b"I")
    b'Z\x00\x00\x00\x05I'
    """
    body = b"".join(parts)
    return kind + struct.pack("!I", len(body) + 4) + body


def text(value: str) -> bytes:
    """Write a text with its end."""
    return value.replace("\0", "").encode("utf-8", "replace") + b"\0"


def failure_message(
    code: str, said: str, fields: Mapping[str, Any], *, severity: str = "ERROR", detail: str = ""
) -> bytes:
    """Write a failure: its words are those of the HTTP door; detail and hint say what else helps."""
    state = REASONS.get(str(fields.get("reason")), "0A000") if code == "refused" else STATES.get(code, "XX000")
    parts = {"S": severity, "V": severity, "C": state, "M": said, "D": detail, "H": HINTS.get(code, "")}
    return message(b"E", *(kind.encode() + text(value) for kind, value in parts.items() if value), b"\0")


def notice(said: str) -> bytes:
    """Write a notice."""
    parts = {"S": "NOTICE", "V": "NOTICE", "C": "00000", "M": said}
    return message(b"N", *(kind.encode() + text(value) for kind, value in parts.items()), b"\0")


def row_description(columns: Sequence[ResultColumn], formats: Sequence[int]) -> bytes:
    """Write what the columns of rows are."""
    described = [
        text(one.name) + struct.pack("!IHIhih", 0, 0, one.kind.oid, one.kind.size, -1, form)
        for one, form in zip(columns, formats, strict=True)
    ]
    return message(b"T", struct.pack("!H", len(columns)), *described)


def parameter_status(name: str, value: str) -> bytes:
    """Write how a setting stands, which clients follow."""
    return message(b"S", text(name), text(value))


def complete(tag: str) -> bytes:
    """Write that a statement is done."""
    return message(b"C", text(tag))
