"""Labels: what makes two questions the same.

A label is an encoding that nothing else has: each part carries its type and its length, and the whole its version and
purpose. Equal labels mean equal parts of equal types in equal order; 1 and "1" and 1.0 are three different parts.
"""

import datetime
import math
import struct
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from errorfloor.errors import InputError

MAGIC = b"errorfloor label"
VERSION = 1
LENGTH = struct.Struct(">Q")

Part = None | bool | int | float | str | bytes | Decimal | datetime.date | datetime.datetime | tuple["Part", ...]


class Encoded(bytes):
    """Parts in a row that were encoded before, so that it is not done again with every label that begins like them.

    >>> Label("answer", (Encoded.of(("a", 1)), 2.0)).encoded == Label("answer", ("a", 1, 2.0)).encoded
    True
    """

    @classmethod
    def of(cls, parts: tuple[Part, ...]) -> "Encoded":
        """Encode parts."""
        return cls(b"".join(map(encode, parts)))


@dataclass(frozen=True)
class Label:
    """A purpose and its parts.

    >>> Label("answer", ("ab", "c")).encoded == Label("answer", ("a", "bc")).encoded
    False
    """

    purpose: str
    parts: tuple[Part, ...]

    def __post_init__(self) -> None:
        _ = self.encoded  # a part that has no encoding is refused here

    @cached_property
    def encoded(self) -> bytes:
        """The label as bytes, the same on every machine."""
        return MAGIC + struct.pack(">H", VERSION) + encode(self.purpose) + encode(self.parts)


def encode(part: Part) -> bytes:
    """Encode one part: a letter for its type, its length in eight bytes, and its content.

    >>> encode("é").hex()
    '730000000000000002c3a9'
    >>> encode(float("nan"))
    Traceback (most recent call last):
    errorfloor.errors.InputError: a label cannot hold nan: it does not equal itself
    """
    exact = type(part)  # the kinds that labels are mostly made of, without a walk through all of them
    if exact is str:
        kind, content = b"s", part.encode("utf-8", "surrogatepass")  # type: ignore[union-attr]
    elif exact is tuple:
        kind, content = b"t", b"".join(map(encode, part))  # type: ignore[arg-type]
    elif exact is Encoded:
        return part  # type: ignore[return-value]
    else:
        kind, content = _content(part)
    return kind + LENGTH.pack(len(content)) + content


def _content(part: Part) -> tuple[bytes, bytes]:
    match part:
        case None:
            return b"n", b""
        case bool():
            return b"b", b"\x01" if part else b"\x00"
        case int():
            return b"i", str(part).encode()
        case float():
            if math.isnan(part):
                raise InputError("a label cannot hold nan: it does not equal itself")
            return b"f", struct.pack(">d", part + 0.0)  # −0.0 equals 0.0, so it is encoded as 0.0
        case str():
            return b"s", part.encode("utf-8", "surrogatepass")
        case bytes():
            return b"y", part
        case Decimal():
            if not part.is_finite():
                raise InputError(f"a label cannot hold the decimal {part}")
            return b"d", _decimal(part).encode()
        case datetime.datetime():
            return b"m", part.isoformat().encode()
        case datetime.date():
            return b"a", part.isoformat().encode()
        case tuple():
            return b"t", b"".join(encode(item) for item in part)
        case _:
            raise InputError(f"a label cannot hold a {type(part).__name__}")


def _decimal(part: Decimal) -> str:
    """Write a decimal exactly, with no trailing zeros: 1.50 and 1.5 are one number."""
    sign, digits, exponent = part.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    stripped = text.rstrip("0")
    if not stripped:
        return "0"
    return f"{'-' if sign else ''}{stripped}e{int(exponent) + len(text) - len(stripped)}"
