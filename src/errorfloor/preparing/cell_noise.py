"""The noise of each cell of an output: one law for all of them, or for each the bound that its size affords.

Groups of one kind have the same noise, and bounds are round numbers, so that few laws serve very many cells.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from errorfloor.arithmetic.double_words import DoubleWord
from errorfloor.checks import Array
from errorfloor.identity import Key, Label
from errorfloor.noise import RaisedCosine
from errorfloor.noise.lattice import Lattice
from errorfloor.preparing.noises import MOST_ERROR, Added, within
from errorfloor.preparing.rounding import cut, released
from errorfloor.pricing import OutputBounds
from errorfloor.pricing.interval import largest_at, quiet
from errorfloor.random import RowBits

DIGITS = (5, 4, 3)  # of bounds that follow from a share: as many as leave few enough levels
MOST_LEVELS = 1000
UNIT = RaisedCosine(-1.0, 1.0)


@dataclass(frozen=True, eq=False)
class CellNoise:
    """What is added to the cells of an output: groups of kind k have ``each[level[k]]``; the widest is the last.

    ``law`` is what decides the released numbers besides the key and the question.

    >>> CellNoise.same(within(-0.5, 0.5, evaluation_error=0.0), 3).of_kind("high")
    array([0.5, 0.5, 0.5])
    """

    each: tuple[Added, ...]
    level: Array
    law: str

    @classmethod
    def same(cls, added: Added, kinds: int) -> "CellNoise":
        """Give every cell the same noise."""
        return cls((added,), np.zeros(kinds, dtype=np.int64), added.law)

    @classmethod
    def differing(cls, each: Sequence[Added], level: Array, kind: Array) -> "CellNoise":
        """Give groups, of the kind ``kind[j]``, noises of their own; the label holds which group has which."""
        if len(each) == 1:
            return cls.same(each[0], len(level))
        laws, groups = hashlib.sha256(), hashlib.sha256(level[kind].astype("<i8").tobytes())
        for one in each:
            laws.update(f"{one.law}\n".encode())
        law = json.dumps({"laws": laws.hexdigest(), "groups": groups.hexdigest()}, sort_keys=True)
        return cls(tuple(each), level, law)

    @property
    def varies(self) -> bool:
        """Whether groups have different noises."""
        return len(self.each) > 1

    @property
    def widest(self) -> Added:
        """The noise with the largest bound."""
        return self.each[-1]

    @property
    def narrowest(self) -> Added:
        """The noise with the smallest bound."""
        return self.each[0]

    @property
    def is_each_its_own(self) -> bool:
        """Whether a draw takes the same steps from its own tag, whichever other cells are drawn with it."""
        return self.varies or isinstance(self.widest.noise, RaisedCosine)

    @cached_property
    def information(self) -> Array:
        """The information of the noise of each kind."""
        return self.of_kind("information")

    @cached_property
    def grain(self) -> Array:
        """The grain of each kind."""
        return self.of_kind("grain")

    def of_kind(self, name: str) -> Array:
        """Give one number of the noise of each kind: low, high, bias, standard_error and so on."""
        return np.array([getattr(one, name) for one in self.each])[self.level]

    def draw(self, key: Key, label: Label, tags: Array, kind: Array) -> Array:
        """Draw the noise of each group's cell from the key, the label and the group's own tag.

        Where noises differ they are raised cosines around zero, and a draw is one of the unit's times the half-width.
        """
        derived = key.derive(label)
        if not self.varies:
            return self.widest.draws(derived, tags)
        half = np.array([one.noise.support.bounding_box[1][0] for one in self.each])
        draws: Array = UNIT.sample(len(tags), rng=RowBits(derived, tags)) * half[self.level[kind]]
        return draws

    def released(self, values: DoubleWord, noise: Array, kind: Array) -> Array:
        """Give the released numbers of groups from their values and noise, each on the lattice of its own noise."""
        if not self.varies:
            return released(values, noise, self.widest.offset, self.widest.lattice)
        found = np.empty(len(noise))
        for step in dict.fromkeys(one.lattice.step for one in self.each):
            mine = self._released_in(step)[kind]
            part = DoubleWord(values.high[mine], values.low[mine])
            found[mine] = released(part, noise[mine], 0.0, Lattice(step))
        return found

    def interval(self, values: Array, bounds: OutputBounds, kind: Array, *, fine: bool = True) -> tuple[Array, Array]:
        """Give the ends of the certain interval of each released number; cells are of the kind ``kind``.

        *Guarantee*: the truth lies between them. They follow from the released number and from public facts.
        """
        least, most = bounds.low, bounds.high
        if not self.varies:
            off = np.array(self.widest.low), np.array(self.widest.high)
            return cut(values, off, (least, most), self.widest.lattice.step, kind, fine=fine)
        low, high = np.empty(len(values)), np.empty(len(values))
        off = self.of_kind("low"), self.of_kind("high")
        for step in dict.fromkeys(one.lattice.step for one in self.each):
            mine = self._released_in(step)[kind]
            own = kind[mine]
            possible = least[own], most[own]
            low[mine], high[mine] = cut(values[mine], (off[0][own], off[1][own]), possible, step, fine=fine)
        return low, high

    def _released_in(self, step: str) -> Array:
        """Tell of each kind whether its numbers are multiples of this step."""
        return np.array([one.lattice.step == step for one in self.each])[self.level]


@quiet
def affording(information: Array, errors: Array, kind: Array) -> CellNoise:
    """Give each kind of group the smallest round bound whose noise has at most its ``information``.

    ``errors`` are the evaluation errors of each kind.

    >>> noise = affording(np.array([39.0, 3900.0]), np.zeros(2), np.arange(2))
    >>> noise.of_kind("high").tolist(), bool((noise.information <= [39.0, 3900.0]).all())
    ([0.50356, 0.050356], True)
    """
    narrowest = np.maximum(np.pi / np.sqrt(information) + errors, errors / (2 * MOST_ERROR))
    step = 10.0 ** np.floor(np.log10(narrowest / 100))
    for digits in DIGITS:
        bound = _rounded_up(narrowest + step / 2, digits)
        if len(np.unique(bound)) <= MOST_LEVELS:
            break
    while True:
        bounds, level = np.unique(bound, return_inverse=True)
        worst = largest_at(level, errors, len(bounds))
        each = [
            within(-one, one, evaluation_error=off) for one, off in zip(bounds.tolist(), worst.tolist(), strict=True)
        ]
        over = np.array([one.information for one in each])[level] > information
        if not over.any():
            return CellNoise.differing(each, level, kind)
        bound = np.where(over, _rounded_up(bound * (1 + 10.0**-digits / 2), digits), bound)


def _rounded_up(bounds: Array, digits: int) -> Array:
    """Round up to so many digits; each is the double nearest to its decimal.

    >>> _rounded_up(np.array([0.12341, 9.991, 5.0]), 3).tolist()
    [0.124, 10.0, 5.0]
    """
    power = np.floor(np.log10(bounds)) - (digits - 1)
    whole = np.ceil(bounds / 10.0**power * (1 - 2.0**-50))
    codes, place = np.unique(whole.astype(np.int64) * 2048 + (power.astype(np.int64) + 1024), return_inverse=True)
    return np.array([float(f"{code // 2048}e{code % 2048 - 1024}") for code in codes.tolist()])[place]
