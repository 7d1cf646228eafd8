"""A million draws of every noise in several dimensions from reproducible bits, and a fifth of it from secure ones.

Every test fails by chance with a probability of at most 10⁻⁹.
"""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import beta

from errorfloor.random import ReproducibleBits

COUNT = 10**6
UNIT = np.linspace(0, 1, 2001)


@pytest.fixture(scope="module", params=["reproducible", "secure"])
def secure(request):
    return request.param == "secure"


def draw(case, secure):
    count, rng = (COUNT // 5, None) if secure else (COUNT, ReproducibleBits(case.seed))
    drawn = case.noise.sample(count, rng=rng)
    assert drawn.shape == ((count,) if case.dimension == 1 else (count, case.dimension))
    assert case.noise.support.contains(drawn).all()
    return case.standard(drawn)


def test_coordinates_follow_their_cdfs_and_are_independent(affine_case, secure, assert_fits):
    z = draw(affine_case, secure)
    ranks = []
    for i, factor in enumerate(affine_case.factors):
        assert_fits(z[:, i], *factor.table)
        ranks.append(np.interp(z[: COUNT // 4, i], *factor.table))
    # ranks of independent coordinates are uniform, and so are their sums on the circle
    for one, two in pairwise(ranks):
        assert_fits((one + two) % 1, UNIT, UNIT)
    assert_fits(np.sum(ranks, axis=0) % 1, UNIT, UNIT)


def test_radius_and_direction_follow_their_cdfs_and_are_independent(ball_case, secure, assert_fits):
    z, m = draw(ball_case, secure), ball_case.dimension
    radius = np.linalg.norm(z, axis=1)
    assert_fits(radius / ball_case.radius, *ball_case.table)
    assert (radius < ball_case.radius * (1 + 1e-12)).all()
    median = np.interp(0.5, ball_case.table[1], ball_case.table[0]) * ball_case.radius
    axis = np.ones(m) / math.sqrt(m)
    points = np.linspace(-1, 1, 2001)
    # a direction on the line is a sign; a coordinate of a uniform direction, moved to [0, 1], has a beta law
    cdf = np.where(points < 1, 0.5, 1.0) if m == 1 else beta.cdf((1 + points) / 2, (m - 1) / 2, (m - 1) / 2)
    for half in (radius <= median, radius > median):
        direction = z[half] / radius[half, None]
        for cosine in (*direction.T, direction @ axis):
            assert_fits(np.round(cosine, 12) if m == 1 else cosine, points, cdf)
