"""The two rejection samplers rest on log-concavity: what lies above the density really does."""

import math

import mpmath
import numpy as np
import pytest
from scipy.special import airy, jn_zeros, jv

from errorfloor.noise import Airy, BesselBall
from errorfloor.random import Bits

TURN = float(mpmath.airyaizero(1, derivative=1))


def bessel_zeros(m, count):
    """The zeros of J_{m/2−1}, in closed form on the line and in three dimensions."""
    k = np.arange(1, count + 1)
    return {1: (k - 0.5) * np.pi, 3: k * np.pi}.get(m, jn_zeros(m // 2 - 1, count) if m % 2 == 0 else None)


def profile(m, s):
    """u(r)/u(0) in the unit ball at s = r²."""
    order, z = m / 2 - 1, bessel_zeros(m, 1)[0] * np.sqrt(s)
    return math.gamma(m / 2) * (2 / z) ** order * jv(order, z)


@pytest.mark.parametrize("m", [1, 2, 3, 8])
def test_log_root_in_the_ball_bends_down_as_its_product_over_zeros_says(m):
    # u = Π(1 − s/s_k) with s_k = (j_k/j_1)², so (log u)″ = −Σ 1/(s_k − s)² < 0
    poles = (bessel_zeros(m, 400) / bessel_zeros(m, 1)[0]) ** 2
    for s in (0.1, 0.4, 0.7, 0.9):
        bend = mpmath.diff(
            lambda t: mpmath.log(mpmath.hyp0f1(mpmath.mpf(m) / 2, -(bessel_zeros(m, 1)[0] ** 2) * t / 4)), s, 2
        )
        assert float(bend) == pytest.approx(-(1 / (poles - s) ** 2).sum(), rel=1e-4)


@pytest.mark.parametrize("m", [1, 2, 3, 8])
def test_gaussian_through_any_tangent_point_lies_above_the_density_in_the_ball(m):
    s = np.linspace(1e-6, 1 - 1e-9, 2001)
    log_density = 2 * np.log(profile(m, s))
    for touch in (0.02, 0.2, 0.5, 0.8, 0.98):
        step = 1e-6
        slope = (np.log(profile(m, touch + step)) - np.log(profile(m, touch - step))) / step
        tangent = 2 * np.log(profile(m, touch)) + slope * (s - touch)
        assert slope < 0
        assert (log_density <= tangent + 1e-8).all()


class ScriptedBits(Bits):
    """Hands out normal vectors and uniform numbers from lists, one a request; every sign is positive."""

    def __init__(self, vectors, levels):
        self.vectors, self.levels = iter(vectors), iter(levels)

    def words(self, count):
        return np.zeros(count, dtype=np.uint64)

    def normals(self, rows, count):
        return np.reshape(next(self.vectors), (rows, count))

    def uniform(self, count):
        return np.full(count, next(self.levels))


@pytest.mark.parametrize("m", [2, 3, 8])
def test_ball_sampler_accepts_exactly_the_share_of_the_envelope_that_is_density(m):
    ball = BesselBall(m, 1.7)
    touch = float(np.trace(ball.covariance)) / 1.7**2

    def log_root(t):
        return mpmath.log(mpmath.hyp0f1(mpmath.mpf(m) / 2, -(bessel_zeros(m, 1)[0] ** 2) * t / 4))

    slope = 2 * float(mpmath.diff(log_root, touch))
    deviation = 1.7 / math.sqrt(-2 * slope)
    for radius in (0.3, 0.8, 1.3, 1.6):
        proposal = np.eye(m)[0] * radius / deviation
        s = (radius / 1.7) ** 2
        share = math.exp(2 * float(log_root(s) - log_root(touch)) - slope * (s - touch))
        for level, kept in ((share * (1 - 1e-9), True), (share * (1 + 1e-9), False)):
            # after the proposal in question comes one at the centre that is always accepted
            bits = ScriptedBits([proposal, np.zeros(m)], [level, 2.0**-53])
            drawn = np.linalg.norm(np.reshape(ball.sample(1, rng=bits), -1))
            assert drawn == pytest.approx(radius if kept else 0.0, rel=1e-9)


@pytest.mark.parametrize("m", [2, 3, 5, 8, 20, 50])
def test_ball_sampler_accepts_two_proposals_in_five_or_more(m):
    # mean acceptance = ∫density / ∫envelope, with the tangent at the mean square radius
    ball = BesselBall(m, 1.0)
    s = float(np.trace(ball.covariance))
    w = np.zeros(m)
    w[0] = math.sqrt(s)
    point = w if m > 1 else w[0]
    slope = float(np.ravel(ball.score(point))[0]) / (2 * w[0])  # of log γ in s
    log_envelope = float(ball.logpdf(point)) - slope * s + m / 2 * math.log(math.pi / -slope)
    assert 0.4 < math.exp(-log_envelope) < 1


def test_airy_quotient_falls_beyond_the_turn():
    # y = Ai′/Ai solves y′ = x − y²; it starts at 0 with y′ = a₁′ < 0 and never turns back
    x = TURN + np.linspace(0, 12, 4001)
    y = airy(x)[1] / airy(x)[0]
    assert y[0] == pytest.approx(0, abs=1e-15)
    assert (x - y**2 < 0).all()
    assert (np.diff(y) < 0).all()


@pytest.mark.parametrize("touch", [0.3, 1.5, 4.0])
def test_lesser_of_peak_and_tangent_lies_above_the_airy_density(touch):
    t = np.linspace(0, 10, 4001)
    log_density = 2 * np.log(airy(t + TURN)[0] / airy(TURN)[0])
    at_touch = airy(touch + TURN)
    tangent = 2 * math.log(at_touch[0] / airy(TURN)[0]) + 2 * at_touch[1] / at_touch[0] * (t - touch)
    assert (log_density <= np.minimum(0, tangent) + 1e-12).all()


@pytest.mark.parametrize("place", [0.9, 0.5, 0.1, 0.001])
@pytest.mark.parametrize("flat", [True, False])
def test_airy_sampler_proposes_from_the_envelope_and_accepts_the_share_that_is_density(flat, place):
    touch = 1.5
    at_touch = airy(touch + TURN)
    height, slope = 2 * math.log(at_touch[0] / airy(TURN)[0]), -2 * at_touch[1] / at_touch[0]
    corner = touch + height / slope
    flat_share = corner / (corner + 1 / slope)
    choice = flat_share * (1 - 1e-9 if flat else 1 + 1e-9)
    t = corner * place if flat else corner - math.log(place) / slope
    envelope = 0.0 if flat else -slope * (t - corner)
    share = math.exp(2 * math.log(airy(t + TURN)[0] / airy(TURN)[0]) - envelope)
    for level, kept in ((share * (1 - 1e-9), True), (share * (1 + 1e-9), False)):
        # the round after it proposes a quarter of the corner and is always accepted
        bits = ScriptedBits([], [choice, place, level, 0.001, 0.25, 2.0**-53])
        assert float(Airy(2.0).sample(1, rng=bits)[0]) == pytest.approx(2 * (t if kept else corner / 4), rel=1e-12)


def test_airy_density_falls_from_its_peak():
    noise = Airy(2.0)
    assert float(noise.pdf(0.0)) == pytest.approx(-1 / (2 * 2.0 * TURN), rel=1e-12)
    assert (np.diff(noise.pdf(np.linspace(0, 20, 500))) < 0).all()
