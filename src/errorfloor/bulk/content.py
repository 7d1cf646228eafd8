"""What the rows of a table hold, told by tags that depend neither on their order nor on how they are stored."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from errorfloor.bulk.perturbation import RowKey, Watch, kind_of
from errorfloor.bulk.ruled import RuledColumn
from errorfloor.checks import Array
from errorfloor.identity import Key, Label

MODULUS = 1 << 128
MOST = 1 << 20  # words that are kept of a column: eight megabytes


@dataclass(frozen=True)
class Holding:
    """What rows hold, in parts that can be added up in any order.

    ``sum`` is that of all tags, modulo 2¹²⁸. ``words`` are the first words of the tags of rows that have a value, as
    far as they are less than 2⁶⁴⁻ʰ with h = ``halvings``: of few rows all of them; of more than ``MOST`` a part, chosen
    by the tags themselves and so the same part of the same rows.

    Guarantee: two tables of at most ``MOST`` values that share a row share a word; larger ones that share s rows do
    not with probability at most (1 − 2⁻ʰ)ˢ, h the greater of theirs. See content.proof.md.

    >>> tags = np.array([[5, 0], [2**63, 1], [7, 0]], dtype="<u8")
    >>> one = Holding.of(tags, np.array([True, True, False]))
    >>> one.rows, one.sum == (1 << 64) + 12 + 2**63, one.words.tolist()
    (3, True, [5, 9223372036854775808])
    >>> (one + one).thinned(1).words.tolist()
    [5, 5]
    """

    rows: int = 0
    sum: int = 0
    words: Array = field(default_factory=lambda: np.zeros(0, dtype="<u8"), repr=False)
    halvings: int = 0

    @classmethod
    def of(cls, tags: Array, has_value: Array) -> "Holding":
        """Take the tags of some rows."""
        return cls(len(tags), total(tags), np.ascontiguousarray(tags[has_value, 0]))

    def __add__(self, other: "Holding") -> "Holding":
        """Add the rows of both, and keep no more words than ``MOST``."""
        halvings = max(self.halvings, other.halvings)
        words = np.concatenate([self.thinned(halvings).words, other.thinned(halvings).words])
        both = Holding(self.rows + other.rows, (self.sum + other.sum) % MODULUS, words, halvings)
        while both.words.size > MOST:
            both = both.thinned(both.halvings + 1)
        return both

    def thinned(self, halvings: int) -> "Holding":
        """Keep the words that are small enough."""
        if halvings <= self.halvings:
            return self
        words = self.words[self.words >> np.uint64(64 - halvings) == 0]
        return Holding(self.rows, self.sum, words, halvings)


def total(tags: Array) -> int:
    """Add up tags as numbers of 128 bits, modulo 2¹²⁸.

    >>> total(np.array([[2**64 - 1, 2**64 - 1], [2, 0]], dtype="<u8"))
    1
    """
    quarters = np.ascontiguousarray(tags, dtype="<u8").view("<u4").reshape(-1, 4).sum(axis=0, dtype=np.uint64)
    return sum(int(quarter) << (32 * place) for place, quarter in enumerate(quarters)) % MODULUS


@dataclass(frozen=True)
class Content:
    """Gives every row of a column that is to be released a keyed tag, and adds the tags up.

    The tag of a row is that of its key, its value and whether it has one; the order in which the key's columns are
    named does not matter. Values that break the rules of their column are refused here.

    Guarantee: different rows, with keys that are unique in each table, have different sums up to chance 2⁻¹²⁸, to
    whoever lacks the key. See content.proof.md.

    >>> from errorfloor.bulk.columns import ReleasedColumn
    >>> from errorfloor.support import Interval
    >>> column = ReleasedColumn.plan("kwh", Interval(0, 1), out_of_range="refuse", nulls="keep")
    >>> rows = pa.record_batch({"id": [1, 2, 3], "kwh": [9.0, None, 8.0]})
    >>> content = Content.prepare(rows.schema, [column], ["id"], Key.fresh())
    >>> first, second, third = (content.of(rows.slice(place, 1))["kwh"] for place in (2, 0, 1))
    >>> (first + second + third).sum == content.of(rows)["kwh"].sum, content.of(rows)["kwh"].words.size
    (True, 2)
    """

    row_keys: tuple[RowKey, ...]
    columns: tuple[RuledColumn, ...]

    @classmethod
    def prepare(cls, schema: pa.Schema, columns: Sequence[RuledColumn], key: Sequence[str], secret: Key) -> "Content":
        """Derive a key for each column from what names it."""
        names = tuple(sorted(key))
        kinds = tuple(kind_of(schema.field(name).type, name) for name in names)
        whose = [Label("release content", (names, kinds, column.name)) for column in columns]
        return cls(tuple(RowKey(names, secret.derive(label)) for label in whose), tuple(columns))

    def of(self, batch: pa.RecordBatch) -> dict[str, Holding]:
        """Give what some rows hold, by column."""
        held = {}
        for row_key, column in zip(self.row_keys, self.columns, strict=True):
            bits, absent = _words(column, batch)
            held[column.name] = Holding.of(row_key.tags(batch, bits, absent), absent == 0)
        return held


def digest(column: str, held: Holding, secret: Key) -> str:
    """Give what stands for the rows of a column in the register: it follows from the sum, and does not give it away."""
    return secret.derive(Label("release content sum", (column, held.rows, held.sum))).hex()


class ContentWatch:
    """Adds up what all rows hold beside another watch; both are settled once the last row has come."""

    def __init__(self, content: Content, beside: Watch, enter: Callable[[Mapping[str, Holding]], None]) -> None:
        self._content, self._beside, self._enter = content, beside, enter
        self._held = {column.name: Holding() for column in content.columns}

    def look(self, batch: pa.RecordBatch, tags: Array) -> tuple[dict[str, Holding], Any]:
        """Look at the rows of a batch."""
        return self._content.of(batch), self._beside.look(batch, tags)

    def take(self, found: tuple[dict[str, Holding], Any]) -> None:
        """Add what they hold."""
        held, other = found
        self._beside.take(other)
        self._held = {name: self._held[name] + part for name, part in held.items()}

    def settle(self) -> None:
        """Tell what all rows hold, if the other watch has nothing against them."""
        self._beside.settle()
        self._enter(self._held)


def _words(column: RuledColumn, batch: pa.RecordBatch) -> tuple[Array, Array]:
    """Give a value as a double, before it is clamped, and whether there is one."""
    values, missing = column.numbers(batch.column(column.name))
    absent = np.zeros(len(values), dtype="<u8") if missing is None else missing.astype("<u8")
    bits = np.where(absent, 0.0, values + 0.0).view("<u8")  # −0.0 is released as 0.0 is
    return bits, absent
