"""Half-spaces in standard position: centred on an interior point and scaled to unit size.

Linear programmes, hulls and tests of parallelism have absolute tolerances; here, where lengths are about one and the
origin is inside, they mean the same for every polytope, however far out or small it is.
"""

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import SupportError

SAME = 1e-12  # facets whose unit normals agree to this are one facet, or opposite ones
CENTRED = 1e-3  # an interior point this deep beside the farthest face will do
THIN = 1e-9  # an inscribed ball this small beside the set makes it flat
MOST_CORNERS = 12  # sides of a box whose corners are all looked at


@dataclass(frozen=True)
class Facets:
    """The set {center + size·z : normals z ≤ offsets}, offsets positive, each normal of unit length."""

    normals: Array
    offsets: Array
    center: Array
    size: float

    @classmethod
    def of_hull(cls, vertices: Array) -> "Facets":
        """Give the facets of a convex hull."""
        flat = "Polytope is flat: its vertices lie in a plane of lower dimension"
        center = vertices.mean(axis=0)
        size = float(np.abs(vertices - center).max())
        if size == 0:
            raise SupportError(flat)
        unit = (vertices - center) / size
        if unit.shape[1] == 1:
            return cls(np.array([[-1.0], [1.0]]), np.array([-unit.min(), unit.max()]), center, size)
        from scipy.spatial import ConvexHull, QhullError

        try:
            equations = ConvexHull(unit).equations
        except (QhullError, ValueError):
            raise SupportError(flat) from None
        normals, offsets = _merged(equations[:, :-1], -equations[:, -1])
        if offsets.min() <= THIN:
            raise SupportError(flat)
        return cls(normals, offsets, center, size)

    @classmethod
    def of_half_spaces(cls, A: Array, b: Array) -> "Facets":
        """Give the facets of {w : A w ≤ b}; half-spaces that clearly do not matter are left out."""
        length = np.linalg.norm(A, axis=1)
        A, b = A / length[:, None], b / length
        center = np.zeros(A.shape[1])
        depth = b
        for _ in range(4):  # each round starts from a better centre, so its tolerance is finer
            if depth.min() > CENTRED * np.abs(depth).max():
                break
            size = float(np.abs(depth).max()) or 1.0
            center = center + size * _deep_point(A, depth / size)
            depth = b - A @ center
        size = float(depth.max())
        if depth.min() < 0:
            raise SupportError("Polytope is empty: no point satisfies A w ≤ b")
        if depth.min() <= THIN * size:
            raise SupportError("Polytope is flat: A w ≤ b leaves no interior")
        return cls(*_irredundant(*_merged(A, depth / size)), center, size)

    @property
    def half_spaces(self) -> tuple[Array, Array]:
        """The pair (A, b) of {w : A w ≤ b}."""
        return self.normals, self.normals @ self.center + self.size * self.offsets

    def contains(self, w: Array, slack: float) -> Array:
        """Tell which points satisfy every half-space, to a slack relative to the size."""
        depth = self.offsets + slack * self.offsets.max()
        return np.asarray(((w - self.center) @ self.normals.T <= self.size * depth).all(axis=-1))

    @cached_property
    def coordinates(self) -> tuple[Array, Array, Array] | None:
        """Rows N and ends with the set equal to {z : low ≤ N z ≤ high}, if its facet directions are independent.

        Of the directions that no facet bounds the ends are infinite: half-spaces, slabs and wedges are products too.
        """
        N, low, high = paired(self.normals, self.offsets)
        m = self.normals.shape[1]
        if len(N) > m or np.linalg.matrix_rank(N) < len(N):
            return None
        unbounded = np.full(m - len(N), math.inf)
        N = np.vstack([N, np.linalg.svd(N)[2][len(N) :]])
        low, high = np.append(low, -unbounded), np.append(high, unbounded)
        # a box should come out as itself: rows in the order of the axes that they lie along, pointing up them
        main = np.argmax(np.abs(N) > np.abs(N).max(axis=1, keepdims=True) - SAME, axis=1)
        signs = np.sign(N[np.arange(m), main])
        order = np.argsort(main, kind="stable")
        low, high = np.where(signs > 0, low, -high), np.where(signs > 0, high, -low)
        found = (N * signs[:, None] + 0.0)[order], low[order], high[order]
        return found if self._has_corners(*found) else None

    def _has_corners(self, N: Array, low: Array, high: Array) -> bool:
        """Check that every corner of the product lies in the set."""
        if len(N) > MOST_CORNERS or not np.isfinite([low, high]).all():
            return True
        corners = np.array(list(itertools.product(*zip(low, high, strict=True)))) @ np.linalg.inv(N).T
        return bool((corners @ self.normals.T <= self.offsets + 1e-9 * self.offsets.max()).all())

    @cached_property
    def bounding_box(self) -> tuple[Array, Array]:
        """Least and greatest coordinates; infinite where the set is unbounded."""
        if self.coordinates is not None and np.isfinite(self.coordinates[1:]).all():
            N, low, high = self.coordinates
            reach = np.linalg.inv(N)[..., None] * np.stack([low, high], axis=-1)
            least, most = reach.min(axis=-1).sum(axis=1), reach.max(axis=-1).sum(axis=1)
        else:
            axes = np.eye(self.normals.shape[1])
            least = np.array([-_greatest(-axis, self.normals, self.offsets) for axis in axes])
            most = np.array([_greatest(axis, self.normals, self.offsets) for axis in axes])
        return self.center + self.size * least, self.center + self.size * most

    @cached_property
    def corners(self) -> Array:
        """The extreme points of a bounded set in two or more dimensions, in standard position."""
        from scipy.spatial import HalfspaceIntersection

        inside = np.zeros(self.normals.shape[1])
        return np.asarray(HalfspaceIntersection(np.column_stack([self.normals, -self.offsets]), inside).intersections)


