"""Noise that is bounded at every step."""

import math

import numpy as np
import pytest

from errorfloor.dynamics import LinearSystem
from errorfloor.dynamics.inscribed import Whitened, inscribed, least_cost
from errorfloor.errors import IllPosedError, InputError, SupportError
from errorfloor.support import Ball, Box, Interval, Polygon
from trajectory_systems import VEHICLE, random_system, random_weight, stacked


def most(plan, count, seed=1, batch=100_000):
    """The largest |w[k]| over many paths, coordinate by coordinate, found in batches."""
    system = plan.system
    worst = np.zeros(system.outputs)
    for part in range(count // batch):
        path = plan.path(plan.start.draw(batch, seed + part))
        worst = np.maximum(worst, np.abs(path).max(axis=(0, 1)))
    return worst


@pytest.mark.parametrize("method", ["best", "product"])
def test_no_step_of_a_million_paths_exceeds_the_bound(method):
    plan = LinearSystem(*VEHICLE, 10).protect(bound=2.0, method=method)
    worst = most(plan, 1_000_000)
    assert worst[0] <= 2.0
    assert worst[0] > 1.8  # the room is used


def test_bounds_of_many_systems_hold_and_their_gaps_are_proved():
    rng = np.random.default_rng(1)
    for seed in range(12):
        system = random_system(np.random.default_rng([12, seed]), most=6)
        half = rng.uniform(0.5, 2.0, size=system.outputs)
        plan = system.protect(bound=half, protect=random_weight(rng, system.dimension), method="product")
        paths = plan.draws(5000, rng=seed)
        assert (np.abs(paths).max(axis=(0, 1)) <= half).all()
        assert 0 <= plan.certificate.gap < 1
        assert (paths**2).sum(axis=(1, 2)).mean() == pytest.approx(plan.expected_loss, rel=0.1)


def test_one_state_is_an_interval_with_the_raised_cosine():
    plan = LinearSystem([[1.5]], [[2.0]], 4).protect(bound=3.0)
    half = 3.0 / (2.0 * 1.5**4)
    assert plan.floor.worst_entry == pytest.approx(half / math.pi, rel=1e-6)
    assert plan.certificate.gap == 0


def test_information_is_at_least_that_of_every_larger_set_and_at_most_that_of_every_smaller_one():
    vehicle = LinearSystem(*VEHICLE, 10)
    plan = vehicle.protect(bound=1.0)
    wider = vehicle.protect(bound=2.0)
    assert wider.certificate.value == pytest.approx(plan.certificate.value / 4, rel=1e-3)
    rows = np.unique(np.vstack([stacked(vehicle), -stacked(vehicle)]), axis=0)
    # a box around the set: |α₀| ≤ 1 and |α₁| ≤ 1/5, as |α₀ + 10α₁| ≤ 1
    assert plan.certificate.lower_bound >= math.pi**2 * (1 + 25) * (1 - 1e-3)
    inner = inscribed(rows, np.eye(2), method="product")
    assert inner.certificate.value >= plan.certificate.lower_bound * (1 - 1e-9)


def test_lower_bound_by_chords_holds_for_sets_whose_best_noise_is_known():
    square = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])
    turned = square @ np.array([[0.6, 0.8], [-0.8, 0.6]])
    for rows in (square, turned):
        assert least_cost(Whitened.of(rows)) == pytest.approx(2 * math.pi**2, rel=1e-4)
        assert least_cost(Whitened.of(rows)) <= 2 * math.pi**2
    angles = np.linspace(0, 2 * math.pi, 401)[:-1]
    disc = np.column_stack([np.cos(angles), np.sin(angles)])
    exact = 4 * 2.404825557695773**2
    assert exact * (1 - 1e-3) <= least_cost(Whitened.of(disc)) <= exact
    assert inscribed(disc, np.eye(2), method="best").certificate.value == pytest.approx(exact, rel=1e-6)
    equilateral = np.array([[0.0, -1.0], [math.sqrt(3) / 2, 0.5], [-math.sqrt(3) / 2, 0.5]])  # inradius 1
    exact = 4 * 4 * math.pi**2 / 9  # four times λ₁ = 16π²/(3a²) of a triangle with the side a = 2√3
    assert least_cost(Whitened.of(equilateral)) <= exact
    assert inscribed(equilateral, np.eye(2), method="best").certificate.value >= exact


