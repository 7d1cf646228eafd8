"""(ε, δ) of many answers: never below dp-accounting, whatever is split, also against somebody who plays adaptively."""

import math

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution

import errorfloor as ef
from errorfloor.errors import InputError
from errorfloor.floors.privacy_loss import _smallest, epsilon_of, pairs, split_pairs
from errorfloor.noise import Gaussian, Maxwell, RaisedCosine


def below(w):
    """The distribution function of the raised cosine on [−1, 1]."""
    inside = np.clip(w, -1.0, 1.0)
    return (1 + inside) / 2 + np.sin(np.pi * inside) / (2 * np.pi)


def composed(charges, counts):
    """A lower bound by dp-accounting: answers are seen through cells, and its estimate is the optimistic one."""
    total = None
    for charge, count in zip(charges, counts, strict=True):
        shift, g = math.sqrt(charge) / math.pi, np.geomspace(1e-6, 1, 600)
        near = [-1 + shift + g * (1 - shift / 2), 1 - g * (1 - shift / 2), shift * g - 1, shift * g + 1]
        x = np.unique(np.concatenate([[-1.0, 1 + shift], *near]))
        laws = [np.diff(below(x)), np.diff(below(x - shift))]
        logs = [{i: math.log(mass) for i, mass in enumerate(law / law.sum()) if mass > 0} for law in laws]
        found = privacy_loss_distribution.from_two_probability_mass_functions(*logs, pessimistic_estimate=False)
        found = found.self_compose(count) if count > 1 else found
        total = found if total is None else total.compose(found)
    return total


