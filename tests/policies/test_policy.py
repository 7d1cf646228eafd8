"""What a policy promises holds for every value, at nodes and between them."""

import math

import numpy as np
import pytest

import errorfloor as ef
from errorfloor.errors import ConvergenceError, IllPosedError, InputError, SupportError
from errorfloor.policies import Cells, Integers, Policy, design_answer
from errorfloor.policies.sphere import angles, largest_between, weights
from errorfloor.policies.wish import Weights
from errorfloor.support import HalfLine, Interval
from policies.conftest import WISHES

LINE = Interval(0, 1)


def test_every_law_adds_up_and_stays_where_it_may(named, inside):
    name, policy = named
    laws = policy.law(inside(policy))
    assert np.abs(laws.sum(axis=1) - 1).max() < 1e-12
    assert (laws >= 0).all()
    outputs = WISHES[name]["outputs"]
    if not isinstance(outputs, Integers):
        (low,), (high,) = outputs.bounding_box
        assert policy.cells.low.min() >= low and policy.cells.high.max() <= high
    else:
        assert (policy.cells.low % 1 == 0).all() and policy.cells.low.min() >= 0


def test_loss_is_within_its_bound_at_every_value(named, inside):
    name, policy = named
    found = policy.expected_loss(inside(policy)).max()
    assert found <= policy.largest_loss <= found * 1.002
    if "max_loss" in WISHES[name]:
        assert policy.largest_loss <= WISHES[name]["max_loss"]
        assert policy.largest_loss > 0.999 * WISHES[name]["max_loss"]


def test_loss_at_nodes_alone_would_not_do(policies):
    """Between nodes the law is wider: without room at the nodes the bound would be broken."""
    policy = policies["share"]
    assert policy.expected_loss(policy.nodes[3:-3]).max() < 0.998 * policy.largest_loss


def test_information_is_exact_between_nodes(named):
    _, policy = named
    middle = (policy.nodes[:-1] + policy.nodes[1:]) / 2
    step = 1e-4 * np.diff(policy.nodes)
    moved = np.sqrt(policy.law(middle + step)) - np.sqrt(policy.law(middle - step))
    by_difference = 4 * (moved**2).sum(axis=1) / (2 * step) ** 2
    assert policy.information(middle) == pytest.approx(by_difference, rel=1e-5, abs=1e-6 * policy.largest_information)


def test_information_at_a_node_is_the_larger_of_both_sides(policies):
    policy = policies["share"]
    left, right = (policy.information(policy.nodes[4] + side * 1e-9) for side in (-1, 1))
    assert policy.information(policy.nodes[4]) == max(left, right)
    assert left != right


def test_average_and_supremum_are_both_reported(named, inside):
    _, policy = named
    known = policy.certificate
    assert known.largest_information == policy.largest_information == policy.information(inside(policy)).max()
    middle = (policy.nodes[:-1] + policy.nodes[1:]) / 2
    average = float(policy.information(middle) @ np.diff(policy.nodes)) / policy.values.width
    assert known.average_information == pytest.approx(average, rel=1e-9)
    assert known.lower_bound <= known.value
    assert known.gap < 0.15


def test_least_worst_has_the_smaller_supremum_and_the_larger_average(policies):
    average, worst = policies["share"].certificate, policies["worst"].certificate
    assert worst.largest_information < 0.9 * average.largest_information
    assert worst.average_information > average.average_information
    assert worst.objective == "worst" and worst.value == worst.largest_information


def test_noise_stays_in_its_set_between_nodes_too(policies):
    policy = policies["shifted"]
    s = np.linspace(0, 2, 20_001)
    used = policy.law(s) > 0
    low = np.where(used, policy.cells.low, np.inf).min(axis=1) - s
    high = np.where(used, policy.cells.high, -np.inf).max(axis=1) - s
    assert low.min() >= -0.5 - 1e-12 and high.max() <= 0.5 + 1e-12
    assert policy.certificate.average_information < 4 * math.pi**2  # the raised cosine on the same set


