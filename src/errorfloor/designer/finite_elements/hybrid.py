"""Whether an eigenvalue of −Δ + V lies above a number, proved with hybrid elements: polynomials in cells and on facets.

With v the projection of u onto degree r in each cell T, those of degree r − 1 on its facets, and p of degree r the
Galerkin projection of u, which these determine, ‖∇u‖² = ‖∇p‖² + ‖∇(u − p)‖² and ‖u − p‖ ≤ (h/π)‖∇(u − p)‖. So
a(u) − τ‖u‖² is at least a form of the projections alone; if that has j negative eigenvalues, at most j are below τ.
"""

import math
from functools import lru_cache

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.finite_elements.crouzeix_raviart import facet_numbers, symmetric_factors
from errorfloor.designer.finite_elements.mesh import Mesh
from errorfloor.noise.piecewise_bernstein import (
    derivative_places,
    exponents,
    mass_matrix,
    mean_of_basis,
    product_table,
    sealed,
    stiffness_tensor,
    weighted_mass_tensor,
)
from errorfloor.noise.piecewise_cells import gradients

DEGREE = 2  # r
ON_FACETS = 0.1  # ζ, the share of ‖∇(u − p)‖² that is spent on facets
SLACK = 1e-3  # the share of the form that rounding may take


def eigenvalue_lies_above(mesh: Mesh, potential: Array, which: int, target: float, ceiling: float = math.inf) -> bool:
    """Whether eigenvalue number ``which`` (0 the least) of −Δ + V is proved to be at least ``target``.

    V ≥ 0 is given on each cell by Bernstein coefficients of degree two. Functions vanish on the outer boundary, but not
    on the mesh's walls. The cells must be small: False may only mean that they are not. Those where V is above a
    ``ceiling``, which is not below the target, are left out.

    >>> mesh = Mesh.of(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([[0, 1, 2], [1, 2, 3]]))
    >>> fine = mesh.refined_to(0.3)
    >>> free = np.zeros((len(fine.cells), 6))
    >>> [eigenvalue_lies_above(fine, free, 0, share * 2 * math.pi**2) for share in (0.97, 1.01)]
    [True, False]
    """
    least = potential.min(axis=1).clip(min=0.0)
    active = least < max(ceiling, target)
    room = (1 - ON_FACETS) * (math.pi / mesh.diameters) ** 2 + least - target
    if not active.any():
        return True
    if (room[active] <= 0).any():
        return False
    # on a large cell the least value of V serves better than V less what its variation costs
    spread = potential.max(axis=1) - least
    poor = spread**2 > 4 * room * (potential.mean(axis=1) - least)
    potential = np.where(poor[:, None], least[:, None], potential)
    m = mesh.vertices.shape[1]
    try:
        kinetic, mass = _kinetic(mesh, active)
    except np.linalg.LinAlgError:  # a cell without volume, but for rounding
        return False
    own = len(exponents(m, DEGREE))
    form = kinetic - target * mass
    form[:, :own, :own] += _potential(m, mesh.volumes[active], potential[active], room[active])
    whole = kinetic + target * mass
    unit = np.einsum("cii->ci", whole) ** -0.5
    sure = np.linalg.eigvalsh(unit[:, :, None] * whole * unit[:, None])[:, 0]
    form = form - SLACK * whole
    inner = form[:, :own, :own]
    if np.linalg.eigvalsh(unit[:, :own, None] * inner * unit[:, None, :own]).min() <= 0 or sure.min() <= 0:
        return False
    condensed = form[:, own:, own:] - form[:, own:, :own] @ np.linalg.solve(inner, form[:, :own, own:])
    scale = np.einsum("cii->ci", whole)[:, own:]
    return _negative(mesh, active, condensed, scale, SLACK * sure) <= which


def _negative(mesh: Mesh, active: Array, local: Array, scale: Array, slack: Array) -> float:
    """How many negative eigenvalues the gathered form may have at most, infinite if rounding leaves that open.

    The form that matters is above this one by what ``slack`` times the diagonal ``scale`` of each cell gathers to.
    """
    from scipy.sparse import csr_matrix, diags

    numbers, fixed = facet_numbers(mesh)
    numbers = numbers[active]
    per_facet = local.shape[1] // numbers.shape[1]
    free = np.setdiff1d(numbers, fixed)
    if not len(free):
        return 0  # nothing is left: the cells' own blocks are positive definite
    position = np.full(int(numbers.max()) + 1, -1)
    position[free] = np.arange(len(free))
    places = position[numbers]
    places = np.where(places[:, :, None] >= 0, places[:, :, None] * per_facet + np.arange(per_facet), -1)
    places = places.reshape(len(places), -1)
    live = places >= 0
    pairs = live[:, :, None] & live[:, None, :]
    rows, columns = (np.broadcast_to(index, local.shape)[pairs] for index in (places[:, :, None], places[:, None, :]))
    count = len(free) * per_facet
    diagonal = np.bincount(places[live], scale[live], minlength=count)
    spare = np.bincount(places[live], (slack[:, None] * scale)[live], minlength=count) / diagonal
    unit = diags(diagonal**-0.5)
    whole = unit @ csr_matrix((local[pairs], (rows, columns)), shape=(count, count)) @ unit
    try:
        factors = symmetric_factors((whole + whole.T) / 2)
    except RuntimeError:  # an exactly singular pivot
        return math.inf
    terms = 2 + int(np.diff(factors.L.tocsr().indptr).max())
    # the factors are off by terms·ε|L||U| at most, of which twice is allowed for; a matrix is at most its row sums
    off = 2 * terms * np.finfo(float).eps * (abs(factors.L) @ (abs(factors.U) @ np.ones(count)))
    if (factors.perm_r != factors.perm_c).any() or (off > spare[np.argsort(factors.perm_c)]).any():
        return math.inf
    return int((factors.U.diagonal() < 0).sum())


