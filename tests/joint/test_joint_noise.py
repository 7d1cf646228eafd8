"""Joint noise: every bound holds, what adds up adds up, and the certified information is never below the truth."""

import hashlib
import json
import math

import numpy as np
import pytest
from scipy import sparse, stats

import errorfloor as ef
from errorfloor.errors import InputError
from errorfloor.joint import JointNoise, Margins, design_joint
from errorfloor.joint.design_tree import design_tree
from errorfloor.joint.one_block import OneBlock, Rows
from errorfloor.joint.solver import best_size
from errorfloor.joint.structure import as_tree
from errorfloor.joint.table import TableNoise
from errorfloor.joint.taper import accepted_share
from errorfloor.joint.tree import TreeNoise
from errorfloor.joint.tree_exposure import Alike
from errorfloor.random import StickyBits, bits_from

UNIT = math.pi**2


def total_and(parts):
    return np.vstack([np.ones((1, parts)), np.eye(parts)])


def ranges(cells):
    return np.array([[float(i <= k < j) for k in range(cells)] for i in range(cells) for j in range(i + 1, cells + 1)])


ANSWERS = {
    "a total and two parts": total_and(2),
    "a total and thirty parts": total_and(30),
    "running totals": np.tril(np.ones((12, 12))),
    "ranges": ranges(8),
    "a table": Margins((3, 4)),
    "a table of three keys": Margins((3, 2, 2), [(0, 1, 2), (0,), (1, 2)]),
    "two levels": Margins((4, 5), [(0, 1), (0,), ()]),
    "weights": np.array([[1.0, 2.0, 3.0], [1.0, 0.0, 0.0], [0.0, 1.0, -1.0]]),
}


def matrix_of(answers):
    return answers.matrix.toarray() if isinstance(answers, Margins) else answers


@pytest.mark.parametrize("name", ANSWERS)
def test_every_answer_keeps_its_bound(name):
    answers = ANSWERS[name]
    bound = 1.0 if isinstance(answers, Margins) else np.linspace(1.0, 2.0, len(answers))
    noise = design_joint(answers, bound)
    drawn = noise.sample(20_000, rng=1) @ matrix_of(answers).T
    assert (np.abs(drawn) <= bound).all()
    assert (np.abs(drawn) / bound).max() > 0.8  # the bounds are used


@pytest.mark.parametrize("name", ANSWERS)
def test_attempts_are_accepted_half_the_time(name):
    noise = design_joint(ANSWERS[name], 1.0)
    assert noise.accepted >= 0.5


def test_totals_and_parts_add_up():
    noise = design_joint(Margins((4, 5), [(0, 1), (0,), ()]), 1.0)
    cells = noise.sample(rng=1)[0].reshape(4, 5)
    assert cells.shape == (4, 5)
    assert abs(cells.sum()) <= 1
    assert (np.abs(cells.sum(axis=1)) <= 1).all()


FIGURES = {  # units of π²/b²: what independent noise costs, and what a first strategy was certified at
    "running totals 8": (np.tril(np.ones((8, 8))), 8, 3.559),
    "running totals 32": (np.tril(np.ones((32, 32))), 32, 6.803),
    "all ranges of 32": (ranges(32), 272, 12.027),
    "a total and 2 parts": (total_and(2), 2, 1.542),
    "a total and 10 parts": (total_and(10), 2, 1.923),
    "a total and 50 parts": (total_and(50), 2, 2.055),
    "a total and 100 parts": (total_and(100), 2, 2.08),
    "2 × 2 with margins": (Margins((2, 2)), 4, 2.60),
    "3 × 3 with margins": (Margins((3, 3)), 4, 2.84),
}


@pytest.mark.parametrize("name", FIGURES)
def test_check_figures(name):
    answers, independent, first = FIGURES[name]
    noise = design_joint(answers, 1.0)
    value = noise.certificate.value / UNIT
    assert value < first
    assert (matrix_of(answers) ** 2).sum(axis=0).max() == independent


