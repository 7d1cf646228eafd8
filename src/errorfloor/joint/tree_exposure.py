"""What the tapers of a family of siblings cost, exactly: sums of independent numbers by convolution.

Nodes of a tree that are alike, in what hangs below them and above, are computed once.

Siblings are independent normal numbers, tapered, given that their sum is the noise x of their parent. With
f_k = N(0, q_k)·c_k², F = f_1 ∗ … ∗ f_K and F_k the same without the k-th,

    density of w_k = f_k(y)·∫ m(x) F_k(x − y)/F(x) dx,        m the density of x,
    E[sec²(κ(|w_k| − t)) 1(t ≤ |w_k| ≤ b)] = ∫_{t ≤ |y| ≤ b} N(y; 0, q_k) ∫ m(x) F_k(x − y)/F(x) dx dy,

and F(x)/N(x; 0, Σq) is the probability that a family is accepted. Nothing here touches a draw.
"""

from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array
from errorfloor.joint.taper import accepted_share, curvature, falling, kept

POINTS, FEW = 96, 32  # between 0 and a bound; and a parent's, which is smooth
MOST = 2**19  # points in all: where bounds of siblings differ by more, other ways are better
QUADRATURE = 1e-3  # is added to every integral: more than what so many points leave
_NODES, _WEIGHTS = (np.asarray(part) for part in np.polynomial.legendre.leggauss(32))


@dataclass(frozen=True, eq=False)
class Alike:
    """A small tree, a node for each kind of node of a large one: its parent, and how many siblings of it there are.

    ``kind`` gives each node's place in the small tree, where parents come before their parts as well.

    >>> small = Alike.of(np.array([-1, 0, 0, 1, 1, 2, 2]), np.ones((7, 1)))
    >>> small.kind.tolist(), small.parents.tolist(), small.times.tolist()
    ([0, 1, 1, 2, 2, 2, 2], [-1, 0, 1], [1, 2, 2])
    """

    kind: Array
    parents: Array
    times: Array

    @classmethod
    def of(cls, parents: Array, numbers: Array) -> "Alike":
        """Tell nodes apart by a row of numbers each, by their parts, and by their parents."""
        below = _by_parts(parents, numbers)
        known: dict[tuple[int, int], int] = {}
        kind = np.zeros(len(parents), dtype=np.int64)
        above: list[int] = []
        first: list[int] = []
        for node, parent in enumerate(parents.tolist()):
            key = (-1 if parent < 0 else int(kind[parent]), below[node])
            if key not in known:
                known[key] = len(above)
                above.append(key[0])
                first.append(parent)
            kind[node] = known[key]
        times = np.zeros(len(above), dtype=np.int64)
        family = np.asarray(first)[kind] == parents  # one family of each kind is counted
        np.add.at(times, kind[family], 1)
        tops = np.asarray(above) < 0
        times[tops] = 1
        return cls(kind, np.asarray(above, dtype=np.int64), times)

    def families(self) -> list[tuple[int, Array]]:
        """Give each parent with the kinds of its parts, parents first."""
        order = np.argsort(self.parents, kind="stable")
        order = order[self.parents[order] >= 0]
        cuts = np.flatnonzero(np.diff(self.parents[order])) + 1
        return [(int(self.parents[part[0]]), part) for part in np.split(order, cuts) if part.size]


def _by_parts(parents: Array, numbers: Array) -> list[int]:
    """Give nodes the same number if their own rows and their parts are alike."""
    row_of = np.unique(numbers, axis=0, return_inverse=True)[1].ravel().tolist()
    above = parents.tolist()
    counts: list[dict[int, int]] = [{} for _ in above]
    known: dict[tuple[object, ...], int] = {}
    found = [0] * len(above)
    for node in range(len(above) - 1, -1, -1):
        key = (row_of[node], *sorted(counts[node].items()))
        found[node] = known.setdefault(key, len(known))
        if above[node] >= 0:
            count = counts[above[node]]
            count[found[node]] = count.get(found[node], 0) + 1
    return found


