"""The adversary's game: the table of its value, and what is stated from it."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from scripts.value_table import candidate, certify, one_answer

from errorfloor.errors import InputError
from errorfloor.floors import floor
from errorfloor.floors.adversary import best_success
from errorfloor.floors.adversary.noises import counted_apart, counted_as
from errorfloor.floors.adversary.table import ValueTable, multiplier, value_table
from errorfloor.floors.adversary.value import mistaken
from errorfloor.noise import Airy, Gaussian, Laplace, LinearImage, Maxwell, Product, RaisedCosine, Translation
from repeated import SOAK, rounds
from value_game import FILE, Table, play


def sine(charge):
    return 0.5 * (1 + math.sin(min(0.5 * math.sqrt(charge), math.pi / 2)))


@pytest.mark.parametrize("charge", [1e-3, 0.3, 4.0, 12.0, 30.0])
def test_multiplier_agrees_with_the_integral_over_answers(charge):
    shift = math.sqrt(charge) / math.pi
    t, w = np.polynomial.legendre.leggauss(300)
    y, weight = shift / 2 + (1 - shift / 2) * t, (1 - shift / 2) * w
    still, moved = np.cos(np.pi * y / 2), np.cos(np.pi * (y - shift) / 2)
    for k in (0.0, 0.3, 2.0, 7.0):
        expected = (weight * still * moved * np.cos(2 * k * np.log(moved / still))).sum()
        assert multiplier(np.array([charge]), np.array([k]))[0, 0] == pytest.approx(expected, abs=2e-6)


def test_multiplier_is_as_exact_as_it_says():
    rng = np.random.default_rng(5)
    with mpmath.workdps(40):
        for _ in range(rounds(200)):
            charge, k = float(math.exp(rng.uniform(-18, 3.6))), float(rng.choice([0.0, math.exp(rng.uniform(-2, 5.3))]))
            angle, u = mpmath.sqrt(charge) / 2, 2 * mpmath.mpf(k)
            if k:
                exact = mpmath.cos(angle) * mpmath.sinh(u * (mpmath.pi - angle))
                exact += u * mpmath.sin(angle) * mpmath.cosh(u * (mpmath.pi - angle))
                exact /= mpmath.sinh(u * mpmath.pi)
            else:
                exact = (1 - angle / mpmath.pi) * mpmath.cos(angle) + mpmath.sin(angle) / mpmath.pi
            assert abs(multiplier(np.array([charge]), np.array([k]))[0, 0] - exact) < 2.0**-48


def test_the_certificate_holds():
    found = certify(value_table()) if SOAK > 1 else certify(value_table(), every=130, first=130)
    assert found.holds
    assert found.rows > 10_000


@pytest.mark.parametrize("charge", [0.5, 2.0])
def test_a_table_that_promises_too_little_is_not_certified(charge):
    table = value_table()
    level = int(np.searchsorted(table.levels, charge))
    shorter = ValueTable(table.levels * 1.03125, table.coefficients, table.half_period)
    assert not certify(shorter, every=len(table.levels), first=level).holds
    lower = table.coefficients.copy()
    lower[level, 0] += 1e-4
    assert not certify(ValueTable(table.levels, lower, table.half_period), every=1000, first=level).holds


def test_the_program_makes_the_table_that_is_shipped():
    made = candidate()
    assert np.array_equal(made.levels, value_table().levels)
    assert np.abs(made.coefficients - value_table().coefficients).max() < 1e-9
    assert ValueTable.from_bytes(made.to_bytes()).coefficients.tolist() == made.coefficients.tolist()
    assert FILE.stat().st_size < 260_000


def test_no_answer_beats_the_table_by_another_route():
    table, rng = Table(FILE.read_bytes()), np.random.default_rng(7)
    slack = []
    for _ in range(rounds(60)):
        charge = math.exp(rng.uniform(math.log(1e-3), math.log(22.4)))
        cost = charge * math.exp(rng.uniform(math.log(1e-4), 0))
        x = rng.uniform(0, 4 + 4 * math.sqrt(charge)) if rng.random() < 0.5 else rng.uniform(0, 4) * math.sqrt(charge)
        prior = 1 / (1 + math.exp(x))
        before, after = float(table.win(charge, np.array(prior))), table.after(charge, cost, prior)
        assert after <= before + 1e-13
        if before < 1:
            slack.append((before - after) / cost / math.sqrt(prior * (1 - prior)))
    assert 0 < min(slack) < 0.01  # and the table is not far above


def test_the_best_policy_comes_close_and_never_beats_the_table():
    games = rounds(20_000)
    rng = np.random.default_rng(11)
    noise = RaisedCosine(-1.0, 1.0)
    won = play(Table(FILE.read_bytes()), 2.0, games, rng, lambda count, bits: noise.sample(count, rng=bits))
    off = 6.1 * 0.5 / math.sqrt(games)  # false alarms at most once in 10⁹
    assert best_success(2.0) - 0.01 - off < won < best_success(2.0) + off


def test_table_is_close_to_the_estimates_of_the_value():
    estimates = {0.25: 0.600, 0.5: 0.640, 1: 0.694, 1.5: 0.733, 2: 0.764, 3: 0.8105, 4: 0.845, 6: 0.893, 8: 0.925}
    for charge, value in estimates.items():
        assert value - 0.001 < best_success(float(charge)) < value + 0.004


def test_allowance_over_that_of_the_sine():
    charges = np.linspace(0.01, 12, 24_001)
    for success, ratio in ((0.6, 1.44), (0.7, 1.53), (0.8, 1.62), (0.9, 1.81)):
        exact = charges[best_success(charges) <= success][-1]
        assert exact / (2 * math.asin(2 * success - 1)) ** 2 > ratio


def test_normal_shift_is_not_beaten_and_is_not_a_bound():
    """Many small answers are a normal shift; the best adversary beats its success by about 0.004."""
    for charge in (0.5, 2.0, 6.0):
        normal = 0.5 * (1 + math.erf(0.5 * math.sqrt(charge) / math.sqrt(2)))
        assert normal + 0.002 < best_success(charge) < normal + 0.009


def test_one_answer_stays_below_the_bound():
    for odds in (1.0, 3.0, 20.0):
        for charge in (0.01, 0.4, 3.0, 15.0):
            won = 1 - 0.5 / math.cosh(math.log(odds) / 2) * one_answer(charge, np.array([math.log(odds)]))[0]
            assert won <= best_success(charge, odds=odds) + 1e-12


@pytest.mark.parametrize("odds", [1.0, 4.0, 20.0])
def test_bound_for_mixed_noises_agrees_with_a_sum_over_posteriors(odds):
    """H as an experiment with many outcomes: the second differences of its error are the law of its posterior."""
    table, prior = Table(FILE.read_bytes()), odds / (1 + odds)
    for charge, other in ((2.0, 0.05), (1.0, 0.4)):
        x = np.linspace(-18, 18, 6001)
        c = 1 / (1 + np.exp(-x))  # thresholds of posteriors at even prior
        keep = math.cos(0.5 * math.sqrt(other)) ** 2
        error = 0.5 * (1 - np.sqrt(1 - 4 * c * (1 - c) * keep))  # at prior c, of H
        # the error at prior 1 − c is the mean of min((1−c)q, c p) over outcomes: its bends are the outcomes
        slope = np.diff(error) / np.diff(c)
        mass = -np.diff(slope)  # outcomes with posterior 1 − c at even prior have mass that many times ½
        posterior = 1 - c[1:-1]
        odd = posterior / (1 - posterior) * odds
        weight = mass * (prior * posterior + (1 - prior) * (1 - posterior))
        won = (weight * table.win(charge, odd / (1 + odd))).sum() + 1 - weight.sum()
        assert best_success(charge, other, odds=odds) == pytest.approx(won, abs=3e-4)


def test_bound_rises_with_every_charge_and_starts_at_the_prior():
    charges = np.linspace(0, 25, 400)
    for odds in (0.05, 0.5, 1.0, 7.0, 20.0):
        prior = max(odds, 1) / (1 + odds)
        assert best_success(0.0, odds=odds) == pytest.approx(prior, abs=1e-12)
        assert (np.diff(best_success(charges, odds=odds)) >= 0).all()
        for information in (0.0, 0.3, 5.0):
            mixed = best_success(information, charges[:60] / 5, odds=odds)
            assert (np.diff(mixed) >= -1e-11).all()
            assert mixed[0] >= best_success(information, odds=odds) - 1e-5
        assert best_success(2.0, 0.1, odds=odds) == pytest.approx(best_success(2.0, 0.1, odds=1 / odds), abs=1e-12)


def test_stated_bound_is_never_above_the_sine():
    for information in (0.0, 0.01, 0.4, 3.0, 9.0, 30.0):
        for other in (0.0, 1e-6, 0.2, 4.0):
            assert best_success(information, other) <= sine(information + other) + 1e-15
    assert best_success(0.0, 0.7) == pytest.approx(sine(0.7), abs=1e-15)
    assert best_success(30.0) == 1.0


def test_check_figures_of_mixed_noises():
    for other, expected in ((0.0, 0.7658), (0.05, 0.7739), (0.2, 0.7910)):
        assert best_success(2.0, other) == pytest.approx(expected, abs=5e-4)


def test_a_decided_outcome_beside_raised_cosine_answers_stays_below_the_bound():
    """An answer of another noise that is certain with probability p, and tells nothing else, has affinity 1 − p."""
    for probability in (0.01, 0.1):
        charge = 4 * math.acos(1 - probability) ** 2
        for information in (0.5, 2.0):
            won = probability + (1 - probability) * best_success(information)
            assert won <= best_success(information, charge)


@pytest.mark.parametrize("odds", [0.0, -1.0, 21.0, math.nan])
def test_odds_beyond_twenty_are_refused(odds):
    with pytest.raises(InputError, match="odds must lie between 1 : 20 and 20 : 1"):
        best_success(1.0, odds=odds)


def test_charges_below_zero_are_refused():
    with pytest.raises(InputError, match="must not be negative"):
        best_success(-1.0)
    with pytest.raises(InputError, match="not a value table"):
        ValueTable.from_bytes(b"errorfloor")


def excess(noise, factor, table, *, total, charge):
    """Try one answer against the table: by how much its success, charged factor·I·d², exceeds W, at the worst odds.

    The answer is moved by d with I·d² = ``charge``, ``total`` is what may be spent in all. Positive: it does not fit.
    """
    moved = math.sqrt(charge / float(noise.information[0, 0]))
    low, high = noise.icdf(1e-12), noise.icdf(1 - 1e-12)
    y = np.linspace(float(low), float(high) + moved, 6001)
    with np.errstate(divide="ignore", invalid="ignore"):
        still, shifted = noise.logpdf(y), noise.logpdf(y - moved)
    both = np.isfinite(still) & np.isfinite(shifted)
    weight = np.exp(0.5 * (still[both] + shifted[both])) * (y[1] - y[0])
    ratio = (shifted - still)[both]
    x = np.linspace(-14.0, 14.0, 281)
    far = np.linspace(0, table.half_period, 2001)
    left = curve_of(table, total - factor * charge, far)
    after = np.interp(np.abs(x[:, None] + ratio), far, left, right=0.0) @ weight
    before = np.interp(np.abs(x), far, curve_of(table, total, far))
    return float(((before - after) / (2 * np.cosh(x / 2))).max())


def curve_of(table, charge, x):
    return (np.cos(np.outer(x, table.frequencies)) @ table.curve(charge)).clip(min=0)


def worst(noise, factor):
    cases = [(total, part) for total in (0.3, 2.0, 8.0) for part in (0.03, 0.3, 1.0)]
    return max(excess(noise, factor, value_table(), total=a, charge=a * part / factor) for a, part in cases)


def test_noises_against_the_table():
    assert worst(RaisedCosine(-1.0, 1.0), 1.0) < 1e-6
    assert worst(Gaussian(1.0), 1.0) < 1e-5
    assert worst(Airy(1.0), 1.0) > 1e-3
    assert worst(Airy(1.0), 1.1) < 1e-6
    assert worst(Maxwell(1.0), 1.35) > 1e-4
    assert worst(Maxwell(1.0), 1.6) < 1e-6
    assert worst(Laplace(1.0), 1.0) > 1e-3


def test_only_noises_with_a_proof_are_counted_apart():
    cosine = RaisedCosine(-1.0, 1.0)
    for noise in (cosine, Gaussian(2.0), Product((cosine, Gaussian(1.0))), Translation(cosine, [3.0])):
        assert counted_apart(noise)
    for noise in (
        Airy(1.0),
        Maxwell(1.0),
        Laplace(1.0),
        Product((cosine, Laplace(1.0))),
        Translation(Maxwell(1.0), [1.0]),
    ):
        assert not counted_apart(noise)


def quantile_density(noise, w):
    """Give u, φ(u) and φ′(u) at points of the noise."""
    return noise.cdf(w), noise.pdf(w), noise.score(w)


@pytest.mark.parametrize(("noise", "low", "high"), [(Maxwell(1.0), 0.09, 4.5), (Airy(1.0), -5.0, 5.0)])
def test_maxwell_and_airy_noise_are_dominated_by_raised_cosines(noise, low, high):
    """Between nodes φ is below its tangent and the raised cosine's above its chord."""
    cosine, factor = RaisedCosine(-1.0, 1.0), counted_as(noise)
    stretch = math.sqrt(factor * float(noise.information[0, 0]) / float(cosine.information[0, 0]))
    u, height, slope = quantile_density(noise, np.linspace(low, high, 20_001))
    most = stretch * cosine.pdf(cosine.icdf(u))
    assert 0 < u[0] < 2.1e-4  # the proof has the ends
    assert u[-1] > 1 - 2.1e-4
    assert (height <= most).all()
    assert (height[:-1] + slope[:-1] * np.diff(u) <= most[1:]).all()
    assert (height / most).max() > 0.99  # the factor is no larger than it has to be


