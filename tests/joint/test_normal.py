"""Joint noise that is counted as normal: what is cut off, and what that may tell."""

import math

import numpy as np
import pytest
from scipy import sparse
from scipy.special import ndtr

from errorfloor.floors.adversary import best_success
from errorfloor.joint import normal
from errorfloor.joint.normal import BESIDE, CONSTANT, START, least_cut, nested, revealed, running, table, totals
from errorfloor.joint.taper import accepted_share
from errorfloor.random import bits_from

ONE_SUM = np.zeros(6, dtype="<i8").tobytes()
ONE = sparse.csc_matrix([[1.0]])
RECORDED_TABLE = ["-0x1.199506374acc1p-4", "-0x1.6b6efeccece9ep-5"]
RECORDED = [
    ["0x1.17b940d3925c9p-5", "-0x1.bf2f4d309f5bep-5"],
    ["-0x1.236b630b537f2p-7", "0x1.0a32f4a3f2be8p-6"],
]


def tapered(v, cut):
    """Give the density of one number of deviation 1, cut off, on a fine grid."""
    bound = cut / START
    return np.exp(-v * v / 2) * accepted_share(v[:, None] / bound, np.array([START]))


def mistakes(cut, moved, prior):
    """Give the least probability of a mistake from one number, by quadrature; and that from a normal one."""
    v = np.linspace(-cut - 2, cut + 2 + moved, 200_001)
    still, shifted = tapered(v, cut), tapered(v - moved, cut)
    still, shifted = still / still.sum(), shifted / shifted.sum()
    own = np.minimum(prior * shifted, (1 - prior) * still).sum()
    odds = math.log(prior / (1 - prior)) / moved
    return own, prior * ndtr(-moved / 2 - odds) + (1 - prior) * ndtr(-moved / 2 + odds)


@pytest.mark.parametrize("cut", [1.5, 2.5, 4.0])
@pytest.mark.parametrize("moved", [0.05, 0.4, 1.0])
def test_the_answer_is_dominated_by_a_normal_one_and_a_rare_truth(cut, moved):
    told = float(revealed(cut, np.ones(1), ONE, np.array([moved]))[0])
    for prior in (0.5, 0.7, 0.9, 0.99, 0.9999):
        own, as_normal = mistakes(cut, moved, prior)
        assert own >= max(0.0, 1 - told) * as_normal - 1e-9


def test_normal_alone_does_not_cover_what_is_cut_off():
    own, as_normal = mistakes(1.5, 0.4, 0.99)
    assert own < 0.95 * as_normal


@pytest.mark.parametrize("noise", [totals(6, (ONE_SUM,)), running((12,)), running((5, 9), 1.7)])
def test_the_cut_is_the_least_that_fits(noise):
    rows = noise.form.rows.matrix
    deviations = np.asarray(noise.deviations)
    inverse = np.linalg.inv(noise.form.factor @ noise.form.factor.T)
    moves = sparse.csc_matrix(np.abs(rows.toarray()) / deviations[:, None] / np.sqrt(np.diag(inverse))[None, :])
    sizes = np.random.default_rng(3).uniform(0, math.sqrt(22.39), 400)
    told = revealed(noise.cut, deviations / deviations.max(), moves, sizes)
    charge = (np.sqrt(BESIDE) * sizes + math.sqrt(CONSTANT)) ** 2
    assert (1 - told >= np.cos(0.5 * np.sqrt(charge))).all()
    less = revealed(noise.cut - 0.25, deviations / deviations.max(), moves, np.linspace(1e-6, 4.7, 2000))
    charge = (np.sqrt(BESIDE) * np.linspace(1e-6, 4.7, 2000) + math.sqrt(CONSTANT)) ** 2
    assert (1 - less < np.cos(0.5 * np.sqrt(charge))).any()


def test_moves_of_neighbours_are_bounded_together(monkeypatch):
    together = running((40,)).cut
    monkeypatch.setattr(normal, "BLOCKS", 10**6)
    apart = running.__wrapped__((40,)).cut
    assert apart <= together <= apart + 0.5


def test_no_likelihood_test_of_joint_sums_beats_the_bound():
    """The joint density of two parts and their total, moved by what one entry does; 400,000 draws of each."""
    noise = totals(2, (bytes(16),))
    count, form = 400_000, noise.form
    moved = np.array([1.2 / math.sqrt(noise.information), 0.0])
    precision = np.linalg.inv(form.factor @ form.factor.T)

    def logarithm(v):
        with np.errstate(divide="ignore"):
            tapers = np.log(accepted_share(form.rows.times(v) / form.bounds, form.starts))
        return tapers - 0.5 * np.einsum("ij,jk,ik->i", v, precision, v)

    still = form.sample(count, bits_from(1))
    shifted = form.sample(count, bits_from(2)) + moved
    right = sum(
        (sign * (logarithm(v - moved) - logarithm(v)) > 0).mean() / 2 for sign, v in ((-1, still), (1, shifted))
    )
    charge = 1.44
    bound = best_success(charge, (math.sqrt(charge * BESIDE) + math.sqrt(CONSTANT)) ** 2)
    assert right <= bound + 6.5 * math.sqrt(0.25 / (2 * count))
    assert right > ndtr(0.6) - 0.01  # it is nearly that of a normal answer