def paired(normals: Array, offsets: Array) -> tuple[Array, Array, Array]:
    """Give rows N and ends with {z : normals z ≤ offsets} equal to {z : low ≤ N z ≤ high}.

    >>> paired(np.array([[1.0], [-1.0]]), np.array([2.0, 3.0]))
    (array([[1.]]), array([-3.]), array([2.]))
    """
    rows: list[Array] = []
    ends: list[list[float]] = []
    for normal, offset in zip(normals, offsets, strict=True):
        opposite = next((k for k, row in enumerate(rows) if np.linalg.norm(row + normal) <= SAME), None)
        if opposite is None:
            rows.append(normal)
            ends.append([-math.inf, float(offset)])
        else:
            ends[opposite][0] = -float(offset)
    low, high = np.array(ends).T
    return np.array(rows), low, high


def _merged(A: Array, b: Array) -> tuple[Array, Array]:
    """Join half-spaces with one normal, keeping the tightest of each."""
    kept: list[int] = []
    for i in np.argsort(b):
        if all(np.linalg.norm(A[i] - A[k]) > SAME for k in kept):
            kept.append(int(i))
    A, b = A[sorted(kept)], b[sorted(kept)]
    for i, j in itertools.combinations(range(len(b)), 2):
        if SAME < min(np.linalg.norm(A[i] - A[j]), np.linalg.norm(A[i] + A[j])) <= THIN:
            raise SupportError(
                "Polytope has faces that are parallel but for rounding: make them parallel, or clearly not"
            )
    return A, b


def _irredundant(A: Array, b: Array) -> tuple[Array, Array]:
    """Leave out half-spaces that the others keep clear of; one that is merely touched stays."""
    kept = list(range(len(b)))
    for i in range(len(b)):
        others = [k for k in kept if k != i]
        if others and _greatest(A[i], A[others], b[others]) <= b[i] - THIN:
            kept = others
    return A[kept], b[kept]


def _deep_point(A: Array, b: Array) -> Array:
    """The centre of a largest inscribed ball of radius at most one, the nearest where there are many."""
    k, m = A.shape
    axes = np.eye(m)
    # the variables are the centre, the radius, and a bound on the centre's coordinates that costs a little
    rows = np.block(
        [
            [A, np.ones((k, 1)), np.zeros((k, 1))],
            [axes, np.zeros((m, 1)), -np.ones((m, 1))],
            [-axes, np.zeros((m, 1)), -np.ones((m, 1))],
        ]
    )
    cost = np.concatenate([np.zeros(m), [-1.0, 1e-6]])
    bounds = [(None, None)] * m + [(None, 1.0), (0.0, None)]
    found = _linear_programme(cost, rows, np.concatenate([b, np.zeros(2 * m)]), bounds)
    if found is None:
        raise SupportError("Polytope is empty: no point satisfies A w ≤ b")
    return found[:m]


def _greatest(direction: Array, A: Array, b: Array) -> float:
    found = _linear_programme(-direction, A, b, (None, None))
    return math.inf if found is None else float(direction @ found)


def _linear_programme(cost: Array, A: Array, b: Array, bounds: object) -> Array | None:
    from scipy.optimize import linprog

    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(cost, A_ub=A, b_ub=b, bounds=bounds, options=tight)
    return np.asarray(found.x) if found.status == 0 else None