SEQUENCES = {
    "one large": ([1.0], [1], (0.05, 0.2)),
    "one": ([0.01], [1], (1e-4, 1e-2)),
    "fifty": ([0.01], [50], (3e-3, 0.05)),
    "many": ([1e-3], [300], (5e-4, 1e-2)),
    "unlike": ([0.1, 0.01, 1e-3], [1, 20, 100], (4e-3, 0.03)),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_never_below_dp_accounting_for_fixed_sequences(name):
    charges, counts, deltas = SEQUENCES[name]
    theirs = composed(charges, counts)
    for delta in deltas:
        least = theirs.get_epsilon_for_delta(delta)
        ours = epsilon_of(delta, np.array(charges), np.array(counts)).epsilon
        assert least <= ours < 1.5 * least
        assert ours <= epsilon_of(delta, np.array(charges), np.array(counts), split=True).epsilon


@pytest.mark.parametrize("sigma", [1.0, 5.0])
def test_gaussian_answers_agree_with_their_exact_curve(sigma):
    floor = ef.floor(Gaussian(sigma**2), [[1.0]])
    exact = float(ef.dp.epsilon(Gaussian(sigma**2), 1.0, 1e-5))
    assert exact <= floor.epsilon(1e-5, 1.0) < 1.2 * exact
    assert floor.after(9).epsilon(1e-5, 1.0) == pytest.approx(floor.epsilon(1e-5, 3.0))


@pytest.mark.parametrize(
    ("charge", "order", "level"), [(0.01, 5.0, 1.0), (1e-6, 20.0, 0.1), (2.0, 3.0, 2.0), (9, 1.5, 4.0)]
)
def test_pairs_agree_with_thirty_digits(charge, order, level):
    with mpmath.workdps(30):
        turn, top = mpmath.sqrt(charge) / 2, mpmath.exp(level)
        edge = mpmath.atan2(mpmath.sin(turn), mpmath.sqrt(top) - mpmath.cos(turn))
        ends = [edge * 2**j for j in range(60) if edge * 2**j < mpmath.pi - 2 * turn]
        ends += [
            mpmath.pi - turn - turn / 2**j
            for j in range(40)
            if mpmath.pi - turn - turn / 2**j > max(ends, default=edge)
        ]

        def ratio(place):
            return (mpmath.cos(turn) + mpmath.cot(place) * mpmath.sin(turn)) ** 2

        ends = sorted({edge, *ends, mpmath.pi - turn})
        weight = lambda place: mpmath.sin(place) ** 2 * 2 / mpmath.pi  # noqa: E731
        moment = mpmath.quad(lambda t: ratio(t) ** order * weight(t), ends) + top**order * mpmath.quad(
            weight, [0, edge]
        )
        cut = mpmath.quad(lambda t: mpmath.sin(t + turn) ** 2 * 2 / mpmath.pi - top * weight(t), [0, edge])
        cut += mpmath.quad(weight, [0, turn])
    found = pairs(np.array([charge]), order, level)
    assert float(cut) <= found[0][0] < float(cut) * (1 + 1e-8)
    assert float(moment - 1) <= np.expm1(found[1][0]) < float(moment - 1) * (1 + 1e-8) + 1e-8 * order * float(cut)


@pytest.mark.parametrize(("order", "level"), [(1.6, 4.0), (3.0, 2.0), (8.0, 0.8), (30.0, 0.3)])
def test_a_split_charge_is_covered(order, level):
    rng = np.random.default_rng(5)
    for whole in (1e-4, 0.02, 0.7):
        cut, moment = split_pairs(np.array([whole]), order, level)
        for parts in (1, 2, 7, 400):
            shares = rng.dirichlet(np.ones(parts) * 0.3)
            one, two = pairs(whole * shares[shares > 1e-12], order, level)
            assert one.sum() <= cut[0]
            assert two.sum() <= moment[0]
        assert moment[0] >= order * (order - 1) * whole / 2  # Gaussian answers


@pytest.mark.parametrize(("order", "level"), [(1.5, 3.0), (4.0, 1.5), (20.0, 0.3)])
def test_small_charges_are_below_their_bound(order, level):
    for charge in (1e-3, 1e-6, 1e-9):
        smaller = charge * np.geomspace(1e-4, 1, 30)
        cut, moment = pairs(smaller, order, level)
        convex = np.log1p(np.expm1(moment) + order * math.exp((order - 1) * level) * cut)
        bounds = _smallest(charge, order, level)
        assert (cut / smaller).max() <= bounds[0]
        assert (convex / smaller).max() <= bounds[1]


def test_a_filter_keeps_its_promise_against_an_adaptive_player():
    """He buys larger answers the surer he is, under fixed limits; his own δ(ε) is no larger than stated."""
    rng, order, level, most, spent = np.random.default_rng(11), 4.0, 1.2, (0.004, 2.0), np.zeros((50_000, 2))
    ratio = np.zeros(len(spent))  # the logarithm of p/q, drawn under p
    for _ in range(60):
        charge = np.where(np.abs(ratio) > 0.5, 0.05, np.where(np.abs(ratio) > 0.2, 0.02, 0.005))
        costs = {a: np.array(pairs(np.array([a]), order, level))[:, 0] for a in (0.05, 0.02, 0.005)}
        cost = np.array([costs[a] for a in charge.tolist()])
        bought = ((spent + cost) <= most).all(axis=1)
        spent += np.where(bought[:, None], cost, 0.0)
        shift = np.sqrt(charge) / np.pi
        w = RaisedCosine(-1.0, 1.0).icdf(rng.random(len(ratio)))
        with np.errstate(divide="ignore", invalid="ignore"):
            step = 2 * np.log(np.cos(np.pi * w / 2) / np.where(w - shift > -1, np.cos(np.pi * (w - shift) / 2), 0.0))
        ratio += np.where(bought, step, 0.0)
    for epsilon in (1.0, 2.0, 3.0):
        constant = (1 - 1 / order) ** (order - 1) / order
        stated = most[0] + constant * math.exp(most[1] - (order - 1) * epsilon)
        seen = np.maximum(-np.expm1(epsilon - ratio), 0.0).mean()
        assert 0.05 * min(stated, 1) < seen <= stated + 6.5 * 0.5 / math.sqrt(len(ratio)) * math.sqrt(stated)


def test_an_allowance_keeps_its_promise_whatever_is_asked():
    """He spends a fixed sum as he likes, and one binary answer of another law when he is unsure; δ(ε) is as stated."""
    rng, whole, other, sizes = np.random.default_rng(12), 0.2, 0.0004, (0.05, 0.02, 0.005)
    ratio, spent = np.zeros(50_000), np.zeros(50_000)  # the logarithm of p/q, drawn under p
    for _ in range(60):
        charge = np.select([np.abs(ratio) > 0.6, np.abs(ratio) > 0.2], sizes[:2], sizes[2])
        bought = spent + charge <= whole
        spent += np.where(bought, charge, 0.0)
        shift = np.sqrt(charge) / np.pi
        w = RaisedCosine(-1.0, 1.0).icdf(rng.random(len(ratio)))
        with np.errstate(divide="ignore", invalid="ignore"):
            step = 2 * np.log(np.cos(np.pi * w / 2) / np.where(w - shift > -1, np.cos(np.pi * (w - shift) / 2), 0.0))
        ratio += np.where(bought, step, 0.0)
    told = math.sin(math.sqrt(other) / 2)  # right with probability (1 + told)/2: the affinity is cos ½√other
    right = rng.random(len(ratio)) < (1 + told) / 2
    ratio += np.where(np.abs(ratio) < 1.0, np.where(right, 1, -1) * math.log((1 + told) / (1 - told)), 0.0)
    assert (spent > 0.9 * whole).mean() > 0.5
    for delta in (0.05, 0.07, 0.1):
        stated = epsilon_of(delta - told, np.array([whole]), np.ones(1), split=True).epsilon
        assert math.isfinite(stated)
        seen = np.maximum(-np.expm1(stated - ratio), 0.0).mean()
        assert seen <= delta + 6.5 * 0.5 / math.sqrt(len(ratio))


def test_the_floor_of_several_answers_is_stated_together():
    one, two = (ef.floor(ef.design(ef.Interval(-b, b)), [[0.02, 0.01]]) for b in (0.5, 1.0))
    both = ef.floors.combine(one, two)
    assert both.epsilon(1e-3, 1.0) > one.epsilon(1e-3, 1.0) > two.epsilon(1e-3, 1.0)
    assert both.epsilon(1e-3, 1.0, entry=1) < both.epsilon(1e-3, 1.0, entry=0) == both.epsilon(1e-3, 1.0)
    exact = float(ef.dp.epsilon(ef.design(ef.Interval(-0.5, 0.5)), 0.02, 1e-3))
    assert exact <= one.epsilon(1e-3, 1.0) < 1.2 * exact
    box = ef.floor(ef.design(ef.Box([-0.5, -1.0], [0.5, 1.0])), [[0.02, 0.01], [0.02, 0.01]])
    assert box.epsilon(1e-3, 1.0) == pytest.approx(both.epsilon(1e-3, 1.0))
    unsure = ef.floor(ef.design(ef.Interval(-0.5, 0.5)), [[0.02]], evaluation_error=0.001)
    assert unsure.epsilon(1e-3, 1.0) == pytest.approx(one.epsilon(1e-3, 1.1))


def test_nothing_is_stated_where_nothing_holds():
    one = ef.floor(ef.design(ef.Interval(-0.5, 0.5)), [[1.0]])
    assert one.epsilon(1e-3, 0.0) == 0
    assert one.epsilon(1e-3, 0.5) == one.epsilon(0.1, 30.0) == math.inf
    with pytest.raises(InputError, match="delta must lie between 0 and 1, got 0"):
        one.epsilon(0, 1.0)
    with pytest.raises(InputError, match="distance must be one finite number"):
        one.epsilon(0.1, -1.0)
    with pytest.raises(InputError, match=r"errorfloor\.dp\.epsilon gives it for one answer with any noise"):
        ef.floors.combine(one, ef.floor(Maxwell(1.0), [[1.0]])).epsilon(0.1, 1.0)
    with pytest.raises(InputError, match="move 101 entries differently: name one"):
        ef.floor(ef.design(ef.Interval(-0.5, 0.5)), [np.linspace(0.1, 0.2, 101)]).epsilon(0.1, 0.1)