def test_noises_that_are_dominated_are_counted_at_more_than_their_charge():
    assert counted_as(Translation(Maxwell(2.0), [1.0])) == counted_as(Maxwell(1.0)) == 1.56
    assert counted_as(LinearImage(Maxwell(1.0), [[-1.0]])) == 1.56
    assert counted_as(Product((RaisedCosine(0.0, 1.0), Airy(1.0)))) == 1.76
    assert counted_as(Product((Maxwell(1.0), Laplace(1.0)))) is None


@pytest.mark.parametrize("noise", [Maxwell(2.0), Airy(0.5)])
def test_no_test_of_maxwell_or_airy_noise_beats_the_raised_cosine(noise):
    t = noise.icdf(np.geomspace(1e-9, 0.5, 400))
    t = np.concatenate([t, noise.icdf(1 - np.geomspace(1e-9, 0.5, 400))])
    for moved in (0.01, 0.1, 0.5, 1.0, 2.0):
        charge = counted_as(noise) * float(noise.information[0, 0]) * moved**2
        for x in np.linspace(-8, 8, 65):
            right = math.exp(x / 2) * noise.cdf(t - moved) + math.exp(-x / 2) * (1 - noise.cdf(t))
            left = math.exp(x / 2) * (1 - noise.cdf(t + moved)) + math.exp(-x / 2) * noise.cdf(t)
            least = float(one_answer(charge, np.array([x]))[0])
            assert min(right.min(), left.min()) >= least - 1e-12