@pytest.mark.parametrize("name", FIGURES)
def test_no_figure_is_below_what_any_noise_must_tell(name):
    certificate = design_joint(FIGURES[name][0], 0.5).certificate
    assert certificate.value > certificate.lower_bound == pytest.approx(4 * UNIT)


def test_a_hundred_running_totals_cost_less_than_nine_answers():
    value = design_joint(np.tril(np.ones((100, 100))), 1.0).certificate.value
    assert value < 9 * UNIT


def scores(noise, count):
    """Give the gradient of the log-density at draws of a noise in one block, by its own formula."""
    block = noise.form
    v = block.sample(count, ef.random.ReproducibleBits(3))
    T = block.rows.matrix.toarray()
    x = v @ T.T / block.bounds
    past = np.maximum(np.abs(x) - block.starts, 0.0)
    kappa = math.pi / (2 * (1 - block.starts))
    slope = np.sign(x) * 2 * kappa * np.tan(kappa * past) / block.bounds
    return v @ np.linalg.inv(block.factor @ block.factor.T) + slope @ T


@pytest.mark.parametrize("answers", [np.tril(np.ones((8, 8))), ranges(5), ANSWERS["weights"]])
def test_certified_information_is_not_below_the_score_of_draws(answers):
    noise = design_joint(answers, 1.0)
    assert isinstance(noise.form, OneBlock)
    seen = scores(noise, 200_000)
    measured = (seen**2).mean(axis=0)
    certified = noise.information_along()
    assert (measured < 1.02 * certified).all()
    assert measured[certified.argmax()] > 0.85 * certified.max()


def test_information_of_a_small_tree_is_bounded_by_quadrature_of_its_score():
    """√γ of a total and two parts on a grid, normalised family by family; 4∫(∂√γ)² of one part."""
    noise = design_joint(total_and(2), 1.0)
    tree = noise.form
    h = 1 / 400
    axis = np.arange(-1, 1 + h / 2, h)
    q, starts = tree.variances, tree.starts

    def tapered(x, node):
        share = accepted_share(x.reshape(-1, 1) / tree.bounds[node], starts[node : node + 1]).reshape(x.shape)
        return share * np.exp(-x * x / 2 / q[node]) / math.sqrt(2 * math.pi * q[node])

    total = tapered(axis, 0)
    total /= total.sum() * h
    parts = [tapered(axis, tree.leaves[cell]) for cell in (0, 1)]
    whole = np.convolve(*parts) * h  # on −2 … 2
    ratio = np.interp(np.arange(-2, 2 + h / 2, h), axis, total) / np.where(whole > 0, whole, 1)
    sums = np.arange(axis.size)[:, None] + np.arange(axis.size)[None, :]
    density = parts[0][:, None] * parts[1][None, :] * ratio[sums]
    assert density.sum() * h * h == pytest.approx(1, abs=1e-3)
    slope = np.diff(np.sqrt(density), axis=0) / h
    exact = 4 * (slope**2).sum() * h * h
    certified = noise.information_along().max()
    assert 0.85 * certified < exact < certified


def test_tree_densities_agree_with_draws():
    from errorfloor.joint.tree_exposure import family, top

    noise = design_joint(Margins((3, 4), [(0, 1), (0,), ()]), 1.0)
    tree = noise.form
    small = Alike.of(tree.parents, tree.bounds[:, None])
    own = {kind: int(np.flatnonzero(small.kind == kind)[0]) for kind in range(3)}
    law = [(tree.variances[own[k]], tree.bounds[own[k]], tree.starts[own[k]]) for k in range(3)]
    _, spread, _ = top(*law[0])
    for level in (1, 2):
        _, (spread,), _ = family(*(np.array([one]) for one in law[level]), small.times[[level]], spread)
    drawn = noise.sample(20_000, rng=5)[:, 0]
    x = np.linspace(-1, 1, 4001)
    cdf = np.cumsum(spread.at(x))
    assert stats.kstest(drawn, lambda y: np.interp(y, x, cdf / cdf[-1])).pvalue > 1e-9


