"""The law of an answer for every true value: laws at nodes, and great circles between them."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from errorfloor.checks import Array, matrix, numbers, vector
from errorfloor.errors import InputError
from errorfloor.policies import sphere
from errorfloor.policies.answers import Cells
from errorfloor.random import Bits, bits_from
from errorfloor.support import Interval
from errorfloor.values import Value

CHUNK = 4096  # values whose laws are written out together
UNIT = 2.0**-53


@dataclass(frozen=True, eq=False)
class AnswerLaw(Value):
    """p(y|s): at ``nodes`` s_i the probabilities of the ``cells`` are the rows of ``laws``; between nodes √p turns.

    >>> two = AnswerLaw([0.0, 1.0], Cells.of_points([0, 1]), [[0.8, 0.2], [0.2, 0.8]])
    >>> two.law(0.5).round(6).tolist()
    [0.5, 0.5]
    """

    nodes: Array
    cells: Cells
    laws: Array

    def __post_init__(self) -> None:
        if not isinstance(self.cells, Cells):
            raise InputError(f"cells must be Cells, got {type(self.cells).__name__}")
        nodes, laws = vector("nodes", self.nodes), matrix("laws", self.laws)
        if nodes.size < 2 or not (np.diff(nodes) > 0).all():
            raise InputError("nodes must be two or more values in increasing order")
        if laws.shape != (nodes.size, self.cells.low.size):
            raise InputError(f"laws must have {nodes.size} rows and {self.cells.low.size} columns, got {laws.shape}")
        if (laws < 0).any() or not (np.abs(laws.sum(axis=1) - 1) < 1e-9).all():
            raise InputError("each row of laws must be probabilities that add up to 1")
        total = np.array([math.fsum(row) for row in laws.tolist()])[:, None]
        off = np.abs(total - 1) > laws.shape[1] * 2.0**-52  # beyond rounding: what was scaled once is kept to the bit
        self._set(nodes=nodes, laws=np.where(off, laws / total, laws))  # what is stated is then what is drawn

    @property
    def values(self) -> Interval:
        """The true values that the policy answers for."""
        return Interval(float(self.nodes[0]), float(self.nodes[-1]))

    @cached_property
    def _roots(self) -> Array:
        return np.sqrt(self.laws)

    @cached_property
    def _angles(self) -> Array:
        return sphere.angles(self._roots)

    def _place(self, s: Array) -> tuple[Array, Array]:
        """The step that each value lies in, and how far along."""
        if not ((s >= self.nodes[0]) & (s <= self.nodes[-1])).all():
            raise InputError(
                f"s must lie within the policy's values {self.nodes[0]:g} … {self.nodes[-1]:g}: clamp it first"
            )
        step = np.clip(np.searchsorted(self.nodes, s, side="right") - 1, 0, len(self.nodes) - 2)
        return step, (s - self.nodes[step]) / (self.nodes[step + 1] - self.nodes[step])

    def law(self, s: Any) -> Array:
        """The probabilities of all cells at each s, along the last axis."""
        s = numbers("s", s)
        step, t = self._place(s)
        a, b = sphere.weights(self._angles[step], t)
        return np.asarray((a[..., None] * self._roots[step] + b[..., None] * self._roots[step + 1]) ** 2)

    def pdf(self, y: Any, s: Any) -> Any:
        """The density of the answer y at s; the probability of y where the answers are points."""
        y, s = _together(y, s)
        cell, inside = self._cell(y)
        step, t = self._place(s)
        a, b = sphere.weights(self._angles[step], t)
        law = np.asarray((a * self._roots[step, cell] + b * self._roots[step + 1, cell]) ** 2)
        size = 1.0 if self.cells.are_points else self.cells.width[cell]
        return np.where(inside, law / size, 0.0)[()]

    def cdf(self, y: Any, s: Any) -> Any:
        """The probability of an answer ≤ y at s."""
        y, s = _together(y, s)
        out = np.empty(y.size)
        for part in _chunks(y.size):
            law = self.law(s.ravel()[part])
            if self.cells.are_points:
                below = (self.cells.low <= y.ravel()[part][:, None]).astype(float)
            else:
                below = np.clip((y.ravel()[part][:, None] - self.cells.low) / self.cells.width, 0, 1)
            out[part] = np.minimum((law * below).sum(axis=1), 1.0)
        return out.reshape(y.shape)[()]

    def sample(self, s: Any, rng: Any = None) -> Any:
        """Draw one answer for each s.

        Each draw takes two words of 64 bits for points, three for cells: one chooses among the three laws that a step's
        law is a mixture of, one the cell, and a third the place inside it. The same bits give the same answer on every
        machine. With ``rng`` None they are secure.
        """
        s = numbers("s", s)
        step, t = self._place(s.ravel())
        bits, count, (cumulated, overlaps) = bits_from(rng), s.size, self._tables
        choice, place = _uniform(bits, count), _uniform(bits, count)
        a, b = sphere.weights(self._angles[step], t)
        first, second = a * a, b * b
        both = choice >= first + second
        both &= overlaps[step] > 0
        row = np.where(both, len(self.nodes) + step, np.where(choice < first, step, step + 1))
        cell = _first_above(cumulated, row, place)
        drawn = self.cells.low[cell]
        if not self.cells.are_points:
            low, high = drawn, self.cells.high[cell]
            drawn = np.clip(low + (high - low) * (_uniform(bits, count) + UNIT / 2), low, high)
        return drawn.reshape(s.shape)[()]

    @cached_property
    def _tables(self) -> tuple[Array, Array]:
        """Cumulated probabilities of all nodes' laws, below them those of all steps' √(p₀p₁)/ρ; and ρ of every step.

        They are summed up from the first cell to the last, in this order.
        """
        middle = self._roots[:-1] * self._roots[1:]
        cumulated = np.cumsum(np.concatenate([self.laws, middle]), axis=1)
        total = cumulated[:, -1:]
        # from the last cell that has any probability on, the sum is exactly one: no cell without probability is drawn
        scaled = np.where(cumulated >= total, 1.0, cumulated / np.where(total > 0, total, 1.0))
        return np.ascontiguousarray(scaled), total[len(self.laws) :, 0].copy()

    def _mean(self, s: Any, of: Any) -> Any:
        s = numbers("s", s)
        flat, out = s.ravel(), np.empty(s.size)
        for part in _chunks(s.size):
            out[part] = (self.law(flat[part]) * of(flat[part])).sum(axis=1)
        return out.reshape(s.shape)[()]

    def _cell(self, y: Array) -> tuple[Array, Array]:
        """The cell of each y, and whether there is one."""
        cell = np.clip(np.searchsorted(self.cells.low, y, side="right") - 1, 0, self.cells.low.size - 1)
        return cell, (y >= self.cells.low[cell]) & (y <= self.cells.high[cell])


def _together(y: Any, s: Any) -> tuple[Array, Array]:
    y, s = numbers("y", y), numbers("s", s)
    try:
        shape = np.broadcast_shapes(y.shape, s.shape)
    except ValueError:
        raise InputError(f"y and s must have shapes that fit, got {y.shape} and {s.shape}") from None
    return np.broadcast_to(y, shape), np.broadcast_to(s, shape)


def _chunks(count: int) -> list[slice]:
    return [slice(start, start + CHUNK) for start in range(0, count, CHUNK)]


def _first_above(cumulated: Array, row: Array, place: Array) -> Array:
    """The first cell whose cumulated probability exceeds ``place``, row by row, by halving: the same everywhere."""
    last = cumulated.shape[1] - 1
    low, high = np.zeros(len(row), dtype=np.intp), np.full(len(row), last, dtype=np.intp)
    for _ in range(max(1, last).bit_length()):
        middle = (low + high) // 2
        beyond = cumulated[row, middle] > place
        high = np.where(beyond, middle, high)
        low = np.where(beyond, low, np.minimum(middle + 1, high))
    return low


def _uniform(bits: Bits, count: int) -> Array:
    """Multiples of 2⁻⁵³ in [0, 1)."""
    return (bits.words(count) >> np.uint64(11)).astype(np.float64) * UNIT
