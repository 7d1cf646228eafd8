"""A full table of several keys and its margins: noise with one variance per interaction, accepted all together."""

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from errorfloor.checks import Array, broadcast, whole
from errorfloor.errors import InputError
from errorfloor.joint.solver import ATTEMPTS
from errorfloor.joint.taper import ROUNDING, accepted_share, best_start, cost_and_loss, drawn, kept, taper_cost
from errorfloor.random import Bits
from errorfloor.values import Value

MOST_KEYS = 8


@dataclass(frozen=True, eq=False)
class Margins(Value):
    """Which sums of a table are asked for: its ``shape``, and the axes that each of the ``sets`` keeps; all by default.

    Cells are in the order of NumPy's ``ravel``; answers come set by set, each in that order.

    >>> Margins((2, 3), [(0, 1), (0,), ()]).matrix.shape
    (9, 6)
    """

    shape: tuple[int, ...]
    sets: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        shape = tuple(whole("shape", one) for one in self.shape)
        if not 1 <= len(shape) <= MOST_KEYS:
            raise InputError(f"a table has 1 to {MOST_KEYS} keys, got {len(shape)}")
        given = [tuple(sorted(set(kept_axes))) for kept_axes in self.sets] or list(reversed(subsets(len(shape))))
        if not all(0 <= axis < len(shape) for kept_axes in given for axis in kept_axes):
            raise InputError(f"sets name axes from 0 to {len(shape) - 1}, got {self.sets!r}")
        self._set(shape=shape, sets=tuple(dict.fromkeys(given)))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of answers in each set."""
        return tuple(math.prod(self.shape[axis] for axis in kept_axes) for kept_axes in self.sets)

    @property
    def matrix(self) -> Any:
        """The answers as a sparse matrix."""
        from scipy import sparse

        parts = []
        for kept_axes in self.sets:
            part = sparse.eye(1)
            for axis, size in enumerate(self.shape):
                part = sparse.kron(part, sparse.eye(size) if axis in kept_axes else np.ones((1, size)))
            parts.append(part)
        return sparse.vstack(parts).tocsr()


def subsets(keys: int) -> list[tuple[int, ...]]:
    """Give all sets of axes, the empty one first."""
    return [chosen for size in range(keys + 1) for chosen in itertools.combinations(range(keys), size)]


@dataclass(frozen=True, eq=False)
class TableNoise(Value):
    """Noise on the cells of a table, accepted with Π c_j² over the ``margins``, each set with a bound and a start.

    Its normal part is Σ_S √λ_S·P_S g: P_S projects on the interaction of the axes in S, which varies along these and
    sums to 0 along each, and the ``variances`` λ_S are in the order of ``subsets``.

    Guarantee: no sum in a set ever leaves ± its bound, and the information of a shift is at most GᵀG.
    """

    margins: Margins
    bounds: Array
    starts: Array
    variances: Array

    def __post_init__(self) -> None:
        sets, parts = len(self.margins.sets), 2 ** len(self.margins.shape)
        for name, size in (("bounds", sets), ("starts", sets), ("variances", parts)):
            self._set(**{name: broadcast(name, getattr(self, name), size)})

    @property
    def cells(self) -> int:
        """The number n of cells."""
        return math.prod(self.margins.shape)

    @property
    def deviations(self) -> Array:
        """The deviation of the normal part of each set's answers, in units of its bound."""
        return np.asarray(np.sqrt(spread_of(self.margins) @ self.variances) / self.bounds)

    @property
    def accepted(self) -> float:
        """A lower bound on the share of attempts that are accepted."""
        return float(np.exp((np.log(kept(self.deviations, self.starts)) * self.margins.sizes).sum()))

    @property
    def cell_information(self) -> Array:
        """The certified information about a move of one cell by 1, which is the same for all."""
        normal = exposure_of(self.margins) @ (1 / self.variances)
        taper = (taper_cost(self.deviations, self.starts) / self.bounds**2).sum()
        return np.full(self.cells, (normal + taper) * (1 + ROUNDING))

    def information_root(self, moves: Any) -> Array:
        """Give G·moves, with GᵀG the certified bound on the information."""
        given = np.asarray(moves.todense() if hasattr(moves, "todense") else moves)
        shape = self.margins.shape
        parts = interactions(given.T.reshape(-1, *shape))
        normal = [
            part.reshape(len(part), -1).T / math.sqrt(size) for part, size in zip(parts, self.variances, strict=True)
        ]
        taper = np.repeat(np.sqrt(taper_cost(self.deviations, self.starts)) / self.bounds, self.margins.sizes)
        return np.vstack([*normal, taper[:, None] * (self.margins.matrix @ given)]) * (1 + ROUNDING)

    def sample(self, count: int, bits: Bits) -> Array:
        """Draw ``count`` vectors of noise on the cells."""
        shape, sizes = self.margins.shape, np.asarray(self.margins.sizes)
        bounds, starts = np.repeat(self.bounds, sizes), np.repeat(self.starts, sizes)
        roots = np.sqrt(self.variances)

        def propose(batch: int, lanes: Bits) -> tuple[Array, Array]:
            parts = interactions(lanes.normals(self.cells, batch).T.reshape(batch, *shape))
            cells = np.zeros((batch, *shape))
            for root, part in zip(roots, parts, strict=True):
                cells = cells + root * part
            sums = [_sums(cells, kept_axes).reshape(batch, -1) for kept_axes in self.margins.sets]
            share = accepted_share(np.concatenate(sums, axis=1) / bounds, starts)
            return cells.reshape(batch, -1), lanes.uniform(batch) < share

        return drawn(count, self.cells, int(sizes.sum()), bits, propose)