def test_mistakes_at_many_odds_agree_with_the_bound_at_each():
    for charge, other in ((2.0, 0.0), (1.0, 0.02), (0.0, 0.5)):
        for odds in (1.0, 2.0, 9.0, 19.0):
            one, two = np.array([odds / (1 + odds)]), np.array([1 / (1 + odds)])
            wrong = 1 - best_success(charge, other, odds=odds)
            assert wrong - 2e-4 < mistaken(charge, other, one, two)[0] <= wrong + 1e-9
    rare = mistaken(2.0, 0.01, np.array([1.0, 1.0, 0.0]), np.array([1e-6, 1e-12, 0.0]))
    assert (rare <= [1e-6, 1e-12, 0.0]).all()
    assert rare[0] > 0.5e-6


def test_floor_tells_values_apart_at_any_odds():
    apart = floor(Gaussian(1.0), [[1.0]])
    found = replace(apart, counted_apart=False, raised_cosine=None)
    assert found.distinguish(0.0, odds=3.0) == pytest.approx(0.75)
    told = [found.distinguish(1.0, odds=odds) for odds in (1.0, 2.0, 5.0, 20.0)]
    assert told == sorted(told)
    assert found.distinguish(1.0, odds=5.0) == pytest.approx(found.distinguish(1.0, odds=0.2))
    assert apart.distinguish(1.0) == best_success(1.0) < found.distinguish(1.0)
    assert apart.after(4).distinguish(1.0) == best_success(4.0)
    with pytest.raises(InputError, match="odds must lie"):
        found.distinguish(1.0, odds=30.0)
