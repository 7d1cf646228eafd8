"""Curves and histograms cost what one entry, or one owner, does to all their points and bars together."""

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from pricing_reference import ALWAYS, Row, World, call, constant, mean, x

from errorfloor.pricing import Account, Noised, charges, joint
from errorfloor.pricing.joint import largest_sums
from errorfloor.sql.plan import Apply, Plus, Sum, Times

ENTRY, OWNER = Account("t", "x", '["n"]'), Account("t", "", "")
WORLD = World((*(Row("a", "n", 0, 1, 1),) * 3, *(Row("a", "n", 1, 1, 1),) * 5, *(Row("b", "n", 1, 1, 1),) * 2))


def above(threshold, width):
    return call("above", x, Fraction(threshold), Fraction(width))


def bars(count, width):
    edges = [Fraction(5 * i, count) for i in range(count + 1)]
    return [above(low, width) - above(high, width) for low, high in itertools.pairwise(edges)]


def step(value, threshold, width):
    s = min(max((value - threshold) / width + 0.5, 0.0), 1.0)
    return s * s * (3 - 2 * s)


def paid(formulas, **options):
    bounds = WORLD.bounds(*formulas)
    whole = charges(bounds, [Noised(i, 2.0, **options) for i in range(len(formulas))])
    alone = [charges(bounds, [Noised(i, 2.0, **options)]) for i in range(len(formulas))]
    return whole, alone


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("width", ["1/8", "1/16"])
def test_a_histogram_costs_an_owner_two_bars(width, apart):
    whole, alone = paid([mean(bar) for bar in bars(32, width)], apart=apart)
    amount = "raised_cosine" if apart else "information"
    assert getattr(whole[OWNER], amount) <= sum(getattr(one[OWNER], amount) for one in alone) / 12
    # the owner of five of eight rows in one group and all of two in the other moves two bars in each
    needed = 2 * 2 * ((5 / 8) ** 2 + 1)
    assert needed <= getattr(whole[OWNER], amount) < 1.3 * needed
    assert getattr(whole[ENTRY], amount) <= sum(getattr(one[ENTRY], amount) for one in alone) / 10


def test_a_curve_of_thirty_points_costs_an_entry_its_steepest_place():
    whole, alone = paid([mean(above(Fraction(5 * i, 31), Fraction(1, 4))) for i in range(1, 31)])
    assert whole[ENTRY].information <= sum(one[ENTRY].information for one in alone) / 10
    assert whole[ENTRY].evaluation == pytest.approx(sum(one[ENTRY].evaluation for one in alone))


@pytest.mark.parametrize("seed", range(12))
def test_joint_charges_cover_every_move_that_is_tried(seed):
    chance = random.Random(seed)
    drawn = [_Drawn(chance) for _ in range(chance.randint(2, 9))]
    spent = charges(WORLD.bounds(*(one.formula for one in drawn)), [Noised(i, d.informed) for i, d in enumerate(drawn)])
    assert _most_by_entry(chance, drawn) <= spent[ENTRY].information
    assert _most_by_owner(chance, drawn) <= spent[OWNER].information


class _Drawn:
    """A mean of ``above`` times a constant, or the square root of nine more than that, and the information on it."""

    def __init__(self, chance):
        self.threshold = Fraction(chance.randint(0, 500), 100)
        self.width = chance.choice([Fraction(1, 20), Fraction(3, 10), Fraction(1)])
        self.scale, self.rooted, self.informed = (
            chance.choice([-2, 1, 3]),
            chance.random() < 0.3,
            chance.uniform(0.5, 2),
        )
        inner = Times((constant(self.scale), mean(above(self.threshold, self.width))))
        self.formula = Apply("sqrt", (), Plus((constant(9), inner))) if self.rooted else inner

    def at(self, values):
        inner = self.scale * sum(step(one, self.threshold, self.width) for one in values) / len(values)
        return math.sqrt(9 + inner) if self.rooted else inner


def _norm(drawn, one, other):
    return sum(d.informed * (d.at(one) - d.at(other)) ** 2 for d in drawn)


def _most_by_entry(chance, drawn):
    """The steepest of many places, for a row of the smaller group: difference quotients are never above derivatives."""
    places = [chance.choice(drawn).threshold + Fraction(chance.randint(-50, 50), 1000) for _ in range(300)]
    inside = [float(min(max(place, 0), 4)) for place in places]
    return max(_norm(drawn, [at, 5.0], [at + 1e-4, 5.0]) / 1e-8 for at in inside)


def _most_by_owner(chance, drawn):
    """The owner of all of two rows in one group and five of eight in the other, from one value to another."""
    pairs = [(chance.uniform(0, 5), chance.uniform(0, 5)) for _ in range(300)]
    others = [chance.uniform(0, 5) for _ in range(3)]
    return max(
        _norm(drawn, [a] * 2, [b] * 2) + _norm(drawn, [*others, *[a] * 5], [*others, *[b] * 5]) for a, b in pairs
    )


def test_outputs_that_are_no_curves_are_added():
    bounds = WORLD.bounds(*(mean(bar) for bar in bars(4, "1/4")), Sum(x, ALWAYS))
    curves, line = [Noised(i, 2.0) for i in range(4)], Noised(4, 2.0)
    together, apart = charges(bounds, [*curves, line]), [charges(bounds, curves), charges(bounds, [line])]
    for account in (ENTRY, OWNER):
        assert together[account].information == pytest.approx(sum(one[account].information for one in apart), rel=1e-9)


def test_many_groups_have_one_bound_that_is_sharp_for_multiples(monkeypatch):
    chance = np.random.default_rng(5)
    table, shape, others = chance.random((3, 7)), chance.random(3), chance.random((3, 11))
    multiples = shape[:, None] * chance.random(11)
    exact = [largest_sums(weights, table) for weights in (multiples, others)]
    assert exact[1] == pytest.approx([max(one @ column for column in table.T) for one in others.T])
    monkeypatch.setattr(joint, "MOST_EXACT", 0)
    assert largest_sums(multiples, table) == pytest.approx(exact[0])
    assert (largest_sums(others, table) >= exact[1]).all()


@pytest.mark.parametrize("name", ["distances", "largest_sums"])
def test_a_supremum_that_is_too_small_is_noticed(monkeypatch, name):
    found = getattr(joint, name)
    monkeypatch.setattr(joint, name, lambda *given: 0.6 * found(*given))
    with pytest.raises(AssertionError):
        for seed in range(12):
            test_joint_charges_cover_every_move_that_is_tried(seed)
