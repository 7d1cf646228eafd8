"""How far a trial function is from solving its equation, measured by a flux that balances it cell by cell.

For −Δu + Vu = μu and any σ in H(div), the residual r(v) = ∫∇u·∇v + ∫(V−μ)uv is at most η‖∇v‖ with
η² = Σ_T (‖∇u − σ‖_T + h_T/π ‖(V−μ)u − div σ‖_T)², as soon as (V−μ)u − div σ has mean zero on every cell T. The σ
nearest to ∇u with polynomial components and a prescribed divergence is found by hybridisation.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.bounds.crouzeix_raviart import symmetric_factors
from errorfloor.designer.meshes.mesh import Mesh, assembled
from errorfloor.noise.simplices import (
    derivative_places,
    exponents,
    mass_matrix,
    mean_of_basis,
    product,
    product_table,
    sealed,
)


@dataclass(frozen=True)
class Reference:
    """A flux of one degree on the unit simplex: components in Bernstein form, one block a coordinate."""

    divergence: Array  # (ψ, τ): means of ψ div τ over the simplex, ψ of one degree less
    facets: Array  # (facet, ψ, τ): ∫ψ τ·n over each facet, as a share of the simplex's volume
    cross: Array  # (coordinate, β, τ-component): means of B_β of u's gradient against components


@lru_cache(maxsize=16)
def reference(dimension: int, degree: int) -> Reference:
    """Tabulate the unit simplex with corners 0, e₁, …, e_m and barycentric coordinates 1 − Σx, x₁, …, x_m."""
    m, size = dimension, len(exponents(dimension, degree))
    lower = len(exponents(m, degree - 1))
    places = derivative_places(m, degree)
    mass = mass_matrix(m, degree - 1) * degree
    divergence = np.zeros((lower, m, size))
    for k in range(m):  # ∂/∂x_k = ∂/∂λ_k − ∂/∂λ_0
        divergence[:, k, places[k + 1]] += mass  # no exponent comes twice among the places of one coordinate
        divergence[:, k, places[0]] -= mass
    lattice = np.array(exponents(m, degree))
    face_mass = mass_matrix(m - 1, degree)
    facets = np.zeros((m + 1, len(face_mass), m, size))
    for i in range(m + 1):
        on_face = np.flatnonzero(lattice[:, i] == 0)  # in the order of the facet's own exponents
        # n dS = −∇λ_i · m · volume, so that ∫ψτ·n dS / volume = m · mean over the facet of ψ τ·(−∇λ_i)
        for k in range(m):
            slope = -1.0 if i == 0 else float(i == k + 1)
            facets[i][:, k, on_face] = -m * slope * face_mass
    _, factor = product_table(m, degree, degree)
    cross = factor * mean_of_basis(m, 2 * degree)
    return Reference(
        sealed(divergence.reshape(lower, -1)), sealed(facets.reshape(m + 1, len(face_mass), -1)), sealed(cross)
    )


def misfit(mesh: Mesh, degree: int, local: Array, source: Array, source_degree: int) -> Array:
    """Balance a trial function and measure what is left: η², cell by cell.

    ``local`` holds the function's Bernstein coefficients of each cell, ``source`` those of (V−μ)u.
    """
    m = mesh.vertices.shape[1]
    k = degree if m < 3 else degree - 1  # the flux's degree: in space one less saves most of the work
    table = reference(m, k)
    edges = mesh.corners[:, 1:] - mesh.corners[:, :1]  # rows are the columns of the Jacobian
    metric = np.einsum("cak,cbk->cab", edges, edges)
    volume = mesh.volumes
    size = table.cross.shape[0]
    # with σ = Jτ/|det J| and |det J| = m!·volume, ∫σ·σ′ = volume/(m! volume)² · mean of τᵀJᵀJτ′
    scale = 1 / (math.factorial(m) ** 2 * volume)
    energy = np.einsum("c,cab,ij->caibj", scale, metric, table.cross).reshape(len(volume), m * size, m * size)
    gradient = _reference_gradient(m, degree, local)
    pull = np.einsum("cai,ij->caj", gradient, _between(m, degree - 1, k)).reshape(len(volume), -1)
    pull = pull / math.factorial(m)
    target = volume[:, None] * (source @ _between(m, source_degree, k - 1))
    flow = table.divergence / math.factorial(m)
    out = _balanced(mesh, energy, pull, flow, target, table.facets / math.factorial(m))
    own = _energies(mesh, degree, local)
    misfit_squared = own - 2 * (pull * out).sum(axis=1) + np.einsum("ci,cij,cj->c", out, energy, out)
    squared = product(m, source, source_degree, source, source_degree).sum(axis=1) * mean_of_basis(m, 2 * source_degree)
    smooth = np.linalg.solve(mass_matrix(m, k - 1), (target / volume[:, None]).T).T
    rough = volume * np.clip(squared - (smooth * (target / volume[:, None])).sum(axis=1), 0, None)
    plain = np.sqrt(np.clip(misfit_squared, 0, None)) + mesh.diameters / math.pi * np.sqrt(rough)
    # or what is left of the divergence is made up for within each cell, by a flux that nothing of leaves it
    extra = np.einsum("aiq,cq->cai", _inner_flux(m, k - 1, source_degree), source)
    high = source_degree + 1
    of_gradient = np.einsum("cai,ij,caj->c", gradient, _between(m, degree - 1, high), extra, optimize=True)
    of_flux = np.einsum(
        "cab,cai,ij,cbj->c", metric, out.reshape(len(volume), m, size), _between(m, k, high), extra, optimize=True
    )
    of_itself = np.einsum("cab,cai,ij,cbj->c", metric, extra, mass_matrix(m, high), extra, optimize=True)
    whole = misfit_squared + 2 * of_flux / math.factorial(m) + volume * (of_itself - 2 * of_gradient)
    return np.asarray(np.minimum(plain**2, np.clip(whole, 0, None)))


@lru_cache(maxsize=16)
def _inner_flux(dimension: int, low: int, high: int) -> Array:
    """Fluxes of the unit simplex with no normal component on its facets, for polynomials f of degree ``high``.

    Their divergence is f less its projection onto degree ``low``. Indexed (coordinate, coefficient, coefficient of f).
    Among all of degree high + 1 they have the least energy on a regular simplex.
    """
    m = dimension
    table = reference(m, high + 1)
    ones = np.ones((len(exponents(m, low)), len(exponents(m, high - low))))
    raised = product(m, np.eye(len(ones)), low, ones, high - low)  # rows: the basis of the lower degree in the higher
    projection = raised.T @ np.linalg.solve(mass_matrix(m, low), _between(m, low, high))
    wanted = mass_matrix(m, high) @ (np.eye(len(projection)) - projection)
    regular = (1 + np.eye(m)) / 2
    energy = np.kron(regular, table.cross)
    root = np.linalg.cholesky(energy)
    facets = table.facets.reshape(-1, len(energy))
    constraints = np.linalg.solve(root, np.vstack([table.divergence, facets]).T).T
    right = np.vstack([wanted, np.zeros((len(facets), len(wanted)))])
    found = np.linalg.solve(root.T, np.linalg.pinv(constraints, rcond=1e-11) @ right)
    return sealed(found.reshape(m, -1, len(wanted)))


def _balanced(mesh: Mesh, energy: Array, pull: Array, flow: Array, target: Array, facets: Array) -> Array:
    """Minimise Σ ½τᵀMτ − gᵀτ with a given divergence in each cell and a normal component that is continuous."""
    count, size = pull.shape
    rows = len(flow)
    system = np.zeros((count, size + rows, size + rows))
    system[:, :size, :size] = energy
    system[:, :size, size:] = flow.T
    system[:, size:, :size] = flow
    corners, per_face = facets.shape[:2]
    tests = facets.reshape(corners * per_face, size)
    right = np.zeros((count, size + rows, 1 + len(tests)))
    right[:, :size, 0], right[:, size:, 0] = pull, target
    right[:, :size, 1:] = tests.T
    # each row is scaled by its cell's energy, as cells differ in size by many orders of magnitude
    unit = np.sqrt(np.einsum("cii->ci", energy).mean(axis=1))
    balance = np.concatenate([np.repeat(1 / unit[:, None], size, 1), np.repeat(unit[:, None], rows, 1)], axis=1)
    solved = balance[:, :, None] * np.linalg.solve(
        balance[:, :, None] * system * balance[:, None, :], balance[:, :, None] * right
    )
    free, response = solved[:, :size, 0], solved[:, :size, 1:]
    numbers, total = _constrained(mesh)
    places = np.where(numbers[:, :, None] >= 0, numbers[:, :, None] * per_face + np.arange(per_face), -1).reshape(
        count, -1
    )
    matrix = np.einsum("ti,cis->cts", tests, response)
    load = np.einsum("ti,ci->ct", tests, free)
    live = places >= 0
    size = total * per_face
    whole = assembled(matrix, np.where(live, places, size), size + 1)[:size, :size].tocsc()
    vector = np.bincount(places[live], load[live], minlength=size)
    solver = symmetric_factors(whole)
    pressure = solver.solve(vector)
    pressure = pressure + solver.solve(vector - whole @ pressure)
    each = np.where(live, pressure[np.maximum(places, 0)], 0.0)
    return np.asarray(free - np.einsum("cis,cs->ci", response, each))


def _constrained(mesh: Mesh) -> tuple[Array, int]:
    """Number the inner facets, where flow is constrained; −1 for the others."""
    numbers = mesh.facets
    used = np.setdiff1d(numbers, mesh.vanishing)
    renumbered = np.full(int(numbers.max()) + 1, -1)
    renumbered[used] = np.arange(len(used))
    return np.asarray(renumbered[numbers]), len(used)


def _reference_gradient(dimension: int, degree: int, local: Array) -> Array:
    """Bernstein coefficients of ∂u/∂x_k on the unit simplex: (cell, k, β)."""
    partial = degree * local[:, derivative_places(dimension, degree)]
    return np.asarray(partial[:, 1:] - partial[:, :1])


def _energies(mesh: Mesh, degree: int, local: Array) -> Array:
    """∫|∇u|² on each cell."""
    m = mesh.vertices.shape[1]
    gradient = _reference_gradient(m, degree, local)
    inverse = np.linalg.inv(mesh.corners[:, 1:] - mesh.corners[:, :1])  # rows of edges, so columns give ∇
    slope = np.einsum("cka,cai->cki", inverse, gradient)
    form = np.einsum("cki,ij,ckj->c", slope, mass_matrix(m, degree - 1), slope)
    return np.asarray(mesh.volumes * form)


@lru_cache(maxsize=32)
def _between(dimension: int, p: int, q: int) -> Array:
    """Means of B_α B_β of degrees p and q over the simplex."""
    return sealed(product_table(dimension, p, q)[1] * mean_of_basis(dimension, p + q))