def test_density_integrates_to_the_distribution(named):
    _, policy = named
    s = policy.values.low + 0.37 * policy.values.width
    if policy.cells.are_points:
        mass = policy.pdf(policy.cells.low, s)
        assert np.cumsum(mass) == pytest.approx(policy.cdf(policy.cells.low, s), abs=1e-12)
        assert policy.pdf(policy.cells.low[0] + 0.5, s) == 0
    else:
        y = policy.cells.middle
        assert np.cumsum(policy.pdf(y, s) * policy.cells.width) - policy.pdf(
            y, s
        ) * policy.cells.width / 2 == pytest.approx(policy.cdf(y, s), abs=1e-12)
    assert policy.cdf(policy.cells.high[-1], s) == pytest.approx(1.0, abs=1e-12)
    assert policy.pdf(policy.cells.high[-1] + 1, s) == 0 and policy.cdf(policy.cells.low[0] - 1, s) == 0


def test_bias_is_within_its_stated_bound(named, inside):
    _, policy = named
    found = np.abs(policy.bias(inside(policy))).max()
    assert found <= policy.largest_bias <= found * 1.01 + 1e-9
    s = policy.values.low + 0.61 * policy.values.width
    assert policy.bias(s) == pytest.approx(policy.law(s) @ policy.cells.middle - s, rel=1e-9)


@pytest.mark.parametrize(
    "wish",
    [
        {"average_loss": 0.02, "nodes": 8, "cells": 20},
        {"average_loss": 0.1, "loss": "absolute", "nodes": 6, "cells": 12},
        {"average_loss": 0.02, "objective": "worst", "nodes": 6, "cells": 40},
        {"average_loss": 0.02, "weight": lambda s: 1 + 3 * s, "nodes": 6, "cells": 24},
    ],
)
def test_average_loss_is_a_bound_on_coarse_grids_too(wish):
    """Sums over nodes, or over a finer grid, miss what the law gains between them."""
    policy = design_answer(LINE, LINE, **wish)
    s = (np.arange(50_000) + 0.5) / 50_000
    p = wish.get("weight", np.ones_like)(s)
    found = float(policy.expected_loss(s) @ p / p.sum())
    assert found <= policy.certificate.average_loss <= wish["average_loss"]
    assert found > 0.99 * wish["average_loss"]


def test_bound_between_nodes_is_not_an_estimate():
    """Coarse steps and laws far apart: the bound stays above the truth, whatever the cost."""
    rng = np.random.default_rng(8)
    for _ in range(50):
        laws = rng.dirichlet(np.full(4, 0.5), size=2)
        y = rng.uniform(-1, 2, 4)
        theta = angles(np.sqrt(laws))
        pieces = 4
        costs = [np.abs(y - k / pieces)[None, :] for k in range(pieces + 1)]
        t = np.linspace(0, 1, 2001)
        a, b = weights(np.full_like(t, theta[0]), t)
        law = (a[:, None] * np.sqrt(laws[0]) + b[:, None] * np.sqrt(laws[1])) ** 2
        truth = (law * np.abs(y - t[:, None])).sum(axis=1).max()
        assert truth <= largest_between(laws, theta, costs)[0] <= truth * 1.35 + 0.05


def test_what_is_stated_is_a_function_of_the_released_number(policies):
    policy = policies["reading"]
    rng = np.random.default_rng(2)
    s = rng.uniform(0, 50, 200_000)
    y = policy.sample(s, rng=4)
    estimate, error = policy.estimate(y)
    low, high = policy.possible(y)
    assert ((low <= s) & (s <= high)).all()
    assert abs((estimate - s).mean()) < 6 * (estimate - s).std() / math.sqrt(s.size)
    assert (estimate - s).std() == pytest.approx(math.sqrt((error**2).mean()), rel=0.02)
    with pytest.raises(InputError, match="y must be an answer of this policy"):
        policy.estimate(-1.0)
    with pytest.raises(InputError, match="y must be an answer of this policy"):
        policy.possible(-1.0)


def test_floors_follow_from_the_supremum(policies):
    policy = policies["reading"]
    floor = policy.floor([[0.5, 0.25]], ranges=(0, 50))
    assert floor.worst_entry == pytest.approx(1 / (0.5 * math.sqrt(policy.largest_information)), rel=1e-12)
    direct = policy.floor(ranges=(0, 50))
    h = np.array([0.5, 2.0, 5.0])
    assert (policy.distinguish(h) <= direct.distinguish(h) + 1e-12).all()
    assert policy.distinguish(0.0) == 0.5


