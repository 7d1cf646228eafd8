"""What questions cost by where in its range an entry is: asked one by one, they are covered for every two values."""

import math
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from pricing_reference import ALWAYS, Row, World, call, constant, mean, x, y

from errorfloor.accounts import NOTHING, PLACES
from errorfloor.pricing import Account, Noised, charges, joint
from errorfloor.sql.plan import Apply, Covariance, Plus, Power, Sum, Times

ENTRY, OTHER = Account("t", "x", '["n"]'), Account("t", "x", '["s"]')
OWNERS = Account("t", "", "")
LOW, HIGH = 0.0, 5.0
WORLD = World((Row("a", "n", 0, 1, 1), Row("a", "n", 1, 1, 1), Row("a", "n", 2, 1, 1)))


def above(threshold, width):
    return call("above", x, Fraction(threshold), Fraction(width))


def step(value, threshold, width):
    s = min(max((value - threshold) / width + 0.5, 0.0), 1.0)
    return s * s * (3 - 2 * s)


class Asked:
    """A question with one to three outputs about three numbers, the information of their noise, and its charge."""

    def __init__(self, chance, *, on_borders=False):
        pairs = [_formula(chance, on_borders) for _ in range(chance.randint(1, 3))]
        self.values = [value for _, value in pairs]
        self.informed = [chance.uniform(0.5, 2) for _ in pairs]
        noised = [Noised(i, one, apart=True) for i, one in enumerate(self.informed)]
        self.charge = charges(WORLD.bounds(*(formula for formula, _ in pairs)), noised)[ENTRY]

    def costs(self, one, other):
        """I·d² of each answer between two tables."""
        return [
            informed * (value(one) - value(other)) ** 2
            for value, informed in zip(self.values, self.informed, strict=True)
        ]


def _formula(chance, on_borders):
    threshold = Fraction(5 * chance.randint(0, PLACES), PLACES) if on_borders else Fraction(chance.randint(0, 500), 100)
    width = chance.choice([Fraction(1, 20), Fraction(5, 64), Fraction(3, 10), Fraction(2)])
    scale = chance.choice([-2, 1, 3])
    match chance.randint(0, 4):
        case 0:
            return mean(above(threshold, width)), lambda rows: _mean(step(v, threshold, width) for v in rows)
        case 1:  # between
            bar = above(threshold, width) - above(threshold + Fraction(1, 2), width)
            return (
                Times((constant(scale), mean(bar))),
                lambda rows: (
                    scale * _mean(step(v, threshold, width) - step(v, threshold + Fraction(1, 2), width) for v in rows)
                ),
            )
        case 2:
            inner = Plus((constant(9), mean(above(threshold, width))))
            return Apply("sqrt", (), inner), lambda rows: math.sqrt(9 + _mean(step(v, threshold, width) for v in rows))
        case 3:
            return Covariance(x, x, ALWAYS, False), lambda rows: float(np.var(rows))
        case _:
            inner = Plus((constant(1), Times((constant(Fraction(1, 9)), mean(x * x)))))
            return Power(inner, 2), lambda rows: (1 + _mean(v * v for v in rows) / 9) ** 2


def _mean(values):
    found = [float(value) for value in values]
    return sum(found) / len(found)


def affinity(cost):
    """∫√(p q) of raised-cosine noise and its shift, at I·d² = cost."""
    s = math.sqrt(cost) / math.pi
    return (1 - s / 2) * math.cos(math.pi * s / 2) + math.sin(math.pi * s / 2) / math.pi if s < 2 else 0.0


def under_the_profile(total, one, other):
    """The integral of √A from one value to another."""
    edges = np.linspace(LOW, HIGH, PLACES + 1)
    lengths = np.clip(np.minimum(edges[1:], max(one, other)) - np.maximum(edges[:-1], min(one, other)), 0, None)
    return float(lengths @ np.sqrt(total.places("raised_cosine")))


def pairs(chance):
    """Values near each other and far apart, many of them on the borders of places."""
    for _ in range(200):
        first = chance.choice([chance.uniform(LOW, HIGH), 5 * chance.randint(0, PLACES) / PLACES])
        second = chance.choice(
            [chance.uniform(LOW, HIGH), first + chance.uniform(-0.1, 0.1), 5 * chance.randint(0, PLACES) / PLACES]
        )
        yield first, min(max(second, LOW), HIGH)


def check(seed, *, on_borders=False):
    chance = random.Random(seed)
    asked = [Asked(chance, on_borders=on_borders) for _ in range(chance.randint(2, 12))]
    total = sum((one.charge for one in asked), NOTHING)
    for first, second in pairs(chance):
        others = [chance.uniform(LOW, HIGH), chance.uniform(LOW, HIGH)]
        costs = [cost for one in asked for cost in one.costs([first, *others], [second, *others])]
        bound = under_the_profile(total, first, second) * (1 + 1e-9) + 1e-9
        assert math.sqrt(sum(costs)) <= bound
        if bound < math.pi:
            assert math.acos(min(1.0, math.prod(map(affinity, costs)))) <= bound / 2 + 1e-7
        assert bound <= abs(first - second) * math.sqrt(total.raised_cosine) * (1 + 2e-9) + 2e-9
    return total


@pytest.mark.parametrize("on_borders", [False, True])
@pytest.mark.parametrize("seed", range(15))
def test_profiles_cover_every_two_values_however_questions_are_asked(seed, on_borders):
    check(seed, on_borders=on_borders)


