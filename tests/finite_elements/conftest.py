import numpy as np
import pytest

from errorfloor.designer.elements.ground_state import ground_state
from errorfloor.support import Ball, Ellipsoid, Polygon, Polytope

L_SHAPE = Polygon([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]])
ALCOVE = Polytope(vertices=[[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]])  # its ground state is a determinant of sines
CORRELATED = np.array([[1.0, 0.5], [0.5, 1.0]])


@pytest.fixture(scope="session")
def designs():
    """One design for each kind of region and noise."""
    return {
        "L-shape": ground_state(L_SHAPE, np.eye(2)),
        "ellipse": ground_state(Ellipsoid([[4.0, 1.0], [1.0, 1.0]], [1.0, 2.0]), CORRELATED),
        "ball": ground_state(Ball(3, 2.0), np.diag([1.0, 2.0, 3.0])),
        "tetrahedron": ground_state(ALCOVE, np.eye(3), tolerance=1e-4),
    }


@pytest.fixture(params=["L-shape", "ellipse", "ball", "tetrahedron"])
def design(request, designs):
    return designs[request.param]
