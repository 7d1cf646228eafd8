"""What published counts tell: each floor against an independent route."""

import math

import numpy as np
import pytest

from errorfloor.errors import InputError
from errorfloor.floors import ziv_zakai_lattice
from errorfloor.plots.densities import count_tables
from errorfloor.policies.counts import CountTable, cell_words, design_counts, record_keys


@pytest.fixture(scope="module")
def table():
    return design_counts(max_noise=5, variance=3.0, keep_zero=True)


@pytest.fixture(scope="module")
def free():
    return design_counts(max_noise=4, variance=3.0, keep_zero=False, unbiased=False, objective="worst")


def test_two_point_statement_is_what_the_best_test_attains(table):
    floor, size = table.floor(), 400_000
    for count, h in ((0, 1), (1, 1), (4, 2), (60, 3)):
        low, high = table.dense(count, count + h)[[0, -1]]
        says_high = high > low
        a = table.sample(np.full(size, count), rng=3)
        b = table.sample(np.full(size, count + h), rng=4)
        right = 0.5 * (np.mean(~says_high[a]) + np.mean(says_high[b]))
        assert abs(right - floor.distinguish(h, count=count)) < np.sqrt(np.log(2e10) / (2 * size))
        assert floor.distinguish(h, count=count) <= floor.distinguish(h)
        assert floor.pair(count, h).testing_error == pytest.approx(1 - floor.distinguish(h, count=count), abs=1e-12)


def test_zero_that_stays_zero_is_told_from_one_as_often_as_one_is_seen(table):
    seen = 1 - float(table.pmf(0, 1))
    assert table.floor().distinguish(count=0) == pytest.approx(0.5 + seen / 2, abs=1e-12)
    assert table.information(0) == pytest.approx(4 * math.acos(math.sqrt(1 - seen)) ** 2, rel=1e-9)


def test_counts_further_apart_than_twice_the_noise_are_told_for_certain(table):
    assert table.floor().distinguish(11) == 1.0
    assert table.floor().distinguish(10, count=50) < 1.0
    assert table.floor().distinguish(11, cells=3) == 1.0


def test_several_cells_stay_below_the_bound(free):
    floor = free.floor()
    p, q = free.dense(2, 3)
    together_p, together_q = p, q
    for cells in (2, 3, 4):
        together_p, together_q = np.multiply.outer(together_p, p), np.multiply.outer(together_q, q)
        exact = 0.5 * (1 + 0.5 * np.abs(together_p - together_q).sum())
        assert exact <= floor.distinguish(count=2, cells=cells) <= floor.distinguish(cells=cells)
    angle = free.angles.max()
    assert floor.distinguish(cells=4) <= 0.5 * (1 + math.sin(min(2 * angle, math.pi / 2))) + 1e-12


def test_lattice_floor_lies_below_the_exact_bayes_error(table, free):
    for made in (table, free):
        floor = made.floor()
        for low, high in ((0, 1), (0, 5), (3, 40), (0, 100), (200, 260)):
            lattice, exact = floor.any_estimator(low, high), floor.bayes(low, high)
            rough = ziv_zakai_lattice(made.information(), 1.0, high - low + 1)
            assert math.sqrt(rough) <= lattice + 1e-12
            assert lattice <= exact
            assert exact <= (high - low + 1) / math.sqrt(12)


def test_lattice_floor_over_a_long_range_is_the_sum_written_out(table):
    floor, N = table.floor(), 64
    laws = table.dense(0, N - 1)
    total = 0.0
    for k in range(1, N):
        for i in range(N - k):
            total += (k - 0.5) / N * 0.5 * (1 - 0.5 * np.abs(laws[i] - laws[i + k]).sum())
    assert floor.any_estimator(0, N - 1) == pytest.approx(math.sqrt(total), rel=1e-9)
    assert floor.any_estimator(20, 20 + 10**7) == pytest.approx(floor.any_estimator(10**9, 10**9 + 10**7), rel=1e-9)


