"""Keys and labels: what makes two draws the same; and tags, which tell the rows below a label apart.

A label is an encoding that nothing else has: each part carries its type and its length, and the whole its version and
purpose. Equal labels mean equal parts of equal types in equal order; 1 and "1" and 1.0 are three different parts.

A row has a tag, from its key, a whole column at a time. Each key column becomes words: an integer, date or moment one
word, a text two words that are its keyed digest. A row's tag is the CBC-MAC of its words under AES-256. The words of a
row are decodable from the left and their number is fixed by the columns, so no message is the beginning of another, and
the tags of different rows are independent to whoever lacks the key.
"""

import datetime
import hashlib
import hmac
import math
import secrets
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import NoReturn

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import InputError
from errorfloor.random.sticky import BlockCipher

MAGIC = b"errorfloor label"
VERSION = 1
LENGTH = struct.Struct(">Q")
MASKS = np.array([2 ** (8 * there) - 1 for there in range(9)], dtype="<u8")  # of a word's first bytes

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


@dataclass(frozen=True)
class Key:
    """A secret of 32 bytes with a public id; it shows its id and never its secret.

    >>> key = Key.fresh()
    >>> repr(key) == f"Key({key.id})"
    True
    """

    id: str
    created: str
    secret: bytes = field(repr=False)

    @classmethod
    def fresh(cls) -> "Key":
        """Draw a key from the operating system."""
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        return cls(id=secrets.token_hex(8), created=now, secret=secrets.token_bytes(32))

    def derive(self, label: Label) -> bytes:
        """Give 32 bytes that follow from the key and the label, and tell nothing about either to others.

        The key's id is part of what is authenticated, so two keys never agree on a label.

        >>> key = Key.fresh()
        >>> key.derive(Label("a", (1,))) == key.derive(Label("a", (1,))), len(key.derive(Label("a", (2,))))
        (True, 32)
        """
        keyed = Label("keyed", (self.id, label.encoded))
        return hmac.new(self.secret, keyed.encoded, hashlib.sha256).digest()

    def release_id(self, label: Label) -> str:
        """Give the name under which the ledger knows what is drawn for a label; it changes with the key, as draws do.

        >>> Key.fresh().release_id(Label("a", (1,))) == Key.fresh().release_id(Label("a", (1,)))
        False
        """
        return hashlib.sha256(Label("release", (self.id, label.encoded)).encoded).hexdigest()

    def __repr__(self) -> str:
        return f"Key({self.id})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key must not be pickled: load it from its file where it is needed")


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


def row_tags(derived: bytes, columns: Sequence[Array]) -> Array:
    """Give an (n, 2) array of tags from arrays of words, each of shape (n,) or (n, 2).

    >>> tags = row_tags(bytes(32), [np.arange(3, dtype="<u8"), np.zeros(3, dtype="<u8")])
    >>> tags.shape, len(np.unique(tags[:, 0]))
    ((3, 2), 3)
    """
    width = sum(1 if column.ndim == 1 else column.shape[1] for column in columns)
    words = np.zeros((len(columns[0]), width + width % 2), dtype="<u8")
    place = 0
    for column in columns:
        size = 1 if column.ndim == 1 else column.shape[1]
        words[:, place : place + size] = column.reshape(-1, size)
        place += size
    cipher = BlockCipher(derived)
    state = cipher.encrypt(words[:, :2])
    for start in range(2, words.shape[1], 2):
        state = cipher.encrypt(state ^ words[:, start : start + 2])
    return state


def text_words(derived: bytes, content: Array, offsets: Array) -> Array:
    """Give two words for each text, a keyed digest; text i is ``content[offsets[i] : offsets[i + 1]]``, as bytes.

    The digest is the CBC-MAC of the text's length and its bytes, padded with zeros; the length comes first, so that no
    message is the beginning of another.

    >>> content, offsets = np.frombuffer(b"abca", dtype=np.uint8), np.array([0, 1, 3, 4])
    >>> words = text_words(bytes(32), content, offsets)
    >>> bool((words[0] == words[2]).all()), bool((words[0] == words[1]).all())
    (True, False)
    """
    cipher = BlockCipher(hmac.new(derived, b"text", hashlib.sha256).digest())
    starts, lengths = np.asarray(offsets[:-1], dtype=np.int64), np.diff(offsets).astype(np.int64)
    blocks = (lengths + 8 + 15) // 16  # the length takes the first eight bytes
    state = np.zeros((len(lengths), 2), dtype="<u8")
    left, padded = np.flatnonzero(blocks > 0), np.concatenate([content, np.zeros(8, dtype=np.uint8)])
    for block in range(int(blocks.max(initial=0))):
        left = left[blocks[left] > block]
        message = _window(padded, starts[left], lengths[left], 16 * block - 8)
        if block == 0:
            message[:, 0] = lengths[left]
        state[left] = cipher.encrypt(state[left] ^ message)
    return state


def _window(padded: Array, starts: Array, lengths: Array, offset: int) -> Array:
    """Give sixteen bytes of each text from ``offset`` on, zeros where it has none, as two words.

    ``padded`` are all texts, and eight bytes more.
    """
    everywhere = np.ndarray((len(padded) - 7,), dtype="<u8", buffer=padded, strides=(1,))  # the word at each byte
    message = np.zeros((len(starts), 2), dtype="<u8")
    for half, place in enumerate((offset, offset + 8)):
        if place >= 0:
            there = np.clip(lengths - place, 0, 8)
            message[:, half] = everywhere[np.minimum(starts + place, len(padded) - 8)] & MASKS[there]
    return message