def spread_of(margins: Margins) -> Array:
    """Give the matrix that turns variances λ into those of the answers, set by set: Σ_{S′⊆S} λ_S′·n_{Sᶜ}·share."""
    shape, found = margins.shape, []
    for kept_axes in margins.sets:
        summed = math.prod(size for axis, size in enumerate(shape) if axis not in kept_axes)
        found.append(
            [
                summed * math.prod(1 - 1 / shape[a] if a in part else 1 / shape[a] for a in kept_axes)
                if set(part) <= set(kept_axes)
                else 0.0
                for part in subsets(len(shape))
            ]
        )
    return np.array(found)


def exposure_of(margins: Margins) -> Array:
    """Give |P_S e_i|² of a cell for every S."""
    shape = margins.shape
    return np.array(
        [math.prod(1 - 1 / k if a in part else 1 / k for a, k in enumerate(shape)) for part in subsets(len(shape))]
    )


def interactions(cells: Array) -> list[Array]:
    """Give P_S of tables (the first axis counts them) for all S in the order of ``subsets``, in full shape."""
    split: dict[tuple[int, ...], Array] = {(): cells}
    for axis in range(cells.ndim - 1):
        next_split = {}
        for chosen, part in split.items():
            mean = _total(part, axis + 1) / part.shape[axis + 1]
            next_split[chosen] = mean + np.zeros_like(part)
            next_split[(*chosen, axis)] = part - mean
        split = next_split
    return [split[chosen] for chosen in subsets(cells.ndim - 1)]


def _sums(cells: Array, kept_axes: tuple[int, ...]) -> Array:
    for axis in range(cells.ndim - 1):
        if axis not in kept_axes:
            cells = _total(cells, axis + 1)
    return cells


def _total(cells: Array, axis: int) -> Array:
    """Sum along an axis one by one, in order: no library decides how."""
    return np.take(np.add.accumulate(cells, axis=axis), [-1], axis=axis)


def design_table(margins: Margins, bounds: Array) -> TableNoise:
    """Give the noise with the least certified information about one cell.

    >>> noise = design_table(Margins((2, 2)), np.ones(4))
    >>> bool(noise.cell_information.max() / np.pi**2 < 2.26), noise.accepted > 0.5
    (True, True)
    """
    from scipy.optimize import minimize

    spread, exposure, counts = spread_of(margins), exposure_of(margins), np.asarray(margins.sizes)

    def price(log_variances: Array) -> float:
        variances = np.exp(log_variances)
        deviations = np.sqrt(spread @ variances) / bounds
        cost, loss = cost_and_loss(deviations)
        attempts = float(loss @ counts) / ATTEMPTS
        return float(exposure @ (1 / variances) + (cost / bounds**2).sum()) * max(1.0, attempts)

    summed = np.prod(margins.shape) / counts
    first = np.log(_fitting(margins, (0.25 * bounds) ** 2 / summed))
    found = minimize(price, first, method="Nelder-Mead", options={"maxiter": 4000, "maxfev": 4000, "adaptive": True})
    found = minimize(price, found.x, method="Nelder-Mead", options={"maxiter": 4000, "maxfev": 4000, "adaptive": True})
    variances = np.exp2(np.floor(np.log2(np.exp(found.x)) * 32) / 32)  # a few bits, the same on every machine
    deviations = np.sqrt(spread @ variances) / bounds
    return TableNoise(margins, bounds, best_start(deviations), variances)


def _fitting(margins: Margins, wanted: Array) -> Array:
    """Give every interaction the smallest variance that a set with it asks for, and others a little of the largest."""
    found = []
    for part in subsets(len(margins.shape)):
        near = [size for kept_axes, size in zip(margins.sets, wanted, strict=True) if set(part) <= set(kept_axes)]
        found.append(min(near) if near else float(wanted.max()))
    return np.array(found)
