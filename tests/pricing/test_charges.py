"""Charges are rounded up, kept apart by account, and named the same for ever."""

import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pricing_reference import ALWAYS, Row, World, mean, x, y

from errorfloor.errors import InputError
from errorfloor.pricing import Account, Charge, Noised, cell_text, charges
from errorfloor.sql.plan import Covariance, Plus, Sum

amounts = st.floats(0, 1e12) | st.floats(0, 1e-200)


@given(amounts, amounts)
def test_sums_of_charges_are_rounded_up_and_no_further_than_needed(one: float, two: float) -> None:
    total = (Charge(one, 0.0) + Charge(two, 0.0)).information
    exact = Fraction(one) + Fraction(two)
    assert Fraction(total) >= exact
    assert Fraction(float(np.nextafter(total, -np.inf))) < exact or total == 0


@pytest.mark.parametrize("wrong", [-1.0, float("nan")])
def test_a_charge_is_never_negative(wrong: float) -> None:
    with pytest.raises(InputError, match="must be at least 0"):
        Charge(wrong, 0.0)
    with pytest.raises(InputError, match="must be at least 0"):
        Charge(0.0, wrong)


@pytest.mark.parametrize("wrong", [0.0, -1.0, float("inf"), float("nan")])
def test_information_must_be_a_positive_number(wrong: float) -> None:
    world = World((Row("a", "n", 0, 1, 1),))
    with pytest.raises(InputError, match="information must be a positive number"):
        charges(world.bounds(mean(x)), [Noised(0, wrong)])


def test_cells_are_named_by_exact_values() -> None:
    long = Decimal("1.2300000000000000000000000000000000000004500")
    assert cell_text((long,)) == '["1.23000000000000000000000000000000000000045"]'
    assert cell_text((datetime.datetime(2024, 1, 31, 5), True, None)) == '["2024-01-31T05:00:00", true, null]'
    assert cell_text(("é", '"')) == '["é", "\\""]'
    with pytest.raises(InputError, match="cannot be named by a bytes"):
        cell_text((b"x",))


def test_each_cell_pays_for_its_own_rows() -> None:
    rows = (Row("a", "n", 0, 1, 1), Row("a", "n", 0, 1, 1), Row("b", "s", 1, 1, 1))
    paid = charges(World(rows).bounds(mean(x)), [Noised(0, 8.0)])
    assert paid[Account("t", "x", '["n"]')].information == pytest.approx(8 / 4)
    assert paid[Account("t", "x", '["s"]')].information == pytest.approx(8.0)
    assert paid[Account("t", "", "")].information == pytest.approx(8 * 25)
    assert set(paid) == {Account("t", "x", '["n"]'), Account("t", "x", '["s"]'), Account("t", "", "")}


def test_each_group_pays_for_the_noise_of_its_own() -> None:
    rows = (Row("a", "n", 0, 1, 1), Row("a", "n", 0, 1, 1), Row("b", "n", 1, 1, 1))
    bounds = World(rows).bounds(mean(x))
    assert bounds.rows[bounds.kind].tolist() == [2, 1]
    alone = [charges(bounds, [Noised(0, np.where(bounds.kind == kind, 8.0, 0.0))]) for kind in bounds.kind]
    paid = charges(bounds, [Noised(0, np.array([8.0, 2.0])[bounds.kind])])
    entry, owner = Account("t", "x", '["n"]'), Account("t", "", "")
    assert [one[entry].information for one in alone] == pytest.approx([8 / 4, 8.0])
    assert paid[entry].information == pytest.approx(2.0)
    assert paid[owner].information == pytest.approx(max(alone[0][owner].information, alone[1][owner].information / 4))
    with pytest.raises(InputError, match="information must be a positive number"):
        charges(bounds, [Noised(0, np.zeros(2))])


def test_columns_that_do_not_occur_pay_nothing() -> None:
    world = World((Row("a", "n", 0, 1, 1),))
    columns = {account.column for account in charges(world.bounds(Sum(y, ALWAYS)), [Noised(0, 1.0)])}
    assert columns == {"y", ""}


def test_null_answers_cost_nothing() -> None:
    world = World((Row("a", "n", 0, 1, 1),))
    assert charges(world.bounds(Covariance(x, x, ALWAYS, sample=True)), [Noised(0, 1.0)]) == {}


def test_owner_moves_add_over_rows_and_columns_before_they_are_squared() -> None:
    rows = (Row("a", "n", 0, 1, 1), Row("a", "n", 0, 1, 1), Row("b", "n", 0, 1, 1), Row("b", "n", 1, 1, 1))
    paid = charges(World(rows).bounds(Plus((Sum(x, ALWAYS), Sum(y * 2, ALWAYS)))), [Noised(0, 1.0)])
    one_row = 5 + 2 * 5
    assert paid[Account("t", "", "")].information == pytest.approx((2 * one_row) ** 2 + one_row**2)


def test_outputs_are_charged_the_most_that_one_row_does_to_all_of_them() -> None:
    rows = (*(Row("a", "n", 0, 1, 1),) * 4, *(Row("b", "n", 1, 1, 1),) * 2, *(Row("b", "n", 2, 1, 1),) * 3)
    bounds = World(rows).bounds(mean(x), Sum(x, ALWAYS), mean(y))
    entry, owner = Account("t", "x", '["n"]'), Account("t", "", "")
    steep = {"a": 8 / 4**2 + 2.0, "b": 8 / 5**2 + 2.0}  # of a row in either group, by mean and sum
    moved = {"a": 8 * 5**2 + 2 * 20**2 + 50 * 5**2, "b": (8 * 5**2 + 50 * 5**2) * (3 / 5) ** 2 + 2 * 15**2}  # by owner
    paid = charges(bounds, [Noised(0, 8.0), Noised(1, 2.0), Noised(2, 50.0)])
    assert paid[entry].information == pytest.approx(max(steep.values()))
    assert paid[owner].information == pytest.approx(max(moved.values()))
    mixed = charges(bounds, [Noised(0, 8.0), Noised(1, 2.0, apart=True)])
    assert (mixed[entry].information, mixed[entry].raised_cosine) == pytest.approx((8 / 16, 2.0))
    assert (mixed[owner].information, mixed[owner].raised_cosine) == pytest.approx((8 * 5**2, 2 * 20**2))


def test_groups_pay_for_their_worst_row_and_not_for_one_in_each() -> None:
    rows = (*(Row("a", "n", 0, 1, 1),) * 4, Row("b", "n", 1, 1, 1))
    bounds = World(rows).bounds(mean(x), Sum(x, ALWAYS))
    here, there = bounds.kind.tolist()
    noised = [Noised(0, np.where(np.arange(2) == here, 1.0, 0.0)), Noised(1, np.where(np.arange(2) == there, 3.0, 0.0))]
    assert charges(bounds, noised)[Account("t", "x", '["n"]')].information == pytest.approx(3.0)