def test_a_profile_that_is_too_small_is_noticed(monkeypatch):
    found = joint._along

    def smaller(bounds, outputs, column, worst):
        along = found(bounds, outputs, column, worst)
        if along is None:
            return None
        along[:, ::2] = np.where(along[:, ::2] == worst[:, None], along[:, ::2], 0.6 * along[:, ::2])
        return along

    monkeypatch.setattr(joint, "_along", smaller)
    with pytest.raises(AssertionError):
        for seed in range(15):
            check(seed)


def test_a_value_that_moves_between_versions_is_covered_only_if_versions_are_added_in_full():
    first, second = (charge_of(mean(above(threshold, Fraction(1, 2)))) for threshold in (1, 4))
    moved = 2.0 * 2 * ((step(1.01, 1, 0.5) - step(0.99, 1, 0.5)) / 3) ** 2  # at 1 in one version, at 4 in the next
    in_two_versions = first + replace(second, profile=replace(second.profile, version="2"))
    assert 0.02**2 * (first + second).raised_cosine < 0.6 * moved
    assert 0.02**2 * in_two_versions.raised_cosine >= moved


def charge_of(*formulas, world=WORLD, account=ENTRY, apart=True):
    return charges(world.bounds(*formulas), [Noised(i, 2.0, apart=apart) for i in range(len(formulas))])[account]


def test_thresholds_that_are_apart_cost_no_more_together_than_one_of_them():
    one = [charge_of(mean(above(Fraction(5 * i, 31), Fraction(1, 8)))) for i in range(1, 31)]
    total = sum(one, NOTHING)
    assert total.raised_cosine <= 1.001 * max(charge.raised_cosine for charge in one)
    assert total.evaluation == pytest.approx(sum(charge.evaluation for charge in one))


@pytest.mark.parametrize("apart", [False, True])
def test_a_profile_is_nowhere_above_the_charge_and_reaches_it(apart):
    charge = charge_of(mean(above(2, 1)), apart=apart)
    places, most = charge.places("raised_cosine" if apart else "information"), 2.0 * (1.5 / 3) ** 2
    assert max(places) == (charge.raised_cosine if apart else charge.information) == pytest.approx(most)
    assert places[:19] == places[33:52] == (places[0],) * 19
    assert 0 < places[0] < 1e-8 * most
    steepest = [max(6 * s * (1 - s) for s in _shares(place, 2, 1)) for place in range(PLACES)]
    wanted = [2.0 * (slope / 3) ** 2 for slope in steepest]
    assert all(exact <= place <= 1.01 * exact + 1e-8 for place, exact in zip(places, wanted, strict=True))


def _shares(place, threshold, width):
    ends = [5 * (place + end) / PLACES for end in (0, 1)]
    inside = [threshold] if ends[0] <= threshold <= ends[1] else []
    return [min(max((end - threshold) / width + 0.5, 0.0), 1.0) for end in (*ends, *inside)]


@pytest.mark.parametrize(
    "formula", [Sum(x, ALWAYS), mean(x), Covariance(x, x, ALWAYS, False), mean(x * y), mean(above(2, 100))]
)
def test_what_is_not_known_along_the_range_or_hardly_varies_is_flat(formula):
    assert charge_of(formula).profile is None


def test_flat_outputs_are_added_everywhere():
    curve, line = charge_of(mean(above(2, 1))), charge_of(mean(x))
    both = charge_of(mean(above(2, 1)), mean(x))
    wanted = [one + line.raised_cosine for one in curve.places("raised_cosine")]
    assert both.places("raised_cosine") == pytest.approx(wanted, rel=0.01)


def test_each_cell_of_accounts_has_its_own_profile(monkeypatch):
    rows = (*(Row("a", "n", i, 1, 1) for i in range(2)), *(Row("b", "s", i, 1, 1) for i in range(8)))
    north, south = (
        charge_of(mean(above(2, 1)), world=World(rows), account=account).places("raised_cosine")
        for account in (ENTRY, OTHER)
    )
    assert north == pytest.approx([16 * place for place in south], rel=0.01)
    monkeypatch.setattr(joint, "MOST_PROFILES", 1)
    assert charge_of(mean(above(2, 1)), world=World(rows)).profile is None


def test_many_groups_are_bounded_together(monkeypatch):
    rows = tuple(Row(f"g{i % 7}", "n", i, 1, 1) for i in range(40))
    formulas = mean(above(2, 1)), mean(above(3, 1))
    exact = charge_of(*formulas, world=World(rows))
    monkeypatch.setattr(joint, "MOST_EXACT", 0)
    coarse = charge_of(*formulas, world=World(rows))
    assert coarse.places("raised_cosine") == pytest.approx(exact.places("raised_cosine"), rel=0.01)
    found = zip(coarse.places("raised_cosine"), exact.places("raised_cosine"), strict=True)
    assert all(one >= other * (1 - 1e-12) for one, other in found)


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("thresholds", [(2,), (2, 3)])
def test_the_unit_of_rows_and_of_answers_changes_no_charge(thresholds, apart):
    """A formula that multiplies each row by 2²⁰⁰ and the sum by 2⁻⁶⁰⁰ is the same question in another unit."""
    plain = [Sum(above(threshold, 1), ALWAYS) for threshold in thresholds]
    units = [
        Times((constant(Fraction(1, 2**600)), Sum(above(threshold, 1) * 2**200, ALWAYS))) for threshold in thresholds
    ]
    one, other = (
        charges(WORLD.bounds(*asked), [Noised(i, 2.0 * unit**2, apart=apart) for i in range(len(asked))])
        for asked, unit in ((plain, 1.0), (units, 2.0**400))
    )
    for kind in ("information", "raised_cosine"):
        assert other[ENTRY].places(kind) == pytest.approx(one[ENTRY].places(kind), rel=0.01)
        assert other[OWNERS].amounts()[kind] >= one[OWNERS].amounts()[kind] * (1 - 1e-6)
