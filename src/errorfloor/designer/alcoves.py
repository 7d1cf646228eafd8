"""A lower bound of the ground state on a simplex, from simplices whose ground state is known in closed form.

Alcoves of affine reflection groups tile space by mirrors. With simple roots α_i, highest root Σc_iα_i and corners 0
and ω_i/c_i, ⟨ω_i, α_j⟩ = δ_ij, the least eigenvalue of −Δ on such an alcove is 4π²|ρ|², ⟨ρ, α_i⟩ = |α_i|²/2. Every
simplex becomes an alcove by a change of the matrix M in −div(M∇u), the least eigenvalue is concave and homogeneous in
M, and so every way to write M as a sum of matrices of alcoves, of the simplex or of its faces, bounds it.
"""

import itertools
import math
from functools import lru_cache

import numpy as np

from errorfloor.checks import Array

KINDS = {1: "A", 2: "ACG", 3: "ABC", 4: "ABCDF"}
SHARES = (0.2, 0.35, 0.5, 0.65, 0.8)  # how two faces without a common corner share the simplex
CHORDS = 500  # directions in which the longest chord is looked at, besides
SAFE = 1e-9  # what the bound is lowered by for rounding


def bound_on_simplex(corners: Array, sensitivity: Array) -> float:
    """Give a number below the least Tr(K I_w) of any noise on the simplex with these corners, of dimension 1 to 4.

    >>> path = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])  # right isosceles: 5π²
    >>> round(bound_on_simplex(path, np.eye(2)) / (4 * math.pi**2), 6)
    5.0
    """
    from scipy.optimize import linprog

    m = corners.shape[1]
    inverse = np.linalg.inv((corners[1:] - corners[0]).T)
    M = inverse @ sensitivity @ inverse.T
    # coordinates in which M has a unit diagonal, so that the programme's tolerances mean the same for every entry
    unit = np.sqrt(np.diag(M))
    target = M / unit / unit[:, None]
    root = np.linalg.cholesky(M)
    spread = np.random.default_rng(0).normal(size=(CHORDS, m)) @ root.T
    chords = [_chord(v) for v in np.vstack([np.linalg.eigh(M)[1].T, root.T, spread])]
    columns = np.array([*_columns(m), *chords]) / unit / unit[:, None]
    size = np.array([np.trace(column) for column in columns])
    rows = np.triu_indices(m)
    matrix = (columns / size[:, None, None])[:, *rows].T
    found = linprog(-1 / size, A_eq=matrix, b_eq=target[rows], bounds=(0, None))
    if found.status != 0:
        return 0.0
    shares = np.clip(found.x, 0, None)
    total = np.einsum("k,kij->ij", shares / size, columns)
    # the sum must lie below M: the programme is off by its tolerance, which a factor takes care of
    whiten = np.linalg.inv(np.linalg.cholesky(target))
    over = max(1.0, float(np.linalg.eigvalsh(whiten @ total @ whiten.T)[-1]))
    return 4 * float((shares / size).sum()) / over * (1 - SAFE)


def alcove(kind: str, dimension: int) -> tuple[Array, float]:
    """The corners of an alcove as rows, and the least eigenvalue of −Δ on it.

    >>> round(alcove("A", 1)[1], 9) == round(2 * math.pi**2, 9)  # an interval of length 1/√2
    True
    """
    roots = _simple_roots(kind, dimension)
    duals = np.linalg.inv(roots).T
    corners = np.vstack([np.zeros(dimension), duals / _highest(roots)[:, None]])
    rho = np.linalg.solve(roots, (roots**2).sum(axis=1) / 2)
    return corners, 4 * math.pi**2 * float(rho @ rho)


def _simple_roots(kind: str, n: int) -> Array:
    e = np.eye(n + 1)
    steps = [e[i] - e[i + 1] for i in range(n)]
    if kind == "A":
        differences = np.array(steps)
        return np.asarray(differences @ np.linalg.qr(differences.T)[0])
    if kind == "G":
        return np.array([[1.0, 0.0], [-1.5, math.sqrt(3) / 2]])
    if kind == "F":
        return np.array([[0, 1, -1, 0], [0, 0, 1, -1], [0, 0, 0, 1], [0.5, -0.5, -0.5, -0.5]])
    last = {"B": e[n - 1], "C": 2 * e[n - 1], "D": e[n - 2] + e[n - 1]}[kind]
    return np.array([*steps[: n - 1], last])[:, :n]


def _highest(roots: Array) -> Array:
    """The coefficients of the highest root: what reflections in simple roots lead to, of greatest sum."""
    cartan = np.round(2 * roots @ roots.T / (roots**2).sum(axis=1)).astype(int)
    found = {tuple(row) for row in np.eye(len(roots), dtype=int).tolist()}
    fresh = list(found)
    while fresh:
        images = []
        for root in fresh:
            for j in range(len(roots)):
                image = list(root)
                image[j] -= int(np.dot(root, cartan[:, j]))
                if min(image) >= 0 and tuple(image) not in found:
                    found.add(tuple(image))
                    images.append(tuple(image))
        fresh = images
    return np.array(max(found, key=sum))


@lru_cache(maxsize=4)
def _columns(m: int) -> tuple[Array, ...]:
    """Matrices M on the simplex with corners 0, e₁, …, e_m for which the least eigenvalue is at least one.

    A matrix along a face counts only slices parallel to it, which are copies of the face, none larger than itself. Two
    faces without a common corner share the simplex: slices along both are products of copies of sizes s and 1 − s, and
    s³M₁ + (1−s)³M₂ has the eigenvalue s³/t² + (1−s)³/(1−t)² ≥ 1 on the product of sizes t and 1 − t.
    """
    faces = {face: _on_face(face, m) for k in range(2, m + 2) for face in itertools.combinations(range(m + 1), k)}
    found = [matrix for matrices in faces.values() for matrix in matrices]
    for one, other in itertools.combinations(faces, 2):
        if not set(one) & set(other):
            found += [
                share**3 * first + (1 - share) ** 3 * second
                for first, second in itertools.product(faces[one], faces[other])
                for share in SHARES
            ]
    return tuple(found)


def _on_face(face: tuple[int, ...], m: int) -> list[Array]:
    """Matrices along a face for which it is an alcove, divided by the eigenvalue."""
    reference = np.vstack([np.zeros(m), np.eye(m)])[list(face)]
    own = (reference[1:] - reference[0]).T
    found: dict[tuple[float, ...], Array] = {}
    for kind in KINDS[len(face) - 1]:
        corners, value = alcove(kind, len(face) - 1)
        for order in itertools.permutations(range(len(face))):
            placed = corners[list(order)]
            back = own @ np.linalg.inv((placed[1:] - placed[0]).T)
            matrix = back @ back.T / value
            found.setdefault(tuple(np.round(matrix.ravel() * value, 9)), matrix)
    return list(found.values())


def _chord(v: Array) -> Array:
    """The matrix vvᵀ along the longest chord in its direction, for which the least eigenvalue is one."""
    barycentric = np.append(v, -v.sum())
    length = 1 / np.clip(barycentric, 0, None).sum()
    return np.asarray(np.outer(v, v) * (length / math.pi) ** 2)