def test_sums_keep_their_bounds_and_draws_are_the_recorded_ones():
    for noise in (totals(6, (ONE_SUM,)), running((4, 7))):
        drawn = noise.form.sample(20_000, bits_from(7))
        assert np.abs(noise.form.rows.times(drawn)).max() <= 1.0
        assert drawn.std(axis=0).max() == pytest.approx(float(noise.deviations[: drawn.shape[1]].max()), rel=0.05)
    first = [one.form.sample(1, bits_from(5))[0, :2].tolist() for one in (totals(6, (ONE_SUM,)), running((4, 7)))]
    assert [[number.hex() for number in each] for each in first] == RECORDED


def test_factor_is_a_root_of_the_inverse():
    place = np.repeat(np.arange(4), 5).astype("<i8")
    noise = totals(20, (place.tobytes(), np.tile(np.arange(5), 4).astype("<i8").tobytes()))
    factor = noise.form.factor
    assert (np.triu(factor, 1) == 0).all()
    precision = np.linalg.inv(factor @ factor.T)
    assert np.diag(precision) == pytest.approx(np.full(20, noise.information), rel=1e-8)
    chain = running((30,))
    precision = np.linalg.inv(chain.form.factor @ chain.form.factor.T)
    assert np.diag(precision).max() == pytest.approx(chain.information, rel=1e-8)


def test_a_tree_has_the_law_of_its_sums():
    place = np.repeat(np.arange(5), 4).astype("<i8").tobytes()
    tree, block = nested(20, (place, bytes(160))), totals(20, (place, bytes(160)))
    assert tree.cut == block.cut and tree.information == pytest.approx(block.information)
    drawn = tree.form.sample(40_000, bits_from(3))
    covariance = block.form.factor @ block.form.factor.T
    assert np.abs(np.cov(drawn.T) - covariance).max() < 0.05 * covariance[0, 0]
    many = np.repeat(np.arange(100), 1000).astype("<i8")
    noise = nested(100_000, (many.tobytes(), bytes(800_000)))
    assert noise.information / math.pi**2 == pytest.approx(20.3, abs=0.3)
    drawn = noise.form.sample(1, bits_from(4))[0]
    assert max(np.abs(drawn).max(), np.abs(np.bincount(many, drawn)).max(), abs(drawn.sum())) <= 1
    across = np.tile(np.arange(4), 5).astype("<i8").tobytes()
    assert nested(20, (place, across)) is None


@pytest.mark.parametrize("sets", [((0, 1, 2), (0, 1), (0, 2), (1, 2), (0,), (1,), (2,), ()), ((0, 1, 2), (0,), (1, 2))])
def test_a_full_table_has_the_law_of_its_sums(sets):
    shape = (3, 4, 2)
    axes = np.indices(shape).reshape(3, -1)
    coded = [sum((axes[axis] * 10**axis for axis in kept), np.zeros(24, dtype=int)) for kept in sets[1:]]
    places = tuple(np.unique(one, return_inverse=True)[1].astype("<i8").tobytes() for one in coded)
    for together in (0.0, 1.5):
        noise, block = table(shape, sets, together), totals(24, places, together)
        assert noise.cut == block.cut and noise.information == pytest.approx(block.information, rel=1e-5)
    drawn = noise.form.sample(40_000, bits_from(3))
    covariance = block.form.factor @ block.form.factor.T
    assert np.abs(np.cov(drawn.T) - covariance).max() < 0.05 * covariance[0, 0]
    assert np.abs(noise.form.margins.matrix @ drawn.T).max() <= 1
    certified = noise.form.cell_information.max()
    assert noise.information * (1 - 1e-8) < certified <= noise.information * (1 + BESIDE)


def test_margins_of_a_table_of_24_000_cells_keep_their_bounds():
    every = ((0, 1, 2), (0, 1), (0, 2), (1, 2), (0,), (1,), (2,), ())
    noise = table((50, 40, 12), every)
    assert noise.information / math.pi**2 == pytest.approx(45.8, abs=0.1)  # cells of their own, added up: 24,000²
    assert noise.deviations == pytest.approx(np.full(8, START / noise.cut))
    drawn = noise.form.sample(1, bits_from(5))[0]
    assert np.abs(noise.form.margins.matrix @ drawn).max() <= 1
    assert drawn[:2].tolist() == [float.fromhex(one) for one in RECORDED_TABLE]


def test_figures_of_joint_sums():
    """In units of π²/b²; with noise of their own, k parts of a total take k² and k running totals k at least."""
    found = [totals(k, (bytes(8 * k),)).information / math.pi**2 for k in (4, 10, 100, 400)]
    assert [round(one, 1) for one in found] == [10.1, 10.7, 11.3, 11.4]
    found = [running((k,)).information / math.pi**2 for k in (12, 52, 100, 365)]
    assert [round(one, 1) for one in found] == [19.2, 27.2, 32.3, 46.1]


def test_a_wider_reach_needs_a_farther_cut():
    assert least_cut(np.ones(1), ONE, 0.0) <= least_cut(np.ones(3), sparse.csc_matrix(np.ones((3, 1))), 4.0)


def test_bounds_add_less_information_than_is_counted_for_them():
    """Fisher's information of the law that is drawn, which floors that average information need."""
    place = np.repeat(np.arange(5), 4).astype("<i8").tobytes()
    for noise in (totals(6, (ONE_SUM,)), totals(20, (place, bytes(160)), 3.0), running((40,)), running((4, 7), 2.0)):
        of_cells = (noise.form.information_root(np.eye(noise.form.cells)) ** 2).sum(axis=0)
        assert of_cells.max() <= noise.information * (1 + BESIDE)
    tree = nested(20, (place, bytes(160)))
    assert tree.form.cell_information.max() <= tree.information * (1 + BESIDE)