def test_floor_takes_policies_as_it_takes_noises(policies):
    policy, noise = policies["reading"], ef.design(Interval(-3, 3))
    assert ef.floor(policy).worst_entry == policy.floor().worst_entry == policy.largest_information**-0.5
    options = {"ranges": (0, 50), "spacing": 1.0, "evaluation_error": 0.1, "linear": False}
    h = np.array([1.0, 4.0, 20.0])
    one, same = ef.floor(policy, [[0.5, 0.25]], **options), policy.floor([[0.5, 0.25]], **options)
    assert one.distinguish(h).tolist() == same.distinguish(h).tolist()
    both = ef.floor([policy, noise], [[[1.0]], [[0.5]]])
    assert both.worst_entry**-2 == pytest.approx(policy.largest_information + 0.25 * float(noise.information[0, 0]))
    known = ef.floor(policy, side_information=[[2.0]])
    assert known.worst_entry**-2 == pytest.approx(policy.largest_information + 2.0)


def test_floor_refuses_what_has_none_or_no_jacobian(policies):
    table = ef.design_counts(max_noise=2, variance=1.0, keep_zero=True)
    with pytest.raises(InputError, match=r"a table for counts has its own floor\(\)"):
        ef.floor(table)
    with pytest.raises(InputError, match="jacobian is missing"):
        ef.floor(ef.design(Interval(-1, 1)))
    with pytest.raises(InputError, match="jacobian is missing"):
        ef.floor([policies["reading"]] * 2)
    with pytest.raises(InputError, match="one row for each of the 1 answers, got 2×1"):
        ef.floor(policies["reading"], [[1.0], [2.0]])


def test_a_constant_law_tells_nothing():
    constant = Policy([0, 1], Cells.of_points([0, 1]), [[0.5, 0.5], [0.5, 0.5]])
    floor = ef.floor(constant, [[1.0, 2.0]], ranges=(0, 1), evaluation_error=0.5)
    assert floor.distinguish(1.0) == 0.5 and floor.worst_entry == math.inf
    assert constant.explain().endswith("the information at most 0.")


def test_two_values_are_told_apart_no_better_than_stated(policies):
    for name in ("share", "count", "shifted"):
        policy = policies[name]
        rng = np.random.default_rng(5)
        for _ in range(100):
            one, other = rng.uniform(policy.values.low, policy.values.high, 2)
            pair = policy.pair(one, other)
            assert (1 + pair.total_variation) / 2 <= policy.distinguish(abs(one - other)) + 1e-12
            assert pair.divergence == pytest.approx(4 - 8 * pair.overlap, abs=1e-12)


def test_values_outside_are_refused_without_being_quoted(policies):
    with pytest.raises(InputError) as refused:
        policies["reading"].sample([3.0, 51.2345])
    assert str(refused.value) == "s must lie within the policy's values 0 … 50: clamp it first"