def test_bayes_error_is_that_of_the_posterior_mean_by_simulation(free):
    low, high, size = 0, 6, 300_000
    rng = np.random.default_rng(2)
    truth = rng.integers(low, high + 1, size)
    laws = free.dense(low, high)
    with np.errstate(invalid="ignore"):
        estimate = (np.arange(low, high + 1) @ laws / laws.sum(axis=0))[free.sample(truth, rng=5)]
    squares = (estimate - truth) ** 2
    assert abs(squares.mean() - free.floor().bayes(low, high) ** 2) < 36 * np.sqrt(np.log(2e9) / (2 * size))
    assert np.sqrt(squares.mean()) == pytest.approx(free.floor().bayes(low, high), rel=0.01)


def test_pair_bounds_hold_for_the_best_estimator_of_two_values(table):
    for count in (0, 2, 30):
        both = table.floor().pair(count)
        p, q = table.dense(count, count + 1)
        used = p + q > 0
        posterior = q[used] / (p[used] + q[used])
        best = 0.5 * ((p[used] * posterior**2).sum() + (q[used] * (1 - posterior) ** 2).sum())
        assert both.any_estimator == pytest.approx(math.sqrt(best), rel=1e-9)
        assert both.affinity == pytest.approx(math.cos(table.angles[min(count, table.last)]), rel=1e-9)


@pytest.mark.parametrize("count", [1, 3, 20])
def test_two_cells_that_differ_in_one_unit_give_it_away_as_often_as_is_said(table, count):
    """Published by cell keys as offices do; whoever says "there" where the two differ is the best adversary."""
    runs, right = 3000, 0
    keys = record_keys(bytes(range(32)), range(runs * (count + 1))).reshape(runs, count + 1)
    for is_there in (False, True):
        sums = keys[:, :count].sum(axis=1, dtype=np.uint64)
        both = (count, sums), (count + is_there, sums + keys[:, count] * np.uint64(is_there))
        without, whole = (
            table.publish(np.full(runs, number), cell_words(bytes(32), np.full(runs, number), key))
            for number, key in both
        )
        right += ((without != whole) == is_there).sum()
    stated = table.floor().difference(count=count)
    assert abs(right / (2 * runs) - stated) < np.sqrt(np.log(2e9) / (4 * runs))  # Hoeffding: fails once in 1e9
    assert stated > table.floor().distinguish(count=count) + 0.15


def test_counts_with_one_law_cannot_be_told_apart_at_all():
    always_one = CountTable(((0, 0, 2**64), (0, 2**64, 0), (2**62, 2**63, 2**62)))
    both = always_one.floor().pair(0)
    assert always_one.floor().distinguish(count=0) == 0.5
    assert both.unbiased == math.inf
    assert both.any_estimator == 0.5


def test_information_comes_back_from_frequencies(free):
    size = 400_000
    for count in (0, 2, 9):
        a, b = (np.bincount(free.sample(np.full(size, count + n), rng=7 + n), minlength=20) / size for n in (0, 1))
        affinity = np.sqrt(a * b).sum()
        assert 4 * math.acos(affinity) ** 2 == pytest.approx(free.information(count), rel=0.03)


def test_words_name_what_is_and_is_not_independent(table, free):
    words = table.explain()
    assert "a positive count proves that somebody is there" in words
    assert "the same noise in every table" in words
    assert "in pairs only" in words
    assert "they give it away in 92.6 of 100 cases, and every other such pair again" in words
    assert "proves that somebody" not in free.explain()
    assert f"in {25} of them" in table.floor().explain(cells=25)


def test_ranges_must_be_ranges(table):
    with pytest.raises(InputError, match="low < high, got 5 … 5"):
        table.floor().any_estimator(5, 5)
    with pytest.raises(InputError, match="at most 2000 counts"):
        table.floor().bayes(0, 10_000)


def test_pictures_show_every_table(table, free):
    figure = count_tables({"one": table, "two": free}, most=6)
    assert [axes.get_title() for axes in figure.axes[:2]] == ["one", "two"]
    curve = figure.axes[2].lines[0].get_ydata()
    np.testing.assert_allclose(curve, [table.floor().distinguish(count=i) for i in range(7)])
    with pytest.raises(InputError, match="mapping from names to tables"):
        count_tables({})
    assert len(table.plot(most=5).axes) == 3
