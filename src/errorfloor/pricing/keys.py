"""The groups of a question as columns: one Arrow array for each key, in the order in which engines sort them.

No group is an object of its own until somebody asks for one. Groups that are alike in all public facts are of one
kind, and what follows from these facts is worked out once for each kind.
"""

import decimal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from errorfloor.arithmetic import arrow
from errorfloor.arithmetic.double_words import DoubleWord
from errorfloor.arithmetic.polynomial import Polynomial
from errorfloor.checks import Array
from errorfloor.identity import Part, encode
from errorfloor.identity.labels import row_tags, text_words
from errorfloor.sql.plan import Scalar, TableColumn, Truncated
from errorfloor.sql.sums import Layout, denominator

DIGITS = 60  # integers of an engine have at most 38: two different keys stay different
NULL = np.array([0, 2**63], dtype="<u8")  # −2¹²⁷, which no number, date or moment is
TYPES = {"text": pa.string(), "date": pa.date32(), "moment": pa.timestamp("us"), "flag": pa.bool_()}


@dataclass(frozen=True, eq=False)
class KeyColumn:
    """One key of every group; of numbers the integers, in units of 1/``unit``.

    >>> KeyColumn(pa.array([1, None]), 4).parts()
    [Decimal('0.25'), None]
    """

    values: Any
    unit: int | None = None

    @classmethod
    def of(cls, column: Any, scalar: Scalar, layout: Layout) -> "KeyColumn":
        """Read a column of an engine's result."""
        if isinstance(scalar, Polynomial):
            return cls(arrow.whole(column), denominator(scalar, layout))
        return cls(arrow.flat(column).cast(TYPES[scalar.type]))

    def parts(self, first: int = 0, count: int | None = None) -> list[Part]:
        """Give some keys as labels hold them: whole numbers are ``int``, others ``Decimal``.

        The type follows from the unit alone; decimals are exact where they have a decimal form.
        """
        values: list[Any] = self.values.slice(first, count).to_pylist()
        if self.unit is None:
            return values
        return [None if value is None else _number(int(value), self.unit) for value in values]

    def taken(self, place: int) -> "KeyColumn":
        """Give the key of one group."""
        return KeyColumn(self.values.slice(place, 1), self.unit)

    @property
    def shown(self) -> Any:
        """The keys as a released table has them: numbers that are not whole are doubles.

        >>> KeyColumn(pa.array([1, None]), 4).shown.to_pylist()
        [0.25, None]
        """
        if self.unit is None or self.unit == 1:
            return self.values
        found = arrow.read(self.values) / DoubleWord.of(self.unit)
        return arrow.column(found.high, ~arrow.nulls(self.values))

    def words(self, derived: bytes) -> Array:
        """Give two words for each key, from which no two keys of a type have the same: a number, or a keyed digest.

        >>> KeyColumn(pa.array([-1, None]), 1).words(bytes(32)).tolist() == [[2**64 - 1, 2**64 - 1], [0, 2**63]]
        True
        """
        if pa.types.is_string(self.values.type):
            _, offsets, content = self.values.buffers()
            places = np.frombuffer(offsets, dtype="<i4")[self.values.offset :][: len(self.values) + 1]
            words = text_words(derived, np.frombuffer(content or b"", dtype=np.uint8), places)
        else:
            lower, upper = arrow.words_of(self._integers)
            words = np.stack([lower, upper.view("<u8")], axis=1)
        if self.values.null_count:
            words[arrow.nulls(self.values)] = NULL
        return words

    @property
    def _integers(self) -> Any:
        """What is no text, as whole numbers: days or microseconds since 1970, or 0 and 1."""
        if self.unit is not None:
            return self.values
        narrow = pa.types.is_date32(self.values.type) or pa.types.is_boolean(self.values.type)
        return self.values.cast(pa.int32() if narrow else pa.int64()).cast(pa.int64())

    def changes(self) -> Array:
        """Tell for each key but the first whether it differs from the one before."""
        if pa.types.is_int64(self.values.type) and not self.values.null_count:
            numbers = arrow.values_of(self.values)
            different: Array = numbers[1:] != numbers[:-1]
            return different
        before, after = self.values.slice(0, max(len(self.values) - 1, 0)), self.values.slice(1)
        same = pc.equal(before, after).fill_null(arrow.scalar(False))
        both_null = pc.and_(before.is_null(), after.is_null())
        return ~arrow.values_of(pc.or_(same, both_null))


