"""Simplices, and polynomials on them in Bernstein form: products, integrals and bounds without quadrature.

With barycentric coordinates λ of a simplex T in Rᵐ and exponents |α| = p, B_α = p!/α! λ^α. The basis sums to one and is
not negative, so a polynomial lies between its least and greatest coefficient; ∂B_α/∂λ_a = p B_{α−a}; and
∫_T λ^γ = |T| m! γ!/(|γ|+m)!. Every integral of a density u², u piecewise polynomial, follows from these.
"""

import itertools
import math
from functools import lru_cache

import numpy as np

from errorfloor.checks import Array


@lru_cache(maxsize=64)
def exponents(dimension: int, degree: int) -> tuple[tuple[int, ...], ...]:
    """All exponents α of m+1 barycentric coordinates with |α| = degree, in falling order.

    >>> exponents(1, 2)
    ((2, 0), (1, 1), (0, 2))
    """
    if dimension == 0:
        return ((degree,),)
    return tuple((first, *rest) for first in range(degree, -1, -1) for rest in exponents(dimension - 1, degree - first))


@lru_cache(maxsize=64)
def place(dimension: int, degree: int) -> dict[tuple[int, ...], int]:
    """The position of each exponent in ``exponents``."""
    return {alpha: i for i, alpha in enumerate(exponents(dimension, degree))}


def multinomial(alpha: tuple[int, ...]) -> int:
    """Give |α|!/α!.

    >>> multinomial((2, 1))
    3
    """
    return math.factorial(sum(alpha)) // math.prod(math.factorial(a) for a in alpha)


@lru_cache(maxsize=64)
def product_table(dimension: int, p: int, q: int) -> tuple[Array, Array]:
    """Positions (i, j) → k and factors of B_i B_j = factor · B_k, of degrees p, q and p + q."""
    left, right = np.array(exponents(dimension, p)), np.array(exponents(dimension, q))
    base = (p + q + 1) ** np.arange(dimension, -1, -1)
    whole = np.array(exponents(dimension, p + q)) @ base  # in falling order
    index = len(whole) - 1 - np.searchsorted(whole[::-1], (left @ base)[:, None] + right @ base)
    ways = [np.array([multinomial(a) for a in exponents(dimension, n)], dtype=object) for n in (p, q, p + q)]
    factor = (np.multiply.outer(ways[0], ways[1]) / ways[2][index]).astype(float)  # of whole numbers, rounded once
    return index, factor


def mean_of_basis(dimension: int, degree: int) -> float:
    """The mean of any B_α of this degree over the simplex: they are all alike."""
    return 1 / math.comb(degree + dimension, dimension)


@lru_cache(maxsize=64)
def mass_matrix(dimension: int, degree: int) -> Array:
    """The means of B_α B_β over the simplex."""
    return sealed(product_table(dimension, degree, degree)[1] * mean_of_basis(dimension, 2 * degree))


@lru_cache(maxsize=64)
def derivative_places(dimension: int, degree: int) -> Array:
    """Where the coefficients of ∂u/∂λ_a, divided by the degree, are found among those of u: an array (a, β)."""
    where = place(dimension, degree)
    return sealed(
        np.array(
            [
                [where[tuple(b + (k == a) for k, b in enumerate(beta))] for beta in exponents(dimension, degree - 1)]
                for a in range(dimension + 1)
            ]
        )
    )


@lru_cache(maxsize=32)
def stiffness_tensor(dimension: int, degree: int) -> Array:
    """The means of ∂B_α/∂λ_a · ∂B_β/∂λ_b over the simplex, indexed (a, b, α, β)."""
    lower = mass_matrix(dimension, degree - 1) * degree**2
    places = derivative_places(dimension, degree)
    count = len(exponents(dimension, degree))
    tensor = np.zeros((dimension + 1, dimension + 1, count, count))
    for a, b in itertools.product(range(dimension + 1), repeat=2):
        tensor[a, b][np.ix_(places[a], places[b])] = lower
    return sealed(tensor)


@lru_cache(maxsize=32)
def weighted_mass_tensor(dimension: int, degree: int, weight_degree: int) -> Array:
    """The means of B_γ B_α B_β, γ of the weight's degree, indexed (γ, α, β)."""
    index, factor = product_table(dimension, degree, degree)
    _, outer = product_table(dimension, weight_degree, 2 * degree)
    return sealed(outer[:, index] * factor * mean_of_basis(dimension, 2 * degree + weight_degree))


def product(dimension: int, left: Array, p: int, right: Array, q: int) -> Array:
    """The coefficients of a product, row by row; sums run in one fixed order, the same on every machine."""
    index, factor = product_table(dimension, p, q)
    out = np.zeros((*left.shape[:-1], len(exponents(dimension, p + q))))
    for i in range(len(index)):  # no place comes twice in a row of the table
        out[..., index[i]] += factor[i] * left[..., i, None] * right
    return out


def evaluate(dimension: int, degree: int, coefficients: Array, barycentric: Array) -> Array:
    """The polynomial of each row at the barycentric point of the same row, in one fixed order of operations."""
    powers = [np.ones_like(barycentric)]
    for _ in range(degree):
        powers.append(powers[-1] * barycentric)
    value = np.zeros(np.broadcast_shapes(coefficients.shape[:-1], barycentric.shape[:-1]))
    for i, alpha in enumerate(exponents(dimension, degree)):
        term = multinomial(alpha) * coefficients[..., i]
        for axis, power in enumerate(alpha):
            if power:
                term = term * powers[power][..., axis]
        value = value + term
    return value