def test_laws_that_are_none_are_refused():
    points = Cells.of_points([0, 1])
    with pytest.raises(InputError, match="probabilities that add up to 1"):
        Policy([0, 1], points, [[0.5, 0.6], [0.5, 0.5]])
    with pytest.raises(InputError, match="increasing order"):
        Policy([1, 0], points, [[0.5, 0.5], [0.5, 0.5]])
    with pytest.raises(InputError, match="must have 2 rows and 2 columns"):
        Policy([0, 1], points, [[1.0], [1.0]])
    with pytest.raises(InputError, match="do not overlap"):
        Cells([0.0, 0.5], [0.6, 1.0])


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({}, "without a quality term the best answer is the same for every value"),
        ({"noise": Interval(-2, 2)}, "without a quality term J = 0: answers in 0 … 1 are allowed for every value"),
        ({"max_loss": 0.25}, "is met by one constant answer, whose loss is at most 0.25"),
        ({"average_loss": 1 / 12}, "at least the spread of the values themselves, 0.0833"),
        ({"outputs": [0, 1], "max_loss": 0.2}, "cannot be met: at some value every allowed answer loses 0.25"),
        ({"outputs": Interval(0.5, 1), "max_loss": 0.2}, "cannot be met"),
        ({"outputs": [3.0], "max_loss": 0.2}, "only one answer is left"),
        (
            {"max_loss": 1e-9, "nodes": 8, "cells": 16},
            "cannot be met on this grid: at some node every allowed cell loses",
        ),
    ],
)
def test_degenerate_wishes_are_refused_in_the_words_of_the_theory(wish, message):
    with pytest.raises(IllPosedError, match=message):
        design_answer(**({"outputs": LINE, "values": LINE} | wish))


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"values": 3}, "values must be an Interval"),
        ({"noise": 3}, "noise must be an Interval or a HalfLine"),
        ({"objective": "least"}, "objective must be 'average' or 'worst'"),
        ({"loss": "median"}, "loss must be 'squared', 'absolute' or a factor"),
        ({"average_loss": 0.01}, "give one of max_loss, average_loss and loss_weight, got max_loss and average_loss"),
        ({"weight": 3}, "weight must be None or a function of s, got int"),
        ({"weight": lambda s: s - 0.5}, "weight must be a positive, finite number"),
        ({"outputs": "all"}, "outputs must be an Interval, a HalfLine, Integers or a list of numbers"),
        ({"max_loss": -1}, "max_loss must be positive"),
        ({"weight": lambda s: "heavy"}, "weight must give a number for each value"),
        ({"weight": lambda s: np.ones(3)}, "weight must give a number for each value"),
        ({"weight": lambda s: 1 / 0}, "weight must give a number for each value of an array of them: division by zero"),
        ({"loss": [[2.0]]}, "loss must be 'squared', 'absolute' or a factor"),
        ({"nodes": 10**7}, "at most 2048 nodes and 8192 cells are solved for, got 10000000"),
        ({"cells": 10**7}, "at most 2048 nodes and 8192 cells are solved for"),
    ],
)
def test_wishes_that_are_none_are_refused(wish, message):
    with pytest.raises(InputError, match=message):
        design_answer(**({"outputs": LINE, "values": LINE, "max_loss": 0.01} | wish))


def test_too_fine_a_grid_is_refused_before_it_is_tried():
    with pytest.raises(ConvergenceError, match="would take 158114 nodes and 316228 cells, above 2048 and 8192"):
        design_answer(LINE, LINE, max_loss=1e-9)


def test_scope_says_what_a_bound_takes_for_granted():
    policy = design_answer(LINE, LINE, average_loss=0.03, nodes=8, cells=16)
    assert policy.certificate.scope == "every policy, taking its quality at the nodes,"


@pytest.mark.parametrize("objective", ["average", "worst"])
def test_very_large_weights_of_quality_are_solved(objective):
    policy = design_answer(LINE, LINE, loss_weight=1e10, nodes=8, cells=16, objective=objective)
    assert policy.certificate.lower_bound >= 0
    assert policy.certificate.average_loss < 2 * (1 / 16) ** 2


def test_questions_to_a_policy_that_do_not_fit_are_refused(policies):
    policy = policies["share"]
    with pytest.raises(InputError, match=r"y and s must have shapes that fit, got \(3,\) and \(2,\)"):
        policy.pdf([0.1, 0.2, 0.3], [0.1, 0.2])
    with pytest.raises(InputError, match="values must be numbers"):
        policy.pair("a", 1)
    with pytest.raises(InputError, match="distance must be a number, got nan"):
        policy.distinguish(math.nan)


def test_outputs_without_any_answer_are_refused():
    with pytest.raises(SupportError, match="hold no answer that values in"):
        design_answer(Interval(5, 6), LINE, max_loss=0.01)


def test_a_small_noise_needs_a_fine_grid():
    with pytest.raises(IllPosedError, match="take more nodes and cells"):
        design_answer(Interval(-1, 2), LINE, noise=Interval(-0.1, 0.1), nodes=4, cells=10)


