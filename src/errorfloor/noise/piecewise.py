"""Noise whose density is the square of a continuous piecewise polynomial: what a finite-element design gives."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from errorfloor.checks import Array, matrix, vector, whole
from errorfloor.errors import InputError
from errorfloor.noise.numerical import NumericalNoise, entropy_of, nonzero, support_of
from errorfloor.noise.sampling import Sampler
from errorfloor.noise.simplices import (
    control_points,
    control_points_on,
    differentiate,
    evaluate,
    gradients,
    mass_matrix,
    mean_of_basis,
    outer_facets,
    product,
    sealed,
    simplex_rule,
    volumes,
)
from errorfloor.random import Bits
from errorfloor.support import Support

INSIDE = 1e-12  # how far below zero a barycentric coordinate may fall by rounding
MOST_DEGREE = 12
DIMENSIONS = (2, 3)


@dataclass(frozen=True)
class Locator:
    """A binary tree over cells; node k has the children 2k+1 and 2k+2, leaves hold one cell each or none."""

    corners: Array
    slopes: Array  # gradients of the barycentric coordinates
    low: Array
    high: Array
    leaf: Array  # the cell at a node, or −1

    @classmethod
    def of(cls, corners: Array) -> "Locator":
        """Split the cells at the median of their centres, along the longer side each time."""
        depth = int(np.ceil(np.log2(max(len(corners), 1))))
        count = 2 ** (depth + 1) - 1
        m = corners.shape[2]
        low, high = np.full((count, m), np.inf), np.full((count, m), -np.inf)
        leaf = np.full(count, -1, dtype=np.intp)
        centers = corners.mean(axis=1)
        stack = [(0, np.arange(len(corners)))]
        while stack:
            node, members = stack.pop()
            if not len(members):
                continue
            low[node], high[node] = corners[members].min(axis=(0, 1)), corners[members].max(axis=(0, 1))
            if len(members) == 1:
                leaf[node] = members[0]
                continue
            axis = int(np.ptp(centers[members], axis=0).argmax())
            order = members[np.argsort(centers[members, axis], kind="stable")]
            half = (len(order) + 1) // 2
            stack += [(2 * node + 1, order[:half]), (2 * node + 2, order[half:])]
        slack = INSIDE * np.ptp(corners.reshape(-1, m), axis=0).max()
        return cls(corners, gradients(corners), low - slack, high + slack, leaf)

    def find(self, points: Array) -> tuple[Array, Array]:
        """Give for each point a cell that holds it, or −1, and its barycentric coordinates there."""
        count, size = len(points), self.corners.shape[1]
        found = np.full(count, -1, dtype=np.intp)
        barycentric = np.full((count, size), np.nan)
        who, node = np.arange(count), np.zeros(count, dtype=np.intp)
        while who.size:
            inside = ((points[who] >= self.low[node]) & (points[who] <= self.high[node])).all(axis=1)
            who, node = who[inside], node[inside]
            at_leaf = self.leaf[node] >= 0
            cell, tried = self.leaf[node[at_leaf]], who[at_leaf]
            later = np.einsum("pk,pik->pi", points[tried] - self.corners[cell, 0], self.slopes[cell, 1:])
            coordinates = np.concatenate([1 - later.sum(axis=1, keepdims=True), later], axis=1)
            holds = (coordinates >= -INSIDE).all(axis=1)
            found[tried[holds]] = cell[holds]
            barycentric[tried[holds]] = coordinates[holds]
            going = ~at_leaf & (found[who] < 0)
            who, node = who[going], node[going]
            who, node = np.concatenate([who, who]), np.concatenate([2 * node + 1, 2 * node + 2])
        return found, barycentric


@dataclass(frozen=True, eq=False)
class Piecewise(NumericalNoise):
    """Noise with density u²/∫u², u a continuous piecewise polynomial on simplices, zero on their outer boundary.

    ``cells`` lists the corners of each simplex, in rising order, as rows of ``vertices``; ``coefficients`` are the
    Bernstein control values of u, numbered as in ``control_points``. ``region`` is the support, which the simplices
    fill or lie in.

    Guarantee: u is in H¹₀ of the region, so ``information`` = 4∫∇u∇uᵀ/∫u² is finite; it and the moments are exact
    integrals of polynomials, up to rounding, of the very density that ``sample`` draws from.

    >>> from errorfloor.support import Polygon
    >>> triangle = Polygon([[0, 0], [1, 0], [0, 1]])  # u = 27 x y (1 − x − y), one cell of degree 3
    >>> bump = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    >>> noise = Piecewise(triangle, triangle.vertices, [[0, 1, 2]], 3, bump)
    >>> noise.information.round(6).tolist()
    [[112.0, 56.0], [56.0, 112.0]]
    """

    region: Support
    vertices: Array
    cells: Array
    degree: int
    coefficients: Array

    def __post_init__(self) -> None:
        vertices = matrix("vertices", self.vertices)
        cells = matrix("cells", self.cells)
        m = support_of(self.region).dimension
        if m not in DIMENSIONS:
            raise InputError(f"region must have 2 or 3 dimensions, got {m}: use a box or an ellipsoid inside it")
        if vertices.shape[1] != m or cells.shape[1] != m + 1:
            raise InputError(f"vertices need {m} columns and cells {m + 1}, as the region has dimension {m}")
        whole_cells = cells.astype(np.intp)
        if (whole_cells != cells).any() or whole_cells.min() < 0 or whole_cells.max() >= len(vertices):
            raise InputError(f"cells must list rows of vertices, from 0 to {len(vertices) - 1}")
        if (np.diff(whole_cells, axis=1) <= 0).any():
            raise InputError("every cell must list its corners in rising order")
        degree = whole("degree", self.degree)
        if degree > MOST_DEGREE:
            raise InputError(f"degree must be at most {MOST_DEGREE}, got {degree}")
        coefficients = vector("coefficients", self.coefficients)
        numbers, count = control_points(whole_cells, degree)
        if coefficients.size != count:
            raise InputError(f"coefficients must have one entry for each of {count} control points")
        if coefficients[control_points_on(whole_cells, degree, *outer_facets(whole_cells))].any():
            raise InputError("u must vanish on the outer boundary: a density that jumps there has infinite information")
        nonzero(coefficients[numbers])
        self._set(vertices=vertices, cells=sealed(whole_cells), degree=degree, coefficients=coefficients)

    @property
    def support(self) -> Support:
        """The region."""
        return self.region

    @property
    def dimension(self) -> int:
        """That of the region."""
        return self.region.dimension

    @cached_property
    def _corners(self) -> Array:
        return np.asarray(self.vertices[self.cells])

    @cached_property
    def _local(self) -> Array:
        """Bernstein coefficients of u on each cell."""
        return np.asarray(self.coefficients[control_points(self.cells, self.degree)[0]])

    @cached_property
    def _slopes(self) -> Array:
        return gradients(self._corners)

    @cached_property
    def _volumes(self) -> Array:
        return volumes(self._corners)

    @cached_property
    def _mass(self) -> float:
        """∫u²."""
        form = np.einsum("ci,ij,cj->c", self._local, mass_matrix(self.dimension, self.degree), self._local)
        return math.fsum(self._volumes * form)

    @cached_property
    def information(self) -> Array:
        """4∫∇u∇uᵀ/∫u²."""
        partial = differentiate(self.dimension, self.degree, self._local)
        gradient = np.einsum("cab,cak->ckb", partial, self._slopes)
        mass = mass_matrix(self.dimension, self.degree - 1)
        total = np.einsum("c,ckb,bd,cld->kl", self._volumes, gradient, mass, gradient, optimize=True)
        return np.asarray(2 * (total + total.T) / self._mass)

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        """The mean, and the covariance about it."""
        m = self.dimension
        squared = product(m, self._local, self.degree, self._local, self.degree)
        weight = self._volumes / self._mass
        identity = np.eye(m + 1)
        # the means of barycentric coordinates, cell by cell: they sum to the probability of the cell
        first = weight[:, None] * _against(m, squared, 2 * self.degree, identity, 1)
        mean = np.einsum("ci,cik->k", first, self._corners)
        pairs = [(i, j) for i in range(m + 1) for j in range(m + 1)]
        linear = [
            product(m, squared, 2 * self.degree, np.broadcast_to(row, (len(squared), m + 1)), 1) for row in identity
        ]
        second = np.empty((len(squared), m + 1, m + 1))
        for i, j in pairs:
            second[:, i, j] = _against(m, linear[i], 2 * self.degree + 1, identity[j : j + 1], 1)[:, 0]
        centered = self._corners - mean
        covariance = np.einsum("c,cij,cik,cjl->kl", weight, second, centered, centered, optimize=True)
        return mean, (covariance + covariance.T) / 2

    @cached_property
    def entropy(self) -> float:
        """By Gauss quadrature of −γ log γ on every cell; good to about six digits."""
        nodes, weights = simplex_rule(self.dimension, self.degree + 8)
        density = (evaluate(self.dimension, self.degree, self._local[:, None], nodes) ** 2) / self._mass
        return entropy_of(density, self._volumes[:, None] * weights)

    @cached_property
    def _locator(self) -> Locator:
        return Locator.of(self._corners)

    @cached_property
    def _sampler(self) -> Sampler:
        return Sampler.of(self.vertices, self.cells, self.degree, self._local)

    def _root(self, w: Array, *, slope: bool) -> tuple[Array, Array, Array | None]:
        m, degree, size = self.dimension, self.degree, math.sqrt(self._mass)
        cell, barycentric = self._locator.find(w)
        inside = cell >= 0
        cell, barycentric = cell[inside], np.maximum(barycentric[inside], 0)
        local = self._local[cell]
        value = evaluate(m, degree, local, barycentric) / size
        if not slope:
            return inside, value, None
        partial = evaluate(m, degree - 1, differentiate(m, degree, local), barycentric[:, None])
        return inside, value, np.einsum("pa,pak->pk", partial, self._slopes[cell]) / size

    def _sample(self, count: int, bits: Bits) -> Array:
        return self._sampler.draw(count, bits)


def _against(dimension: int, squared: Array, degree: int, basis: Array, extra: int) -> Array:
    """Means of polynomials times each of the given ones, of degree ``extra``, over every cell."""
    whole_ = degree + extra
    columns = [
        product(dimension, squared, degree, np.broadcast_to(row, (len(squared), len(row))), extra).sum(axis=1)
        for row in basis
    ]
    return np.stack(columns, axis=1) * mean_of_basis(dimension, whole_)