def differentiate(dimension: int, degree: int, coefficients: Array) -> Array:
    """Coefficients of ∂u/∂λ_a, the coordinates taken as independent: shape (..., a, β)."""
    return np.asarray(degree * coefficients[..., derivative_places(dimension, degree)])


@lru_cache(maxsize=64)
def halves(dimension: int, degree: int, i: int, j: int) -> tuple[Array, Array]:
    """The maps of coefficients to the two halves of a simplex cut at the middle of its edge (i, j).

    In the first half that middle takes the place of vertex j, in the second that of vertex i.
    """
    where = place(dimension, degree)
    maps = []
    for kept, replaced in ((i, j), (j, i)):
        matrix = np.zeros((len(where), len(where)))
        for row, alpha in enumerate(exponents(dimension, degree)):
            steps = alpha[replaced]
            for taken in range(steps + 1):
                beta = list(alpha)
                beta[replaced] -= taken
                beta[kept] += taken
                matrix[row, where[tuple(beta)]] += math.comb(steps, taken) / 2**steps
        maps.append(sealed(matrix))
    return maps[0], maps[1]


def sealed(array: Array) -> Array:
    """Make a cached array read-only."""
    array.setflags(write=False)
    return array


def volumes(corners: Array) -> Array:
    """The volumes of simplices given by their corners, an array (cell, corner, coordinate)."""
    edges = corners[:, 1:] - corners[:, :1]
    return np.asarray(np.abs(np.linalg.det(edges)) / math.factorial(corners.shape[2]))


def gradients(corners: Array) -> Array:
    """The gradients of barycentric coordinates, an array (cell, corner, coordinate)."""
    edges = corners[:, 1:] - corners[:, :1]
    inverse = np.linalg.inv(edges).transpose(0, 2, 1)
    return np.concatenate([-inverse.sum(axis=1, keepdims=True), inverse], axis=1)


def control_points(cells: Array, degree: int) -> tuple[Array, int]:
    """Number the control points of continuous piecewise polynomials: an array (cell, exponent), and how many there are.

    Each cell lists its corners in rising order, so that two cells see a common face in the same way.
    """
    corners = cells.shape[1]
    lattice = np.array(exponents(corners - 1, degree))
    numbers = np.zeros((len(cells), len(lattice)), dtype=np.intp)
    count = 0
    for size in range(1, corners + 1):
        inner = [a for a in itertools.product(range(1, degree + 1), repeat=size) if sum(a) == degree]
        if not inner:
            continue
        faces = list(itertools.combinations(range(corners), size))
        stacked = np.concatenate([cells[:, face] for face in faces])
        found, entity = np.unique(stacked, axis=0, return_inverse=True)
        entity = entity.reshape(len(faces), len(cells))
        for f, face in enumerate(faces):
            for j, alpha in enumerate(inner):
                wanted = np.zeros(corners, dtype=int)
                wanted[list(face)] = alpha
                column = int(np.flatnonzero((lattice == wanted).all(axis=1))[0])
                numbers[:, column] = count + entity[f] * len(inner) + j
        count += len(found) * len(inner)
    return numbers, count


def facet_numbers(cells: Array) -> Array:
    """The facets of each cell by number, opposite to its corners in turn."""
    corners = cells.shape[1]
    facets = np.concatenate([np.delete(cells, i, axis=1) for i in range(corners)])
    numbers = np.unique(facets, axis=0, return_inverse=True)[1]
    return np.asarray(numbers.reshape(corners, len(cells)).T)


def outer_facets(cells: Array) -> tuple[Array, Array]:
    """The facets that belong to one cell only: which cell, and which of its corners they lie opposite to."""
    numbers = facet_numbers(cells).T
    opposite, cell = np.nonzero(np.bincount(numbers.reshape(-1))[numbers] == 1)
    return cell, opposite


def control_points_on(cells: Array, degree: int, which: Array, opposite: Array) -> Array:
    """The numbers of the control points on given facets, without repetition."""
    numbers, _ = control_points(cells, degree)
    lattice = np.array(exponents(cells.shape[1] - 1, degree))
    found = [numbers[which[opposite == i]][:, lattice[:, i] == 0].reshape(-1) for i in range(cells.shape[1])]
    return np.unique(np.concatenate(found))


@lru_cache(maxsize=32)
def simplex_rule(dimension: int, points: int) -> tuple[Array, Array]:
    """Barycentric nodes and weights (of sum one), exact for polynomials of degree 2·points − 1.

    >>> nodes, weights = simplex_rule(2, 3)
    >>> round(float(weights @ (nodes[:, 0] ** 2 * nodes[:, 1])), 12)  # 2!·2!·1!/(3+2)!
    0.033333333333
    """
    from scipy.special import roots_jacobi

    nodes, weights = np.ones((1, 1)), np.ones(1)
    for k in range(1, dimension + 1):
        # a simplex of dimension k is a pencil of copies of the last one, shrinking as 1 − t
        x, weight = roots_jacobi(points, k - 1, 0)
        t, weight = (1 + x) / 2, weight / weight.sum()
        grown = np.concatenate(
            [np.repeat(t, len(nodes))[:, None], ((1 - t)[:, None, None] * nodes).reshape(-1, k)], axis=1
        )
        nodes, weights = grown, np.outer(weight, weights).reshape(-1)
    return sealed(nodes), sealed(weights)