def test_half_line_answers_never_leave_the_hull_of_the_values(policies):
    """Moving an answer into the hull brings it nearer to every value: the optimum needs no other."""
    policy = policies["reading"]
    wider = design_answer(Interval(0, 80), Interval(0, 50), max_loss=30.0, nodes=24, cells=60)
    assert policy.cells.high.max() <= 50
    assert wider.certificate.value == policy.certificate.value


def test_grids_are_refined_to_the_tolerance():
    policy = design_answer(LINE, LINE, max_loss=0.03, tolerance=0.01)
    assert policy.certificate.gap <= 0.01
    assert policy.certificate.scope == "every policy"
    finer = design_answer(LINE, LINE, max_loss=0.03, nodes=2 * (len(policy.nodes) - 1), cells=200)
    assert policy.certificate.lower_bound <= finer.certificate.value <= policy.certificate.value


def test_average_bound_lets_answers_shrink_to_the_mean(policies):
    average = design_answer(LINE, LINE, average_loss=0.02, nodes=14, cells=40)
    assert average.certificate.average_loss <= 0.02
    assert average.largest_loss > 0.035
    assert average.certificate.value < policies["share"].certificate.value


def test_weight_and_bound_trade_off():
    policy = design_answer(LINE, LINE, loss_weight=400.0, nodes=14, cells=40)
    known = policy.certificate
    assert known.value == pytest.approx(known.average_information + 400 * known.average_loss, rel=1e-12)
    bound = design_answer(LINE, LINE, average_loss=known.average_loss, nodes=14, cells=40)
    assert bound.certificate.average_information == pytest.approx(known.average_information, rel=5e-3)


def test_weights_move_information_to_where_it_costs_less():
    heavy = design_answer(LINE, LINE, max_loss=0.03, weight=lambda s: np.exp(-6 * s), nodes=14, cells=30)
    assert heavy.information(0.2) < heavy.information(0.8)


def test_function_weights_agree_with_quadrature():
    bell = Weights.of(Interval(-3, 3), lambda s: np.exp(-(s**2)))
    nodes = np.linspace(-3, 3, 13)
    fine = np.linspace(-3, 3, 600_001)
    p = np.exp(-(fine**2))
    p /= np.trapezoid(p, fine)
    arithmetic, harmonic = bell.steps(nodes)
    for i in range(12):
        part = (fine >= nodes[i]) & (fine <= nodes[i + 1])
        assert arithmetic[i] == pytest.approx(np.trapezoid(p[part], fine[part]) / 0.5, rel=1e-4)
        assert harmonic[i] == pytest.approx(0.5 / np.trapezoid(1 / p[part], fine[part]), rel=1e-4)
    assert bell.nodes(nodes)[6] == pytest.approx(
        np.trapezoid(p * np.clip(1 - np.abs(fine) / 0.5, 0, 1), fine), rel=1e-4
    )


def test_cells_know_their_mean_loss():
    cells = Cells.of_interval(0.0, 1.0, 3)
    for loss, plain in (("squared", lambda w: w**2), ("absolute", np.abs)):
        for s in (-0.2, 0.1, 0.5, 1.3):
            y = cells.low[:, None] + cells.width[:, None] * (np.arange(20_000) + 0.5) / 20_000
            expected = plain(y - s).mean(axis=1)
            assert cells.mean_loss(ef.noise.Loss.parse(loss, 1), s) == pytest.approx(expected, rel=1e-6)


def test_a_lattice_of_answers_is_used_as_it_is():
    grid = np.round(np.arange(0, 1.01, 0.05), 2)
    policy = design_answer(grid, LINE, max_loss=0.03, nodes=12)
    assert set(policy.cells.low) <= set(grid)
    assert set(policy.sample(np.full(2000, 0.5), rng=1)) <= set(grid)


def test_half_lines_bound_noise_on_one_side():
    policy = design_answer(Interval(0, 3), Interval(0, 2), noise=HalfLine(0.0), max_loss=0.2, nodes=40, cells=80)
    s = np.random.default_rng(1).uniform(0, 2, 50_000)
    assert (policy.sample(s, rng=2) >= s - 1e-12).all()


def test_words_say_what_holds(policies):
    text = policies["reading"].explain()
    assert text.startswith("Answers to values in 0 … 50; whatever the value, the mean loss is at most 30")
    assert "is proved to be within" in text
