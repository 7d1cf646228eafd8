"""How large a reply is at most, from public facts alone, so that one that is too large is refused before the charge."""

import numpy as np
import pyarrow as pa

from errorfloor.access.replies import body_of
from errorfloor.arithmetic import arrow
from errorfloor.checks import Array
from errorfloor.preparing.preparation import Prepared
from errorfloor.pricing.keys import KeyColumn

ANYHOW = 20_000  # bytes: what is stated of any answer, in numbers and in words
AN_OUTPUT = 1000  # what is stated of an output
AN_ACCOUNT = 3000  # and of an account
LONGEST = {
    pa.types.is_date: 12,
    pa.types.is_timestamp: 28,
    pa.types.is_boolean: 5,
    pa.types.is_decimal: 40,
}  # bytes of a key that is neither a text nor a number of 64 bits
POWERS = 10 ** np.arange(1, 19, dtype=np.int64)
NUMBER = 27  # the longest number, with its comma
A_CELL = (
    150 + 9 * NUMBER
)  # the words around the numbers of a cell, and those: thrice in the row, six times in its facts
ESCAPED = 5  # how much longer a byte can become that JSON does not hold as it is
AN_ENTRY = 60 + 3 * NUMBER  # what is stated of each private column in a cell


def reply_bytes(prepared: Prepared) -> int:
    """Give an upper bound of the bytes of an answer in JSON.

    >>> from errorfloor.server.statements import json_parts
    >>> from errorfloor.service.example import example_database
    >>> with example_database() as db:
    ...     answer = db.ask("SELECT avg(kwh) AS mean, count(*) AS n FROM meters", max_error=0.5)
    >>> len(b"".join(json_parts(answer))) < reply_bytes(answer.prepared) < 30_000
    True
    """
    question, groups = prepared.question, prepared.bounds.groups
    accounts = prepared.charges
    row = sum(2 * len(body_of(key.name)) for key in question.keys) + 40
    for one, bound in zip(prepared.outputs, prepared.bounds.outputs, strict=True):
        words = 2 * len(body_of(one.output.name)) + len(body_of(one.output.unit))
        row += A_CELL + words + sum(AN_ENTRY + len(body_of(column)) for column in bound.slopes)
    shown = prepared.rows if question.limit is None else min(question.limit, prepared.rows)
    size = ANYHOW + AN_OUTPUT * len(prepared.outputs) + AN_ACCOUNT * len(accounts) + row * shown
    if not question.keys:
        return size
    lengths = np.sort(sum((2 * (_written(column) + 4) for column in groups.columns), np.zeros(len(groups), np.int64)))
    totals = (prepared.rows - len(groups)) * int(lengths.max(initial=0))
    return size + totals + int(lengths[max(0, len(groups) - shown) :].sum())


def _written(column: KeyColumn) -> Array:
    """Bound the bytes of each key in JSON: whole numbers by their digits, texts in ASCII with their quotes."""
    values = column.values
    if pa.types.is_integer(values.type) and column.unit == 1:
        whole = arrow.values_of(values)
        size = np.abs(np.maximum(whole, 1 - 2**63))
        digits = 1 + np.searchsorted(POWERS, size, side="right") + (whole < 0)
        return np.where(arrow.nulls(values), len("null"), digits)
    if not pa.types.is_string(values.type):
        return np.full(len(values), next((size for kind, size in LONGEST.items() if kind(values.type)), NUMBER))
    _, offsets, content = values.buffers()
    places = np.frombuffer(offsets, dtype="<i4")[values.offset :][: len(values) + 1].astype(np.int64)
    letters = np.frombuffer(content or b"", dtype=np.uint8)
    awkward = (letters < 32) | (letters > 126) | (letters == ord('"')) | (letters == ord("\\"))
    before = np.concatenate([[0], np.cumsum(awkward)])
    lengths: Array = np.maximum(2 + np.diff(places) + ESCAPED * np.diff(before[places]), len("null"))
    return lengths
