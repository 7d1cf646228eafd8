"""What makes two trips the same: labels, and the bits that follow from them."""

import hashlib
import hmac
import json
import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import InputError
from errorfloor.identity import Key, Label, encode
from errorfloor.random import SAMPLER, RowBits

Name = str | int
ARITHMETIC = 2  # the version of how noise is carried; a change of it is a change of every answer
VERSIONS = ("arithmetic", ARITHMETIC, "sampler", SAMPLER)


def law_digest(plain: Any, arrays: Sequence[Array | None]) -> str:
    """Give a digest of what decides a stream's noise: plain JSON types, and arrays to the last bit.

    >>> law_digest({"a": 1.0}, [np.zeros(2)]) == law_digest({"a": 1.0}, [np.ones(2)])
    False
    """
    digest = hashlib.sha256(json.dumps([plain, [None if one is None else one.shape for one in arrays]]).encode())
    for one in arrays:
        if one is not None:
            digest.update(np.ascontiguousarray(one, dtype="<f8").tobytes())
    return digest.hexdigest()


def trip_label(stream: str, law: str, entity: Name, trip: Name) -> Label:
    """Give the label of one trip of one entity.

    >>> trip_label("cars", "00", "car 7", "monday").encoded == trip_label("cars", "00", "car 7", "tuesday").encoded
    False
    """
    return Label("trip", (VERSIONS, stream, law, entity, trip))


def trip_tags(key: Key, stream: str, law: str, trips: Sequence[tuple[Name, Name]]) -> Array:
    """Give two words for each trip, which follow from the key, the stream and the trip."""
    tagging = key.derive(Label("trips", (VERSIONS, stream, law)))
    digests = b"".join(hmac.digest(tagging, encode(trip), "sha256")[:16] for trip in trips)
    return np.frombuffer(digests, dtype="<u8").reshape(-1, 2)


def trip_bits(key: Key, stream: str, law: str, tags: Array, purpose: str, number: int) -> RowBits:
    """Give the bits of each trip for a purpose: its start on a leg, or the noise of one of its steps."""
    return RowBits(key.derive(Label(f"trip {purpose}", (VERSIONS, stream, law, number))), tags)


def check_name(what: str, value: Any) -> Name:
    """Give the name of an entity or a trip, a text or a whole number.

    >>> check_name("entity", "")
    Traceback (most recent call last):
    errorfloor.errors.InputError: entity must be a text or a whole number, got ''
    """
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        raise InputError(f"{what} must be a text or a whole number, got {value!r}")
    return unicodedata.normalize("NFC", value) if isinstance(value, str) else value