@dataclass(frozen=True, eq=False)
class Spread:
    """An even density, by its values at ``POINTS`` equal steps from 0 to its bound."""

    bound: float
    values: Array

    def at(self, x: Array) -> Array:
        """Give the density, linear between the points."""
        return np.interp(np.abs(x), np.linspace(0.0, self.bound, POINTS + 1), self.values, right=0.0)


def exposures(small: Alike, variances: Array, bounds: Array, starts: Array) -> tuple[Array, float]:
    """Give what the taper of each kind of node costs, 2κ²/b²·E sec², and the least share of families accepted."""
    costs = np.zeros(len(small.parents))
    spreads: dict[int, Spread] = {}
    least = 1.0
    for node in np.flatnonzero(small.parents < 0).tolist():
        costs[node], spreads[node], accepted = top(variances[node], bounds[node], starts[node])
        least = min(least, accepted)
    for parent, parts in small.families():
        found, densities, accepted = family(
            variances[parts], bounds[parts], starts[parts], small.times[parts], spreads.pop(parent)
        )
        costs[parts] = found
        spreads.update(zip(parts.tolist(), densities, strict=True))
        least = min(least, accepted)
    return costs, least


def top(variance: float, bound: float, start: float) -> tuple[float, Spread, float]:
    """Give what the taper of a single number costs, its density, and the share that is accepted."""
    s, t = np.array(np.sqrt(variance) / bound), np.array(start)
    share = float(kept(s, t))
    x = np.linspace(0.0, 1.0, POINTS + 1)
    density = accepted_share(x[:, None], t[None]) * _normal(x * bound, variance) / share
    return float(curvature(t) * falling(s, t)) / share / bound**2, Spread(bound, density), share


def family(
    variances: Array, bounds: Array, starts: Array, times: Array, given: Spread
) -> tuple[Array, list[Spread], float]:
    """Give for each kind of sibling what its taper costs and its density, and the share that is accepted."""
    total = float(variances @ times)
    step = min(float(bounds.min()) / POINTS, given.bound / FEW)
    reach = max(given.bound + bounds.max(), min(9 * np.sqrt(total), float(bounds @ times))) + 2 * float(bounds.max())
    if not 2 * reach <= MOST * step:
        return np.full(len(bounds), np.inf), [given] * len(bounds), 0.0
    size = 2 ** int(np.ceil(np.log2(2 * reach / step)))
    x = step * np.minimum(np.arange(size), size - np.arange(size))
    single = [
        accepted_share(x[:, None] / b, np.array([t])) * _normal(x, q)
        for q, b, t in zip(variances, bounds, starts, strict=True)
    ]
    waves = np.fft.rfft(np.array(single), axis=1) * step
    whole = np.prod(waves ** times[:, None], axis=0)
    together = np.fft.irfft(whole, size) / step
    inside = x < given.bound
    weight = given.at(x)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(inside, weight / together, 0.0)
        accepted = float((weight * together / _normal(x, total))[inside].sum() / weight[inside].sum())
    if not (together[inside] > 0).all() or not np.isfinite(ratio).all():
        return np.full(len(bounds), np.inf), [given] * len(bounds), 0.0
    costs, spreads = [], []
    for k, (q, b, t) in enumerate(zip(variances, bounds, starts, strict=True)):
        rest = np.prod(waves ** (times - (np.arange(len(times)) == k))[:, None], axis=0)
        around = np.fft.irfft(np.fft.rfft(ratio) * rest, size)[: size // 2]
        near = x[: size // 2]
        y = b * (t + (1 - t) * (1 + _NODES) / 2)
        seen = b * (1 - t) * float((_WEIGHTS * _normal(y, q) * np.interp(y, near, around)).sum())
        costs.append((1 + QUADRATURE) * float(curvature(np.array(t))) * seen / b**2)
        own = np.linspace(0.0, b, POINTS + 1)
        density = accepted_share(own[:, None] / b, np.array([t])) * _normal(own, q) * np.interp(own, near, around)
        spreads.append(Spread(float(b), density))
    return np.array(costs), spreads, accepted


def _normal(x: Array, variance: float) -> Array:
    return np.asarray(np.exp(-x * x / (2 * variance)) / np.sqrt(2 * np.pi * variance))
