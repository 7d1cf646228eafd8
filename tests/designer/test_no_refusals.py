"""What is beyond the designer is refused with advice; what is not has a noise."""

import numpy as np
import pytest

import errorfloor as ef
from errorfloor.errors import IllPosedError, InputError


def cone(m):
    """An unbounded set with m + 1 faces: no product of lines and half-lines."""
    return ef.Polytope(A=np.vstack([-np.eye(m), np.r_[1.0, -np.ones(m - 1)]]), b=np.r_[np.full(m, 0.5), 1.0])


def simplex(m):
    return ef.Polytope(vertices=np.vstack([np.zeros(m), 2 * np.eye(m)]) - 0.3)


@pytest.mark.parametrize("m", [2, 4])
def test_an_unbounded_set_that_is_no_product_is_refused_with_advice(m):
    with pytest.raises(InputError, match="such as a half-space or a wedge, and this one is not: design for one inside"):
        ef.design(cone(m), loss_weight=2.0)


def test_shapes_in_four_dimensions_are_refused_with_advice():
    with pytest.raises(InputError, match="a box or an ellipsoid inside it"):
        ef.design(simplex(4))


@pytest.mark.parametrize(("m", "weight"), [(2, 1e9), (4, 1e6)])
def test_a_steep_loss_in_an_ellipsoid_is_refused_with_advice(m, weight):
    with pytest.raises(ef.errors.ConvergenceError, match="box inside it"):
        ef.design(ef.Ball(m, 1.0), sensitivity=np.eye(m) + 0.2, loss_weight=weight)


def test_an_unbounded_set_without_a_loss_is_ill_posed():
    with pytest.raises(IllPosedError, match="infinite variance"):
        ef.design(cone(4))
