"""Discretisations converge at the rate that theory predicts, and agree with scikit-fem's own elements."""

import math

import numpy as np
import pytest

from errorfloor.designer.elements.ellipsoid import EllipsoidSolver
from errorfloor.designer.elements.solver import Space, least_pair
from errorfloor.designer.meshes.mesh import Mesh
from errorfloor.designer.meshes.region import Isotropic, bounded_region
from errorfloor.support import Ellipsoid, Polygon, Polytope


def uniform(mesh, times):
    """Halve every edge so many times."""
    for _ in range(times * mesh.vertices.shape[1]):
        mesh = mesh.refined()
    return mesh


def least(mesh, degree):
    space = Space(mesh, degree)
    return least_pair(space.stiffness, space.mass)[0]


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_tetrahedron_with_a_smooth_ground_state_converges_at_twice_the_degree(degree):
    kuhn = Mesh(np.array([[0.0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]]), np.array([[0, 1, 2, 3]]))
    exact = 14 * math.pi**2  # a determinant of the sines of πx, 2πx and 3πx
    coarse, fine = (least(uniform(kuhn, times), degree) - exact for times in (2, 3))
    assert 0 < fine < coarse
    assert math.log2(coarse / fine) == pytest.approx(2 * degree, abs=0.5)


def test_re_entrant_corner_without_grading_converges_at_four_thirds():
    mesh = bounded_region(Isotropic(Polygon([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]]), np.eye(2), None)).coarse
    off = [least(uniform(mesh, times), 4) - 9.63972384402194 for times in (1, 2, 3)]
    assert math.log2(off[1] / off[2]) == pytest.approx(4 / 3, abs=0.1)


def test_regular_tetrahedron_converges_at_twice_the_degree_while_its_edges_allow_it():
    """Edges of angle arccos(1/3) make the ground state r^2.55: degree 2 has its full rate, unknowns^(−4/3)."""
    corners = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    mesh = bounded_region(Isotropic(Polytope(vertices=corners), np.eye(3), None)).coarse
    best = least(uniform(mesh, 1), 6)
    mesh = uniform(mesh, 1)
    unknowns, off = [], []
    for _ in range(5):
        space = Space(mesh, 2)
        unknowns.append(len(space.free))
        off.append(least_pair(space.stiffness, space.mass)[0] - best)
        mesh = mesh.refined()
    assert np.polyfit(np.log(unknowns), np.log(off), 1)[0] == pytest.approx(-4 / 3, abs=0.25)


@pytest.mark.parametrize(
    ("shape", "sensitivity"),
    [
        (np.array([[4.0, 1.0], [1.0, 1.0]]), np.array([[1.0, 0.5], [0.5, 1.0]])),
        (np.diag([1.0, 2.0, 3.0]), np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.3], [0.2, 0.3, 2.0]])),
    ],
)
def test_ellipsoid_not_aligned_with_the_query_converges_geometrically(shape, sensitivity):
    solver = EllipsoidSolver(Isotropic(Ellipsoid(shape), sensitivity, None))
    values = [solver._at_degree(0.0, degree).quotient for degree in (2, 4, 6, 12)]
    off = [value - values[-1] for value in values[:-1]]
    assert off[0] > off[1] > off[2] > 0
    # faster than any power: each step of two degrees gains more digits than a fixed rate of order ten would
    assert math.log(off[0] / off[1]) > 10 * math.log(4 / 2) * 0.3
    assert math.log(off[1] / off[2]) > 10 * math.log(6 / 4)


def test_matrices_agree_with_scikit_fem_elements_of_degree_four():
    from scipy.sparse.linalg import eigsh
    from skfem import Basis, ElementTriP4, MeshTri, condense
    from skfem.models.poisson import laplace, mass

    mesh = bounded_region(
        Isotropic(Polygon([[0, 0], [2, 0], [2.5, 1], [1, 2], [0, 1]]), np.eye(2), None)
    ).coarse.refined()
    basis = Basis(MeshTri(mesh.vertices.T.copy(), mesh.cells.T.copy()), ElementTriP4(), intorder=8)
    form, weight = laplace.assemble(basis), mass.assemble(basis)
    K, M, *_ = condense(form, weight, D=basis.get_dofs())
    theirs = eigsh(K, 1, M, sigma=0.0, return_eigenvectors=False)[0]
    assert least(mesh, 4) == pytest.approx(theirs, rel=1e-10)


def test_correlated_box_agrees_with_the_product_ratio_of_the_theory():
    from errorfloor.designer.elements.ground_state import ground_state
    from errorfloor.support import Box

    for r, ratio in ((0.3, 1.0188), (0.9, 1.3134)):
        found = ground_state(Box([0, 0], [1, 1]), np.array([[1, r], [r, 1]]))
        assert 8 * math.pi**2 / found.value == pytest.approx(ratio, abs=6e-5)
        assert found.gap < 1e-6
