"""What is beyond the designer is refused with advice; what is not has a noise."""

import numpy as np
import pytest

import errorfloor as ef
from errorfloor.designer.solvers import solve
from errorfloor.errors import IllPosedError, InputError
from errorfloor.noise import Loss


def cone(m):
    """An unbounded set with m + 1 faces: no product of lines and half-lines."""
    return ef.Polytope(A=np.vstack([-np.eye(m), np.r_[1.0, -np.ones(m - 1)]]), b=np.r_[np.full(m, 0.5), 1.0])


def simplex(m):
    return ef.Polytope(vertices=np.vstack([np.zeros(m), 2 * np.eye(m)]) - 0.3)


def test_a_cone_with_a_squared_loss_has_a_noise_and_a_bound():
    support, K = cone(2), 0.7 * np.eye(2) + 0.3
    found = solve(support, K, Loss.parse("squared", 2), 2.0, tolerance=1e-3)
    assert support.contains(found.noise.sample(200, rng=1)).all()
    own = float(np.trace(K @ found.noise.information)) + 2.0 * found.noise.expected_loss()
    assert found.value == pytest.approx(own, rel=1e-9)
    assert 0 < found.lower_bound <= found.value


@pytest.mark.parametrize(("support", "quality"), [(simplex(4), {}), (cone(4), {"loss_weight": 2.0})])
def test_shapes_in_four_dimensions_are_refused_with_advice(support, quality):
    with pytest.raises(InputError, match="a box or an ellipsoid inside it"):
        ef.design(support, **quality)


@pytest.mark.parametrize(("m", "weight"), [(2, 1e9), (4, 1e6)])
def test_a_steep_loss_in_an_ellipsoid_is_refused_with_advice(m, weight):
    with pytest.raises(ef.errors.ConvergenceError, match="box inside it"):
        ef.design(ef.Ball(m, 1.0), sensitivity=np.eye(m) + 0.2, loss_weight=weight)


def test_an_unbounded_set_without_a_loss_is_ill_posed():
    with pytest.raises(IllPosedError, match="infinite variance"):
        ef.design(cone(4))
