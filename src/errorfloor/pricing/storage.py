"""How many bits each function of a row is stored with, and how large every stored integer can be."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, frexp, log2

import numpy as np

from errorfloor.pricing.refusals import too_large
from errorfloor.pricing.rows import Rows
from errorfloor.sql.canonical import Node
from errorfloor.sql.layout import MOST_CALL, Layout
from errorfloor.sql.plan import Call, Column, DatePart, Floor
from errorfloor.sql.polynomial import Monomial

MOST_SUM_BITS = 122  # a little less than 10^37
MOST_BITS = 80  # of a function inside another's argument; with a column of 40 bits it still is below 10^37


@dataclass
class Storage:
    """The bits and the largest stored integer of each function; ``fewer`` are the bits that some have to do without.

    >>> Storage.bits_for(1.0), Storage.bits_for(3.0)
    (39, 38)
    """

    fewer: Mapping[Call, int] = field(default_factory=dict)
    bits: dict[Call, int] = field(default_factory=dict)
    largest: dict[Column | DatePart | Floor | Call, int] = field(default_factory=dict)

    @staticmethod
    def bits_for(reach: float) -> int:
        """Give the largest number of bits for which the value, rounded, stays within 2^40."""
        exponent = frexp(reach)[1] if reach else -MOST_BITS  # reach < 2^exponent
        return min(MOST_CALL.bit_length() - 1 - exponent, MOST_BITS)

    def fill(self, rows: Sequence[Rows]) -> None:
        """Decide the bits of every function of the polynomials, inner ones first.

        One function has the same bits wherever it occurs: they follow from the largest of its values on all rows.

        Raises ``RefusedError`` for a function that may exceed 2^40.
        """
        calls = {call: None for one in rows for call in one.calls}
        for depth in range(1, 1 + max(map(_depth, calls), default=0)):
            for call in (call for call in calls if _depth(call) == depth):
                reach = max(one.reach(call) for one in rows if call in one.calls)
                if not reach < MOST_CALL:
                    raise too_large(call, reach, float(MOST_CALL))
                self.bits[call] = self.bits_for(reach) - self.fewer.get(call, 0)
                self.largest[call] = int(np.ceil(reach * 2.0 ** self.bits[call])) + 1

    def layout(self, stored: Layout, rows: int) -> Layout:
        """Add the functions to what is known of the other atoms; ``rows`` bounds the rows of a group."""
        return Layout({**stored.largest, **self.largest}, {**stored.bits, **self.bits}, max(rows, 1))


def crowded(sums: Iterable[Monomial], layout: Layout) -> dict[Call, int]:
    """Say how many bits fewer the functions must have whose products would exceed what engines add up exactly.

    >>> crowded([()], Layout({}, {}, rows=10))
    {}
    """
    fewer: dict[Call, int] = {}
    for monomial in sums:
        size = log2(layout.rows) + sum(power * log2(max(1, _largest(atom, layout))) for atom, power in monomial)
        calls = [(atom, power) for atom, power in monomial if isinstance(atom, Call)]
        excess = size - MOST_SUM_BITS
        if excess > 0 and calls:
            each = ceil(excess / sum(power for _, power in calls))
            for call, _ in calls:
                fewer[call] = max(fewer.get(call, 0), each)
    return fewer


def _largest(atom: Node, layout: Layout) -> int:
    return layout.largest.get(atom, 1) if isinstance(atom, Column | DatePart | Floor | Call) else 1


def _depth(call: Call) -> int:
    return 1 + max((_depth(atom) for atom in call.argument.atoms if isinstance(atom, Call)), default=0)