def _kinetic(mesh: Mesh, active: Array) -> tuple[Array, Array]:
    """‖∇p‖² + (1−ζ)(π/h)²‖v − p‖² and what is spent on facets, and ‖v‖²: matrices over v and the facets' values."""
    m, r = mesh.vertices.shape[1], DEGREE
    slopes = gradients(mesh.corners[active])
    metric = np.einsum("cak,cbk->cab", slopes, slopes)
    volume, length = mesh.volumes[active], mesh.diameters[active]
    laplacian, flows, traces = _reference(m)
    own, on_facet = laplacian.shape[2], flows.shape[2]
    stiffness = volume[:, None, None] * np.einsum("cab,abij->cij", metric, stiffness_tensor(m, r), optimize=True)
    # p: ∫∇p·∇q = −∫vΔq + Σ∫_F v_F ∂q/∂n for all q, and the mean of v
    load = np.zeros((len(volume), own, own + (m + 1) * on_facet))
    load[:, :, :own] = -volume[:, None, None] * np.einsum("cab,abqv->cqv", metric, laplacian, optimize=True)
    outward = -m * volume[:, None, None, None] * np.einsum("cia,iafq->cqif", metric, flows, optimize=True)
    load[:, :, own:] = outward.reshape(len(volume), own, -1)
    weight = np.einsum("cii->c", stiffness)[:, None, None] / own**2
    load[:, :, :own] += weight
    p = np.linalg.solve(stiffness + weight, load)
    mass = np.zeros((len(volume), load.shape[2], load.shape[2]))
    mass[:, :own, :own] = volume[:, None, None] * mass_matrix(m, r)
    rest = -p
    rest[:, :, :own] += np.eye(own)
    across = (1 - ON_FACETS) * (math.pi / length) ** 2 * volume
    form = p.transpose(0, 2, 1) @ stiffness @ p
    form += across[:, None, None] * (rest.transpose(0, 2, 1) @ mass_matrix(m, r) @ rest)
    share = ON_FACETS * m * volume / ((m + 1) * length**2 * (m / math.pi**2 + 2 / math.pi))
    facet_mass = mass_matrix(m - 1, r - 1)
    for i in range(m + 1):
        jump = -traces[i] @ p
        start = own + i * on_facet
        jump[:, :, start : start + on_facet] += np.eye(on_facet)
        form += share[:, None, None] * (jump.transpose(0, 2, 1) @ facet_mass @ jump)
    return (form + form.transpose(0, 2, 1)) / 2, mass


def _potential(dimension: int, volume: Array, potential: Array, room: Array) -> Array:
    """∫Vv² − ‖(1 − Π)Vv‖²/room, Π the projection onto the degree of v: (cell, v, v)."""
    m, r = dimension, DEGREE
    plain = np.einsum("cg,gij->cij", potential, weighted_mass_tensor(m, r, 2), optimize=True)
    index, factor = product_table(m, 2, r)
    varying = potential - potential.mean(axis=1, keepdims=True)
    times = np.zeros((len(volume), len(exponents(m, r + 2)), len(exponents(m, r))))
    for g in range(len(index)):
        times[:, index[g], np.arange(index.shape[1])] += varying[:, g, None] * factor[g]
    across = product_table(m, r, r + 2)[1] * mean_of_basis(m, 2 * r + 2)
    lost = mass_matrix(m, r + 2) - across.T @ np.linalg.solve(mass_matrix(m, r), across)
    left = times.transpose(0, 2, 1) @ lost @ times
    return np.asarray(volume[:, None, None] * (plain - left / room[:, None, None]))


@lru_cache(maxsize=4)
def _reference(dimension: int) -> tuple[Array, Array, Array]:
    """Tables for q, v of degree r and w of degree r − 1 on facet i, in Bernstein form.

    Means of v ∂_a∂_b q, indexed (a, b, q, v); means over facets of w ∂_a q, (i, a, w, q); and the projections of traces
    onto degree r − 1, (i, w, q).
    """
    m, r = dimension, DEGREE
    first = [_derivative(m, r, a) for a in range(m + 1)]
    second = [_derivative(m, r - 1, b) for b in range(m + 1)]
    means = product_table(m, r - 2, r)[1] * mean_of_basis(m, 2 * r - 2)
    laplacian = np.array([[(second[b] @ first[a]).T @ means for b in range(m + 1)] for a in range(m + 1)])
    lower, upper = np.array(exponents(m, r - 1)), np.array(exponents(m, r))
    facet_mass = mass_matrix(m - 1, r - 1)
    across = product_table(m - 1, r - 1, r)[1] * mean_of_basis(m - 1, 2 * r - 1)
    flows, traces = [], []
    for i in range(m + 1):
        flows.append([facet_mass @ first[a][lower[:, i] == 0] for a in range(m + 1)])
        trace = np.zeros((len(facet_mass), len(upper)))
        trace[:, upper[:, i] == 0] = np.linalg.solve(facet_mass, across)
        traces.append(trace)
    return sealed(laplacian), sealed(np.array(flows)), sealed(np.array(traces))


def _derivative(dimension: int, degree: int, a: int) -> Array:
    """The matrix of ∂/∂λ_a, the coordinates taken as independent."""
    places = derivative_places(dimension, degree)[a]
    matrix = np.zeros((len(places), len(exponents(dimension, degree))))
    matrix[np.arange(len(places)), places] = degree
    return matrix