@dataclass(frozen=True, eq=False)
class GroupKeys(Sequence[tuple[Part, ...]]):
    """The keys of ``size`` groups, or of rows; as a sequence it gives the groups, one tuple each.

    >>> keys = GroupKeys((KeyColumn(pa.array(["a", "b"])), KeyColumn(pa.array([1, 2]), 1)), 2)
    >>> keys[1], len(keys), list(GroupKeys((), 1))
    (('b', 2), 2, [()])
    """

    columns: tuple[KeyColumn, ...]
    size: int

    @classmethod
    def of(cls, result: Any, scalars: Sequence[Scalar], layout: Layout) -> "GroupKeys":
        """Read the columns k0, k1 and so on of an Arrow table."""
        columns = (KeyColumn.of(result.column(f"k{j}"), scalar, layout) for j, scalar in enumerate(scalars))
        return cls(tuple(columns), result.num_rows)

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, place: int) -> tuple[Part, ...]: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[tuple[Part, ...]]: ...
    def __getitem__(self, place: int | slice) -> tuple[Part, ...] | Sequence[tuple[Part, ...]]:
        if isinstance(place, slice):
            return list(self)[place]
        at = range(self.size)[place]
        return tuple(column.parts(at, 1)[0] for column in self.columns)

    def __iter__(self) -> Iterator[tuple[Part, ...]]:
        if not self.columns:
            return iter([()] * self.size)
        return zip(*(column.parts() for column in self.columns), strict=True)

    def numbered(self) -> Array:
        """Give the number of each row's group, where equal rows follow each other.

        >>> GroupKeys((KeyColumn(pa.array(["a", "a", None])),), 3).numbered().tolist()
        [0, 0, 1]
        """
        differs = np.zeros(max(self.size - 1, 0), dtype=bool)
        for column in self.columns:
            differs |= column.changes()
        if differs.all():
            return np.arange(self.size)
        return np.concatenate([np.zeros(min(self.size, 1), dtype=np.int64), np.cumsum(differs)])

    def tags(self, derived: bytes) -> Array:
        """Give a tag of two words for each group, by which its bits are drawn: see ``identity.labels``."""
        words = [column.words(derived) for column in self.columns]
        return row_tags(derived, words or [np.zeros((self.size, 2), dtype="<u8")])

    def taken(self, places: Array) -> "GroupKeys":
        """Give the keys in some places."""
        chosen = arrow.column(places)
        return GroupKeys(tuple(KeyColumn(one.values.take(chosen), one.unit) for one in self.columns), len(places))

    def are(self, others: "GroupKeys") -> bool:
        """Tell whether they are the same keys in the same order."""
        pairs = zip(self.columns, others.columns, strict=True)
        return self.size == others.size and all(one.values.equals(other.values) for one, other in pairs)


def _number(integer: int, unit: int) -> int | Decimal:
    """Give integer/unit; the type follows from the unit alone.

    >>> _number(6, 1), _number(6, 4), _number(8, 4)
    (6, Decimal('1.5'), Decimal('2'))
    """
    if unit == 1:
        return integer
    value = Fraction(integer, unit)
    context = decimal.Context(prec=DIGITS)
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def canonical_cells(
    result: Any, columns: Sequence[TableColumn | Truncated], layout: Layout
) -> tuple[list[tuple[Part, ...]], Array]:
    """Give the different cells of accounts of a result, from columns a0, a1 and so on, and the number of each row's.

    Each has accounts of its own in the ledger; they are in the order of their encoding.
    """
    codes = np.zeros(result.num_rows, dtype=np.int64)
    for j in range(len(columns)):
        column = result.column(f"a{j}").combine_chunks().dictionary_encode(null_encoding="encode")
        index = arrow.values_of(column.indices).astype(np.int64)
        codes = np.unique(codes * max(len(column.dictionary), 1) + index, return_inverse=True)[1]
    _, first, number = np.unique(codes, return_index=True, return_inverse=True)
    named = result.take(arrow.column(first)).select([f"a{j}" for j in range(len(columns))])
    scalars = [Polynomial.atom(column) if column.type == "number" else column for column in columns]
    values = list(GroupKeys.of(named.rename_columns([f"k{j}" for j in range(len(columns))]), scalars, layout))
    encoded = [encode(value) for value in values]
    order = sorted(range(len(values)), key=encoded.__getitem__)
    place = np.empty(len(values), dtype=np.int64)
    place[order] = np.arange(len(values))
    return [values[i] for i in order], place[number]


def kinds_of(columns: Sequence[Array]) -> tuple[Array, Array] | None:
    """Number the different rows of some columns, and give the place of the first of each; None if most differ.

    >>> kind, first = kinds_of([np.array([7, 7, 9, 7]), np.array([1, 1, 1, 1])])
    >>> kind.tolist(), first.tolist(), kinds_of([np.arange(9)])
    ([0, 0, 1, 0], [0, 2], None)
    """
    kind, many = np.zeros(len(columns[0]), dtype=np.int64), 1
    seen: list[Array] = []
    for column in columns:
        if any(column is other or np.array_equal(column, other) for other in seen):
            continue
        if column.dtype == object:
            return None
        if (column == column[:1]).all():
            continue
        seen.append(column)
        own, values = _numbered(column)
        if many == 1:
            kind, many = own, values
        elif values > 1:
            kind, many = _numbered(kind * values + own)
        if 2 * many > len(kind):
            return None
    if 2 * many > len(kind):
        return None
    if many == 1:
        return kind, np.zeros(1, dtype=np.int64)
    first = np.empty(many, dtype=np.int64)
    first[kind[::-1]] = np.arange(len(kind))[::-1]  # the last of those that are put in one place stays
    return kind, first


def _numbered(column: Array) -> tuple[Array, int]:
    """Number the different values of a column, in the order in which they come; and say how many there are."""
    encoded = arrow.column(column).dictionary_encode()
    return arrow.values_of(encoded.indices).astype(np.int64), len(encoded.dictionary)
