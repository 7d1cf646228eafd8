"""A million draws of every noise on the line against its cdf, from reproducible and from secure bits.

Every test fails by chance with a probability of at most 10⁻⁹.
"""

import numpy as np
import pytest
from scipy.stats import binom

from errorfloor.random import ReproducibleBits

COUNT = 10**6


@pytest.fixture(scope="module")
def draws(scalar_case):
    return scalar_case.noise.sample(COUNT, rng=ReproducibleBits(scalar_case.seed))


@pytest.fixture(scope="module")
def secure_draws(scalar_case):
    return scalar_case.noise.sample(COUNT, rng=None)


def test_draws_follow_the_cdf(scalar_case, draws, assert_fits):
    assert draws.shape == (COUNT,)
    assert_fits(draws, *scalar_case.table)


def test_secure_draws_follow_the_cdf(scalar_case, secure_draws, assert_fits):
    assert_fits(secure_draws, *scalar_case.table)


@pytest.mark.parametrize("share", [1e-2, 1e-3, 1e-4])
def test_tails_hold_their_share_of_draws(scalar_case, draws, share):
    points, cdf = scalar_case.table
    low, high = np.searchsorted(cdf, share), np.searchsorted(cdf, 1 - share) - 1
    for count, probability in (
        ((draws <= points[low]).sum(), cdf[low]),
        ((draws > points[high]).sum(), 1 - cdf[high]),
    ):
        assert binom.cdf(count, COUNT, probability) > 5e-10 / 2
        assert binom.sf(count - 1, COUNT, probability) > 5e-10 / 2


def test_draws_never_leave_the_support(scalar_case, draws, secure_draws):
    assert scalar_case.noise.support.contains(draws).all()
    assert scalar_case.noise.support.contains(secure_draws).all()


def test_the_seed_decides_the_draws_and_secure_draws_differ(scalar_case):
    one, two, other = (scalar_case.noise.sample(100, rng=seed) for seed in (1, 1, 2))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)
    assert not np.array_equal(scalar_case.noise.sample(100), scalar_case.noise.sample(100))


@pytest.mark.parametrize("size", [0, 1, (2, 3), (4, 0)])
def test_samples_have_the_shape_asked_for(scalar_case, size):
    assert scalar_case.noise.sample(size, rng=3).shape == (size if isinstance(size, tuple) else (size,))