def test_one_sided_and_uneven_bounds_hold_through_a_public_offset():
    vehicle = LinearSystem(*VEHICLE, 6)
    plan = vehicle.protect(bound=Interval(0.0, 3.0))
    paths = plan.draws(20_000, rng=1)
    assert paths.min() >= 0
    assert paths.max() <= 3
    centred = vehicle.protect(bound=1.5)
    assert plan.covariance == pytest.approx(centred.covariance, rel=1e-9)  # the central slice is the best
    assert plan.expected_loss == pytest.approx((paths**2).sum(axis=(1, 2)).mean(), rel=0.02)
    narrowing = [Interval(-2.0 + k / 10, 1.0) for k in range(7)]
    paths = vehicle.protect(bound=narrowing).draws(20_000, rng=2)[..., 0]
    assert all(paths[:, k].min() >= -2.0 + k / 10 and paths[:, k].max() <= 1.0 for k in range(7))


def test_a_set_for_each_answer_may_have_slanted_sides():
    system = LinearSystem([[0.9, 0.2], [-0.2, 0.9]], np.eye(2), 2)
    triangle = Polygon([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    paths = system.protect(bound=triangle).draws(5000, rng=1)
    assert triangle.contains(paths).all()


def test_bound_holds_after_answers_are_rounded():
    vehicle = LinearSystem(*VEHICLE, 6)
    plan = vehicle.protect(bound=0.5, step="0.1", method="product")
    truth = vehicle.carry([3.21, 0.77])
    worst = max(np.abs(plan.answers([3.21, 0.77], rng=seed) - truth).max() for seed in range(2000))
    assert worst <= 0.5
    assert most(plan, 100_000)[0] <= 0.45


def test_a_quality_asked_for_beside_the_bound_is_met():
    system = random_system(np.random.default_rng([13, 2]), most=6)
    loose = system.protect(bound=1.0, method="product")
    plan = system.protect(bound=1.0, max_loss=loose.expected_loss / 4, method="product")
    assert plan.expected_loss == pytest.approx(loose.expected_loss / 4, rel=1e-6)
    assert (np.abs(plan.draws(3000, rng=1)) <= 1.0).all()
    assert plan.certificate.value >= plan.certificate.lower_bound > 0
    free = system.protect(max_loss=loose.expected_loss / 4)
    assert plan.certificate.lower_bound >= free.certificate.value * (1 - 1e-9)
    weighed = system.protect(bound=1.0, loss_weight=1e6, method="product")
    assert weighed.expected_loss < loose.expected_loss


def test_bounded_noise_on_the_protected_part_leaves_the_rest_exact():
    vehicle = LinearSystem(*VEHICLE, 6, states=("position", "speed"))
    plan = vehicle.protect(bound=2.0, protect="position")
    assert plan.floor.per_entry == pytest.approx([2.0 / math.pi, 0.0], rel=1e-6)
    assert np.ptp(plan.draws(100, rng=1), axis=1).max() < 1e-12


def test_bounds_that_cannot_be_used_say_so():
    vehicle = LinearSystem(*VEHICLE, 3)
    for bound in (0.0, -1.0, float("nan"), [1.0, 2.0]):
        with pytest.raises(InputError, match="bound must be a positive number"):
            vehicle.protect(bound=bound)
    with pytest.raises(SupportError, match="a bound must have dimension 1"):
        vehicle.protect(bound=Box([0, 0], [1, 1]))
    with pytest.raises(SupportError, match="bounded set with flat faces"):
        LinearSystem(np.eye(2), np.eye(2), 3).protect(bound=Ball(2, 1.0))
    with pytest.raises(InputError, match="4 supports, one for each step; got 2"):
        vehicle.protect(bound=[Interval(-1, 1)] * 2)
    with pytest.raises(IllPosedError, match="public offset"):
        vehicle.protect(bound=Interval(0, 1), max_loss=0.1)
    with pytest.raises(SupportError, match="leaves no room"):
        vehicle.protect(bound=0.04, step="0.1")
