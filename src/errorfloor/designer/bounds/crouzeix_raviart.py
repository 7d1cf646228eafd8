"""Proved lower bounds of eigenvalues from Crouzeix–Raviart elements: piecewise linear, continuous at facets' centres.

For −Δ + V on a mesh, V ≥ c_T on cell T, let k_T² = h_T²/π² + Σ|e|²/(m²(m+1)²(m+2)), e the edges of T, and μ_j the j-th
eigenvalue of the elements with the potential c_T β/(β + c_T k_T²). Then λ_j ≥ μ_j/(1 + k²μ_j/(1 − β)), k the greatest
k_T. Cells where V is above a ceiling may be left out, if the bound is not taken above the ceiling.
"""

import math
from typing import Any

import numpy as np
from scipy.sparse import diags
from scipy.sparse.linalg import LinearOperator, eigsh, splu

from errorfloor.checks import Array
from errorfloor.designer.meshes.mesh import Mesh, assembled
from errorfloor.noise.simplices import gradients

MARGINS = (1e-5, 1e-3, 1e-2)  # relative distances above a number at which eigenvalues below it are counted
SHARE = 0.25  # β, the share of the interpolation error that is spent on the potential


def eigenvalue_bound(mesh: Mesh, potential: Array, which: int, ceiling: float = math.inf) -> float:
    """A number that is proved to lie below the eigenvalue number ``which`` (0 the least) of −Δ + V on the mesh.

    ``potential`` holds a lower bound of V ≥ 0 on each cell. Functions vanish on the outer boundary, but not on the
    mesh's walls.

    >>> mesh = Mesh.of(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([[0, 1, 2], [1, 2, 3]]))
    >>> mesh = mesh.refined_to(0.2)
    >>> bool(18 < eigenvalue_bound(mesh, np.zeros(len(mesh.cells)), 0) < 2 * math.pi**2)
    True
    """
    active = potential < ceiling
    share = SHARE if potential.any() else 0.0
    constants = interpolation_constants(mesh)
    lowered = potential * share / (share + potential * constants) if share else potential
    form, mass = _matrices(mesh, lowered, active)
    if form.shape[0] <= which + 1:
        return 0.0
    shift = -1e-2 / float(np.ptp(mesh.vertices, axis=0).max()) ** 2  # of the size of the first level, or less
    solver = symmetric_factors(form - shift * mass)
    inverse = LinearOperator(form.shape, matvec=solver.solve, dtype=float)
    start = np.ones(form.shape[0])
    found = eigsh(form, which + 1, mass, sigma=shift, OPinv=inverse, return_eigenvectors=False, v0=start)
    for margin in MARGINS:
        certain = float(np.max(found)) * (1 - 3 * margin)
        if certain > 0 and number_below(form, mass, certain, (margin,)) <= which:
            return min(ceiling, certain / (1 + float(constants[active].max()) * certain / (1 - share)))
    return 0.0


def number_below(form: Any, mass: Any, shift: float, margins: tuple[float, ...] = MARGINS) -> float:
    """How many eigenvalues of form·x = λ·mass·x may lie below ``shift``; infinite if that could not be told.

    By Sylvester's law of inertia, from a factorisation form − s·mass ≈ LDLᵀ in which s is above the shift by more than
    the factors are off: by at most n·ε|L||DLᵀ|, entry by entry, n the most terms in a row. The first of the relative
    ``margins`` between s and the shift for which that is so is used: thin cells need a wide one.
    """
    unit = diags(mass.diagonal() ** -0.5)
    for margin in margins:
        try:
            factors = symmetric_factors(unit @ (form - shift * (1 + margin) * mass) @ unit)
        except RuntimeError:  # an exactly singular pivot
            continue
        if (factors.perm_r != factors.perm_c).any():
            continue
        terms = 2 + int(np.diff(factors.L.tocsr().indptr).max())
        size = abs(factors.U).T @ (abs(factors.L).T @ np.ones(form.shape[0]))
        off = 2 * terms * np.finfo(float).eps * float(size.max())
        # the mass matrix is at least a quarter of its diagonal, cell by cell
        if off <= shift * margin * 0.25:
            return int((factors.U.diagonal() < 0).sum())
    return math.inf


def symmetric_factors(matrix: Any) -> Any:
    """A factorisation that permutes rows and columns alike, if pivots allow it."""
    symmetric = {"SymmetricMode": True}
    return splu(matrix.tocsc(), options=symmetric, diag_pivot_thresh=0.0, permc_spec="MMD_AT_PLUS_A")


def interpolation_constants(mesh: Mesh) -> Array:
    """k_T²: the square of the constant in ‖v‖ ≤ k_T‖∇v‖ for v of mean zero on each facet of T."""
    m = mesh.vertices.shape[1]
    first, second = np.triu_indices(m + 1, 1)
    edges = ((mesh.corners[:, first] - mesh.corners[:, second]) ** 2).sum(axis=(1, 2))
    return np.asarray(mesh.diameters**2 / math.pi**2 + edges / (m**2 * (m + 1) ** 2 * (m + 2)))


def _matrices(mesh: Mesh, potential: Array, active: Array) -> tuple[Any, Any]:
    m = mesh.vertices.shape[1]
    slopes = gradients(mesh.corners)
    one = 1 - 2 * m / (m + 1) + m**2 * (1 + np.eye(m + 1)) / ((m + 1) * (m + 2))
    mass = mesh.volumes[:, None, None] * one
    form = m**2 * mesh.volumes[:, None, None] * np.einsum("cak,cbk->cab", slopes, slopes)
    form = form + potential[:, None, None] * mass
    numbers = mesh.facets
    count = int(numbers.max()) + 1
    numbers = numbers[active]
    free = np.setdiff1d(numbers, mesh.vanishing)
    whole = (assembled(local[active], numbers, count) for local in (form, mass))
    return tuple(one[free][:, free].tocsc() for one in whole)
