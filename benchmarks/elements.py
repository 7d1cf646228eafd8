"""Finite elements of the designer: time against unknowns, and against plain piecewise linear elements of scikit-fem."""

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse.linalg import eigsh
from skfem import Basis, ElementTetP1, ElementTriP1, MeshTet, MeshTri, condense
from skfem.models.poisson import laplace, mass

from benchmarks.report import Report
from errorfloor.designer.elements.ground_state import ground_state
from errorfloor.designer.elements.solver import Space, least_pair
from errorfloor.designer.meshes.mesh import Mesh
from errorfloor.designer.meshes.region import Isotropic, bounded_region
from errorfloor.support import Ball, Ellipsoid, Polygon

L_SHAPE = Polygon([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]])
L_VALUE = 9.63972384402194
KUHN = Mesh(np.array([[0.0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]]), np.array([[0, 1, 2, 3]]))
KUHN_VALUE = 14 * math.pi**2
ALLOWED = 20.0  # seconds for a known ground state


def main(report: Report) -> None:
    _known(report)
    _against_linear(report)
    _scaling(report)


def _known(report: Report) -> None:
    """Everything from scratch: mesh, solution, certificate."""
    known = {
        "equilateral triangle": (Polygon([[0, 0], [1, 0], [0.5, math.sqrt(3) / 2]]), 16 * math.pi**2 / 3),
        "right isosceles triangle": (Polygon([[0, 0], [1, 0], [0, 1]]), 5 * math.pi**2),
        "L-shape": (L_SHAPE, L_VALUE),
        "disc": (Ellipsoid(np.eye(2)), 2.404825557695773**2),
        "ball": (Ball(3, 1.0), math.pi**2),
    }
    rows = []
    for name, (support, exact) in known.items():
        seconds, found = _timed(lambda support=support: ground_state(support, np.eye(support.dimension)))
        rows.append([name, f"{abs(found.value / 4 / exact - 1):.1e}", f"{found.gap:.1e}", seconds / ALLOWED])
    columns = ["", "relative error", "certified gap", f"share of the {ALLOWED:.0f} s allowed"]
    report.rows("Known ground states, from nothing: mesh, solution, certificate", columns, rows)


def _against_linear(report: Report) -> None:
    """The same accuracy from linear elements on uniform meshes and from ours."""
    plane, space = MeshTri.init_lshaped(), MeshTet(KUHN.vertices.T.copy(), KUHN.cells.T.copy())
    coarse = bounded_region(Isotropic(L_SHAPE, np.eye(2), None)).coarse
    for name, exact, linear, element, ours, levels in (
        ("L-shape", L_VALUE, plane, ElementTriP1(), coarse, (5, 6, 7)),
        ("tetrahedron", KUHN_VALUE, space, ElementTetP1(), KUHN, (4, 5)),
    ):
        rows = []
        for level in levels:
            seconds, (value, unknowns) = _timed(lambda m=linear, e=element, k=level: _linear(m.refined(k), e))
            accuracy = value / exact - 1
            best = _cheapest(ours, exact, accuracy)
            rows.append([f"{accuracy:.1e}", f"{unknowns:,}", f"{best[1]:,} of degree {best[2]}", seconds / best[0]])
        columns = ["accuracy", "linear unknowns", "unknowns here", "times as fast"]
        report.rows(f"{name}, against scikit-fem's linear elements on uniform meshes", columns, rows)


def _cheapest(mesh: Mesh, exact: float, accuracy: float) -> tuple[float, int, int]:
    """The least time in which a degree reaches an accuracy, refining at the re-entrant corner if there is one."""
    best = (math.inf, 0, 0)
    for degree in (4, 6, 8):
        graded = mesh
        for _ in range(40):
            space = Space(graded, degree)
            seconds, (value, _) = _timed(lambda space=space: least_pair(space.stiffness, space.mass))
            if value / exact - 1 <= accuracy:
                best = min(best, (seconds, len(space.free), degree))
                break
            graded = graded.refined((graded.corners == 1).all(axis=2).any(axis=1))
    return best


def _scaling(report: Report) -> None:
    """One eigenvalue on uniform meshes: assembly and solution."""
    rows = []
    for name, coarse, degree, steps in (
        ("plane, degree 6", bounded_region(Isotropic(L_SHAPE, np.eye(2), None)).coarse, 6, range(2, 7)),
        ("space, degree 3", KUHN, 3, range(6, 13, 2)),
    ):
        points = []
        mesh = coarse
        for step in range(max(steps) + 1):
            if step in steps:
                space = Space(mesh, degree)
                points.append((len(space.free), _timed(lambda space=space: least_pair(space.stiffness, space.mass))[0]))
            mesh = mesh.refined()
        rows += _growth(f"{name}: elements of the designer", points)
    plane = [MeshTri.init_lshaped().refined(k) for k in range(4, 8)]
    rows += _growth("plane: scikit-fem linear", [_linear_point(mesh, ElementTriP1()) for mesh in plane])
    space_meshes = [MeshTet(KUHN.vertices.T.copy(), KUHN.cells.T.copy()).refined(k) for k in range(3, 6)]
    rows += _growth("space: scikit-fem linear", [_linear_point(mesh, ElementTetP1()) for mesh in space_meshes])
    report.rows("Time grows like unknowns to the power of", ["", "unknowns", "power"], rows)


def _linear_point(mesh: object, element: object) -> tuple[int, float]:
    seconds, (_, unknowns) = _timed(lambda: _linear(mesh, element))
    return unknowns, seconds


def _growth(name: str, points: list[tuple[int, float]]) -> list[list[Any]]:
    unknowns, seconds = np.array(points).T
    power = np.polyfit(np.log(unknowns), np.log(seconds), 1)[0]
    return [[name, f"{unknowns[0]:,.0f} to {unknowns[-1]:,.0f}", float(power)]]


def _linear(mesh: object, element: object) -> tuple[float, int]:
    basis = Basis(mesh, element)
    form, weight = laplace.assemble(basis), mass.assemble(basis)
    K, M, *_ = condense(form, weight, D=basis.get_dofs())
    return float(eigsh(K, 1, M, sigma=0.0, return_eigenvectors=False)[0]), K.shape[0]


def _timed(action: Callable[[], object]) -> tuple[float, object]:
    start = time.perf_counter()
    result = action()
    return time.perf_counter() - start, result
