"""Information confirmed from draws, without averaging the squared score, whose variance may be infinite.

For a density γ with finite information I and every bounded, piecewise differentiable ψ, E ψ′ = −E ψ·(log γ)′, so
(E ψ′)² / E ψ² ≤ I by Cauchy and Schwarz, with equality approached as ψ approaches the score. In several dimensions
a field ψ has (E div ψ)² / E|ψ|² ≤ Tr I. Averages over draws are compared with quadrature by Bernstein's inequality,
so that each test fails by chance with a probability of at most 10⁻⁹.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import jv

from errorfloor.noise import Laplace
from errorfloor.random import ReproducibleBits

COUNT = 10**6
LOG_ODDS = math.log(4 / 1e-9)  # two averages a test, either side


def allowance(variance, bound, count=COUNT):
    """How far the average of ``count`` draws strays from its expectation, by Bernstein's inequality."""
    linear = bound * LOG_ODDS / (3 * count)
    return linear + math.sqrt(linear**2 + 2 * variance * LOG_ODDS / count)


@dataclass(frozen=True)
class ClippedScore:
    """ψ = the score held between −c and c; the score falls all along the line, for every density is log-concave."""

    case: object
    c: float

    def score(self, w):
        return 2 * self.case.slope(w) / self.case.root(w)

    @property
    def ends(self):
        """Where the clipping starts, as far as it does."""
        low, high = self.case.cuts[0], self.case.cuts[-1]
        inset = 1e-9 * (high - low)
        found = []
        for level in (self.c, -self.c):
            a, b = (self.score(end) - level for end in (low + inset, high - inset))
            if a > 0 > b:
                found.append(brentq(lambda w, y=level: self.score(w) - y, low + inset, high - inset, xtol=1e-15))
        return found

    def value(self, w):
        return np.clip(self.score(w), -self.c, self.c)

    def slope(self, w):
        score = self.score(w)
        return np.where(np.abs(score) < self.c, 2 * self.case.curvature(w) - score**2 / 2, 0.0)

    def expect(self, function):
        inset = 1e-12 * (self.case.cuts[-1] - self.case.cuts[0])
        ends = [self.case.cuts[0] + inset, *sorted({*self.case.cuts[1:-1], *self.ends}), self.case.cuts[-1] - inset]
        pieces = pairwise(ends)
        return sum(quad(lambda w: float(function(w)) * self.case.density(w), a, b, epsrel=1e-9)[0] for a, b in pieces)

    @property
    def steepest(self):
        """A bound on |ψ′|."""
        w = self.case.table[0][1:-1]
        near = [end + side * 1e-9 for end in self.ends for side in (-1, 1)]
        return 1.01 * np.abs(self.slope(np.concatenate([w, near]))).max()

    @property
    def ratio(self):
        return self.expect(self.slope) ** 2 / self.expect(lambda w: self.value(w) ** 2)


def test_ratio_of_clipped_scores_rises_to_the_information(smooth_case):
    root = math.sqrt(float(smooth_case.noise.information[0, 0]))
    ratios = [ClippedScore(smooth_case, level * root).ratio / root**2 for level in (0.5, 1, 2, 4, 16, 64)]
    assert ratios == sorted(ratios)
    assert 0.99 < ratios[-1] <= 1 + 1e-9


def test_sampled_ratio_of_a_clipped_score_is_the_expected_one(smooth_case):
    information = float(smooth_case.noise.information[0, 0])
    psi = ClippedScore(smooth_case, 4 * math.sqrt(information))
    draws = smooth_case.noise.sample(COUNT, rng=ReproducibleBits(smooth_case.seed + 1))
    slope, square = psi.slope(draws).mean(), (psi.value(draws) ** 2).mean()
    mean_slope, mean_square = psi.expect(psi.slope), psi.expect(lambda w: psi.value(w) ** 2)
    slope_slack = allowance(psi.expect(lambda w: (psi.slope(w) - mean_slope) ** 2), psi.steepest)
    square_slack = allowance(psi.expect(lambda w: (psi.value(w) ** 2 - mean_square) ** 2), psi.c**2)
    assert abs(slope - mean_slope) <= slope_slack
    assert abs(square - mean_square) <= square_slack
    least = (abs(slope) - slope_slack) ** 2 / (square + square_slack)
    assert 0.85 * information < least <= information


def test_ramps_across_the_kink_show_the_information_of_laplace_noise():
    # ψ = −clip(w/ε): E ψ′ = −(1 − e^{−ε/b})/ε, and the best ε is a small one, since the score is a step
    noise, b = Laplace(0.8), 0.8

    def ramp(width):
        square = 2 * quad(lambda w: min(w / width, 1) ** 2 * math.exp(-w / b) / (2 * b), 0, 60 * b, points=[width])[0]
        return -(1 - math.exp(-width / b)) / width, square

    slopes, squares = np.array([ramp(width) for width in (0.8, 0.4, 0.1, 0.01, 0.004)]).T
    ratios = slopes**2 / squares * b**2
    assert ratios.tolist() == sorted(ratios)
    assert 0.99 < ratios[-1] <= 1 == float(noise.information[0, 0]) * b**2
    width = 0.1
    draws = noise.sample(COUNT, rng=ReproducibleBits(5))
    slope, square = ramp(width)
    sampled_slope = -(np.abs(draws) < width).mean() / width
    sampled_square = (np.clip(draws / width, -1, 1) ** 2).mean()
    slope_slack, square_slack = allowance(-slope / width, 1 / width), allowance(square, 1)
    assert abs(sampled_slope - slope) <= slope_slack
    assert abs(sampled_square - square) <= square_slack
    least = (abs(sampled_slope) - slope_slack) ** 2 / (sampled_square + square_slack)
    assert 0.85 < least * b**2 <= 1