def test_tree_costs_do_not_change_with_the_grid(monkeypatch):
    from errorfloor.joint import tree_exposure

    noise = design_joint(Margins((3, 25), [(0, 1), (0,), ()]), 1.0)
    coarse = noise.information_along().max()
    monkeypatch.setattr(tree_exposure, "POINTS", 288)
    monkeypatch.setattr(tree_exposure, "FEW", 128)
    again = JointNoise(noise.form, noise.place)
    fine = TreeNoise(
        **{name: getattr(again.form, name) for name in ("parents", "bounds", "starts", "variances", "leaves")}
    )
    assert fine.cell_information.max() == pytest.approx(coarse, rel=1e-4)


def test_information_matrix_agrees_with_its_diagonal_and_with_moves():
    moves = np.array([[1.0, -1.0, 0, 0], [1.0, 1.0, 1.0, 1.0]])
    for answers in (total_and(4), np.tril(np.ones((4, 4))), Margins((2, 2))):
        noise = design_joint(answers, 1.0)
        whole = noise.information
        assert np.diag(whole) == pytest.approx(noise.information_along())
        assert np.einsum("ij,jk,ik->i", moves, whole, moves) == pytest.approx(noise.information_along(moves))


def test_worst_move_is_what_is_minimised():
    moves = [[1, -1, 0], [0, 1, -1], [1, 0, -1]]
    plain, aimed = design_joint(total_and(3), 1.0), design_joint(total_and(3), 1.0, moves=moves)
    assert aimed.certificate.value <= plain.information_along(moves).max()


def test_cells_that_no_answer_tells_apart_share_one_noise():
    noise = design_joint([[1, 1, 0, 0], [1, 1, 1, 0]], 1.0)
    drawn = noise.sample(100, rng=1)
    assert (drawn[:, 1] == 0).all() and (drawn[:, 3] == 0).all()
    information = noise.information_along()
    assert information[0] == information[1] > information[2] > information[3] == 0


def test_a_forest_of_a_hundred_thousand_cells_is_designed_and_drawn():
    cells = sparse.identity(100_000, format="csr")
    groups = sparse.kron(sparse.identity(400), np.ones((1, 250)), format="csr")
    noise = design_joint(sparse.vstack([cells, groups, np.ones((1, 100_000))]), 1.0)
    drawn = noise.sample(rng=1)[0]
    assert abs(drawn.sum()) <= 1
    assert np.abs(drawn).max() <= 1
    assert np.abs(drawn.reshape(400, 250).sum(axis=1)).max() <= 1
    assert noise.certificate.value < 3.12 * UNIT


def test_covariance_agrees_with_a_conic_solver():
    """The least worst (Σ⁻¹)_ii with all deviations at most 1, by Clarabel, costs no less once it is tapered."""
    cp = pytest.importorskip("cvxpy")
    n = 6
    T = np.tril(np.ones((n, n)))
    precision, worst = cp.Variable((n, n), PSD=True), cp.Variable()
    limits = [cp.matrix_frac(row, precision) <= 1 for row in T]
    cp.Problem(cp.Minimize(worst), [*limits, cp.diag(precision) <= worst]).solve(solver="CLARABEL")
    covariance = np.linalg.inv(precision.value)
    deviation = np.sqrt(((T @ covariance) * T).sum(axis=1))
    referee = best_size(np.diag(precision.value), deviation, T**2)[0]
    ours = design_joint(T, 1.0).certificate.value
    assert 0.9 * referee < ours < 1.005 * referee


LAWS = {
    "block": OneBlock(Rows.of(total_and(2)), np.ones(3), np.full(3, 0.75), np.array([[0.375, 0.0], [-0.1875, 0.3125]])),
    "table": TableNoise(Margins((2, 3)), np.ones(4), np.full(4, 0.75), [0.01, 0.02, 0.03, 0.1]),
    "tree": TreeNoise([-1, 0, 0, 1, 1], np.ones(5), np.full(5, 0.75), np.full(5, 0.125), [3, 4, 2]),
}
RECORDED = {"block": "817a11b4df8d6340", "table": "750a7588e749e24b", "tree": "018e51e55918c791"}