def test_fields_of_clipped_scores_show_the_information_along_a_direction(small_affine_case):
    # Ψ(w) = Σ bᵢψᵢ(zᵢ) with b = A⁻¹v has (E ∂_vΨ)²/E Ψ² ≤ vᵀI_w v, and ∂_vΨ = Σ bᵢ²ψᵢ′(zᵢ)
    case, direction = small_affine_case, np.ones(small_affine_case.dimension)
    b = np.linalg.solve(case.matrix, direction)
    information = float(direction @ case.noise.information @ direction)
    fields = [ClippedScore(factor, 4 * math.sqrt(factor.information)) for factor in case.factors]
    mean_slope = sum(k**2 * f.expect(f.slope) for k, f in zip(b, fields, strict=True))
    centre = sum(k * f.expect(f.value) for k, f in zip(b, fields, strict=True))
    mean_square = centre**2 + sum(
        k**2 * (f.expect(lambda w, f=f: f.value(w) ** 2) - f.expect(f.value) ** 2)
        for k, f in zip(b, fields, strict=True)
    )
    variance = sum(k**4 * f.expect(lambda w, f=f: f.slope(w) ** 2) for k, f in zip(b, fields, strict=True))
    steepest = sum(k**2 * f.steepest for k, f in zip(b, fields, strict=True))
    highest = sum(abs(k) * f.c for k, f in zip(b, fields, strict=True)) ** 2
    z = case.standard(case.noise.sample(COUNT, rng=ReproducibleBits(case.seed + 1)))
    slope = sum(k**2 * f.slope(z[:, i]) for i, (k, f) in enumerate(zip(b, fields, strict=True))).mean()
    square = (sum(k * f.value(z[:, i]) for i, (k, f) in enumerate(zip(b, fields, strict=True))) ** 2).mean()
    slope_slack, square_slack = allowance(variance, steepest), allowance(highest * mean_square, highest)
    assert abs(slope - mean_slope) <= slope_slack
    assert abs(square - mean_square) <= square_slack
    least = (abs(slope) - slope_slack) ** 2 / (square + square_slack)
    assert 0.8 * information < least <= information


@dataclass(frozen=True)
class ClippedRadialScore:
    """The field ψ = g(r)·w/r, g the radial score −2(j/R)J_{ν+1}/J_ν held above −c."""

    case: object
    c: float

    def score(self, x):
        order, j = self.case.dimension / 2 - 1, self.case.zero
        return -2 * j / self.case.radius * jv(order + 1, j * x) / jv(order, j * x)

    @property
    def end(self):
        """The value of r/R at which the clipping starts."""
        return brentq(lambda x: self.score(x) + self.c, 1e-9, 1 - 1e-12, xtol=1e-15)

    def length(self, x):
        return np.maximum(self.score(x), -self.c)

    def divergence(self, x):
        """2Δu/u − g²/2 before the clipping, (m − 1)g/r beyond it."""
        inside = -2 * (self.case.zero / self.case.radius) ** 2 - self.score(x) ** 2 / 2
        return np.where(x < self.end, inside, -(self.case.dimension - 1) * self.c / (x * self.case.radius))

    def expect(self, function):
        pieces = ((1e-12, self.end), (self.end, 1 - 1e-12))
        weight = self.case.radial_density
        return sum(quad(lambda x: float(function(x)) * weight(x), a, b, epsrel=1e-9)[0] for a, b in pieces)


def test_radial_fields_show_the_information_in_a_ball(ball_case):
    trace = float(np.trace(ball_case.matrix.T @ ball_case.noise.information @ ball_case.matrix))
    ratios = []
    for level in (1, 2, 4, 64):
        psi = ClippedRadialScore(ball_case, level * math.sqrt(trace))
        ratios.append(psi.expect(psi.divergence) ** 2 / psi.expect(lambda x, psi=psi: psi.length(x) ** 2) / trace)
    assert ratios == sorted(ratios)
    assert 0.99 < ratios[-1] <= 1 + 1e-9


def test_sampled_ratio_of_a_radial_field_is_the_expected_one(ball_case):
    trace = float(np.trace(ball_case.matrix.T @ ball_case.noise.information @ ball_case.matrix))
    psi, count = ClippedRadialScore(ball_case, 4 * math.sqrt(trace)), COUNT // 2
    z = ball_case.standard(ball_case.noise.sample(count, rng=ReproducibleBits(ball_case.seed + 1)))
    x = np.minimum(np.linalg.norm(z, axis=1) / ball_case.radius, 1 - 1e-12)
    divergence, square = psi.divergence(x).mean(), (psi.length(x) ** 2).mean()
    mean_divergence, mean_square = psi.expect(psi.divergence), psi.expect(lambda r: psi.length(r) ** 2)
    steepest = 1.01 * np.abs(psi.divergence(np.linspace(1e-6, 1 - 1e-9, 10**5))).max()
    divergence_slack = allowance(psi.expect(lambda r: (psi.divergence(r) - mean_divergence) ** 2), steepest, count)
    square_slack = allowance(psi.expect(lambda r: (psi.length(r) ** 2 - mean_square) ** 2), psi.c**2, count)
    assert abs(divergence - mean_divergence) <= divergence_slack
    assert abs(square - mean_square) <= square_slack
    least = (abs(divergence) - divergence_slack) ** 2 / (square + square_slack)
    assert 0.85 * trace < least <= trace