@pytest.mark.parametrize("name", LAWS)
def test_draws_are_the_recorded_ones(name):
    noise = JointNoise(LAWS[name], np.arange(LAWS[name].cells))
    drawn = noise.sample(50, rng=StickyBits(bytes(range(32))))
    assert hashlib.sha256(drawn.astype("<f8").tobytes()).hexdigest()[:16] == RECORDED[name]


@pytest.mark.parametrize("name", LAWS)
def test_a_law_survives_as_text(name):
    noise = JointNoise(LAWS[name], np.arange(LAWS[name].cells))
    again = JointNoise.from_dict(json.loads(json.dumps(noise.to_dict())))
    assert again == noise
    assert (again.sample(5, rng=7) == noise.sample(5, rng=7)).all()
    assert again.information_along() == pytest.approx(noise.information_along())


def test_floor_is_that_of_any_noise():
    noise = design_joint(total_and(2), 1.0)
    floor = noise.floor(ranges=(0, 1))
    h = 0.1
    assert floor.distinguish(h) == pytest.approx(0.5 * (1 + math.sin(0.5 * h * math.sqrt(noise.certificate.value))))
    assert noise.floor([[1, 0], [0, 1]]).entries == 2


def test_what_cannot_be_designed_says_why():
    with pytest.raises(InputError, match="overlap without containing each other"):
        overlapping = sparse.random(900, 900, density=0.01, random_state=1, format="csr")
        design_joint(overlapping, 1.0)
    with pytest.raises(InputError, match="max_error"):
        design_joint(total_and(2), -1.0)
    with pytest.raises(InputError, match="nothing to add noise to"):
        design_joint([[0.0, 0.0]], 1.0)
    with pytest.raises(InputError, match="each move has a number"):
        design_joint(total_and(2), 1.0, moves=[[1.0]])
    with pytest.raises(InputError, match="sets name axes"):
        Margins((2, 2), [(2,)])
    for moves in ([[0.0, 0.0, 0.0]], np.zeros((0, 3)), [[0.0, 0.0, 1.0]], [[1.0, -1.0, 0.0]]):
        with pytest.raises(InputError, match="no move changes any answer"):
            design_joint([[1.0, 1.0, 0.0]], 1.0, moves=moves)
    with pytest.raises(InputError, match="size of a coefficient"):
        design_joint([[1e200, 1.0], [1.0, 1.0]], 1.0)
    with pytest.raises(InputError, match="of too different sizes"):
        design_joint(total_and(150), np.r_[1.0, np.full(75, 1e-6), np.ones(75)])


def test_a_total_that_its_parts_keep_by_themselves_costs_next_to_nothing():
    for parts, total in ((2, 1.95), (2, 10.0), (150, 20.0), (150, 1000.0)):
        noise = design_joint(total_and(parts), np.r_[total, np.ones(parts)])
        assert noise.certificate.value < 1.06 * np.pi**2
        drawn = noise.sample(200, rng=1)
        assert np.abs(drawn).max() <= 1.0 and np.abs(drawn.sum(axis=1)).max() <= total
    tree = design_tree(*as_tree(sparse.csr_matrix(total_and(2)), np.array([10.0, 1.0, 1.0])))
    assert np.abs(tree.sample(20_000, bits_from(1))).max() <= 1.0, "every parent leaves room for its parts"


def test_bounds_of_very_different_sizes_are_designed_for_or_refused_at_once():
    for bounds in ([1e4, 1.0], [1e9, 1e-9]):
        noise = design_joint([[1.0, 1.0], [1.0, 0.0]], bounds)
        assert noise.certificate.value < 1.03 * (np.pi / min(bounds)) ** 2


def test_picture_shows_every_answer():
    noise = design_joint(total_and(2), 1.0)
    axes = noise.plot(total_and(2), max_error=1.0).axes[0]
    assert axes.get_ylabel() == "noise"
    with pytest.raises(InputError, match="at most 400"):
        design_joint(np.tril(np.ones((401, 401))), 1.0).plot()
