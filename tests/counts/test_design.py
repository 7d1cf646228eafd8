"""Tables keep their rules, are optimal, and beat the table of greatest entropy."""

import itertools

import cvxpy as cp
import numpy as np
import pytest

from errorfloor.policies.chain import Dual, lower_bound
from errorfloor.policies.counts import CountRules, design_counts
from errorfloor.policies.counts.design import chain_of
from errorfloor.policies.counts.tail import affinity, tail_row, widest_row
from errorfloor.policies.counts.weights import WHOLE

KINDS = [(True, True), (True, False), (False, True), (False, False)]  # unbiased, keep_zero
CASES = [
    (1, 0.5, True, True, 1),
    (2, 1.0, True, False, 1),
    (3, 2.0, False, True, 2),
    (3, 9.0, False, False, 1),
    (4, 2.5, True, True, 3),
    (5, 3.0, True, True, 1),
    (6, 1e-3, True, False, 1),
    (8, 4.5, False, False, 1),
]


def energies(table):
    return 8 * (1 - np.cos(table.angles))


def exact_moment(row, power):
    reach = len(row) // 2
    return sum((m - reach) ** power * weight for m, weight in enumerate(row))


@pytest.mark.parametrize("objective", ["average", "worst", "distinguish", "entropy"])
@pytest.mark.parametrize(("D", "V", "unbiased", "keep_zero", "least"), CASES)
def test_tables_keep_their_rules_to_the_last_bit(D, V, unbiased, keep_zero, least, objective):
    table = design_counts(
        max_noise=D, variance=V, unbiased=unbiased, keep_zero=keep_zero, least_positive=least, objective=objective
    )
    for i, row in enumerate(table.weights):
        assert sum(row) == WHOLE
        published = [i + m - D for m, weight in enumerate(row) if weight]
        assert min(published) >= 0
        assert not set(published) & set(range(1, least))
        if unbiased and (i > 0 or keep_zero):
            assert abs(exact_moment(row, 1)) <= D  # of 2⁶⁴, where 1e-10 is asked for
        assert exact_moment(row, 2) <= (V + 1e-12) * WHOLE
    if keep_zero:
        assert table.weights[0][D] == WHOLE
    assert -1e-12 <= table.certificate.gap <= 1e-4


def referee(D, V, unbiased, keep_zero, least, length, objective, tail):
    """The same problem in CVXPY's words: one variable for each probability, one for each √(p p′)."""
    rules = CountRules(D, V, unbiased, keep_zero, least)
    rows, constraints = [], []
    for i in range(length + 1):
        allowed = [0] if i == 0 and keep_zero else [j for j in range(max(0, i - D), i + D + 1) if j == 0 or j >= least]
        p = cp.Variable(len(allowed), nonneg=True)
        k = np.array(allowed) - i
        constraints += [cp.sum(p) == 1, (k**2) @ p <= V]
        if unbiased and (i > 0 or keep_zero):
            constraints.append(k @ p == 0)
        rows.append(dict(zip(allowed, p, strict=True)))
        if i == length:
            constraints.append(p == tail)
    assert rules.first_whole <= length
    if objective == "entropy":
        goal = cp.Minimize(sum(np.log(2 * D + 1) - cp.sum(cp.entr(cp.hstack(list(r.values())))) for r in rows[:-1]))
    else:
        affinities = []
        for i in range(length):
            shared = sorted(set(rows[i]) & set(rows[i + 1]))
            roots = cp.Variable(len(shared), nonneg=True)
            constraints += [
                cp.SOC(rows[i][j] + rows[i + 1][j], cp.hstack([rows[i][j] - rows[i + 1][j], 2 * roots[m]]))
                for m, j in enumerate(shared)
            ]
            affinities.append(cp.sum(roots))
        gaps = [8 * (1 - a) for a in affinities]
        goal = cp.Minimize(sum(gaps) if objective == "average" else cp.max(cp.hstack(gaps)))
    problem = cp.Problem(goal, constraints)
    problem.solve(solver=cp.CLARABEL)
    return problem.value


@pytest.mark.parametrize("objective", ["average", "worst", "entropy"])
@pytest.mark.parametrize(
    ("D", "V", "unbiased", "keep_zero", "least"),
    [(3, 2.0, True, False, 1), (2, 1.0, False, True, 1), (4, 3.0, True, True, 2)],
)
def test_the_same_problem_in_other_words_has_the_same_tables(D, V, unbiased, keep_zero, least, objective):
    options = {"max_noise": D, "variance": V, "unbiased": unbiased, "keep_zero": keep_zero, "least_positive": least}
    table = design_counts(**options, objective=objective)
    tail = widest_row(np.arange(-D, D + 1), V, mean=True)[0] if objective == "entropy" else tail_row(D, V)
    value = referee(D, V, unbiased, keep_zero, least, table.last, objective, tail)
    if objective == "worst":
        value = max(value, 8 * (1 - affinity(tail)))
    assert table.certificate.value == pytest.approx(value, rel=2e-5 if objective == "worst" else 1e-6)
    assert table.certificate.lower_bound == pytest.approx(value, rel=2e-5 if objective == "worst" else 1e-6)


@pytest.mark.parametrize(
    ("D", "V", "unbiased", "keep_zero", "least"),
    [(3, 2.0, True, False, 1), (2, 1.0, False, True, 1), (4, 3.0, True, True, 2)],
)
def test_a_conic_solver_tells_neighbours_apart_no_less(D, V, unbiased, keep_zero, least):
    """Clarabel, with one variable for each place from −D to D of each row; the last row is moved along."""
    options = {"max_noise": D, "variance": V, "unbiased": unbiased, "keep_zero": keep_zero, "least_positive": least}
    table = design_counts(**options, objective="distinguish")
    rows, k, constraints = cp.Variable((table.last + 1, 2 * D + 1), nonneg=True), np.arange(-D, D + 1), []
    for i in range(table.last + 1):
        allowed = (i + k >= 0) & ((i + k == 0) | (i + k >= least)) & ((k == 0) | (i > 0) | (not keep_zero))
        constraints += [cp.sum(rows[i]) == 1, (k**2) @ rows[i] <= V, rows[i][np.flatnonzero(~allowed)] == 0]
        if unbiased and (i > 0 or keep_zero):
            constraints.append(k @ rows[i] == 0)
    following = [*range(1, table.last + 1), table.last]
    apart = [cp.norm1(cp.hstack([rows[i], 0]) - cp.hstack([0, rows[following[i]]])) / 2 for i in range(table.last + 1)]
    problem = cp.Problem(cp.Minimize(cp.max(cp.hstack(apart))), constraints)
    problem.solve(solver=cp.CLARABEL)
    assert table.certificate.value == pytest.approx(0.5 * (1 + problem.value), abs=1e-7)
    assert table.certificate.lower_bound == pytest.approx(0.5 * (1 + problem.value), abs=1e-7)
    assert table.floor().distinguish() == table.certificate.value


@pytest.mark.parametrize(("unbiased", "keep_zero"), KINDS)
def test_no_other_objective_tells_one_unit_less_from_one_cell(unbiased, keep_zero):
    options = {"max_noise": 5, "variance": 3.0, "unbiased": unbiased, "keep_zero": keep_zero}
    told = {
        name: design_counts(**options, objective=name).floor().distinguish()
        for name in ("average", "worst", "distinguish", "entropy")
    }
    assert told["distinguish"] < min(told["average"], told["worst"], told["entropy"]) - 0.005


def test_multipliers_of_another_problem_prove_less_and_nothing_false():
    from errorfloor.policies.counts.telling import _Program, least_telling

    rules = CountRules(4, 3.0, unbiased=True, keep_zero=True)
    _, best = least_telling(rules, 8)
    program = _Program.of(rules, 8)
    found = program.solve(program.supremum, 1.0)
    noise = np.random.default_rng(2)
    for size in (1e-6, 1e-3, 0.1):
        found.eqlin.marginals = found.eqlin.marginals + size * noise.normal(size=len(program.totals))
        assert program.proved(found) < best


@pytest.mark.parametrize("D", range(2, 9))
def test_information_is_below_the_table_of_greatest_entropy(D, capsys):
    options = {"max_noise": D, "variance": D / 2 + 0.5, "keep_zero": True}
    average, worst, widest = (design_counts(**options, objective=name) for name in ("average", "worst", "entropy"))
    added = energies(average)[:-1].sum() / energies(widest)[:-1].sum()
    supremum = worst.information() / widest.information()
    moved = average.information(10**6) / widest.information(10**6)
    with capsys.disabled():
        print(
            f"\n±{D}: sum {added:.4f}, supremum {supremum:.4f}, large counts {moved:.5f} of greatest entropy's", end=""
        )
    assert added < 0.85
    assert supremum < 0.70
    assert moved < 1
    assert average.information() < widest.information()
    assert worst.information() <= average.information() * (1 + 1e-5)


@pytest.mark.parametrize(("unbiased", "keep_zero"), KINDS)
def test_supremum_is_below_that_of_greatest_entropy_under_all_rules(unbiased, keep_zero):
    options = {"max_noise": 4, "variance": 3.0, "unbiased": unbiased, "keep_zero": keep_zero}
    best = design_counts(**options, objective="worst")
    widest = design_counts(**options, objective="entropy")
    assert best.information() < widest.information()


def test_moved_row_is_the_raised_cosine_where_the_variance_is_free():
    for D in (1, 3, 7):
        k = np.arange(-D, D + 1)
        row = tail_row(D, float(D * D))
        np.testing.assert_allclose(row, np.cos(np.pi * k / (2 * D + 2)) ** 2 / (D + 1), atol=1e-13)


def test_no_average_over_large_counts_beats_the_moved_row():
    rng = np.random.default_rng(5)
    D, V, N = 3, 2.0, 60
    best, moved = affinity(tail_row(D, V)), tail_row(D, V)
    k = np.arange(-D, D + 1)
    for _ in range(30):
        rows = []
        for _ in range(N + 1):
            p = moved * np.exp(rng.normal(0, 0.3, 2 * D + 1))
            p /= p.sum()
            share = min(1.0, V / float(k**2 @ p))
            rows.append(share * p + (1 - share) * (k == 0))
        affinities = [np.sqrt(a[1:] * b[:-1]).sum() for a, b in itertools.pairwise(rows)]
        assert np.sum(affinities) <= (N + 1) * best
    even = np.array([0, 0.125, 0, 0.75, 0, 0.125, 0])  # random rounding to even counts, whose average comes close
    odd = np.array([0, 0, 0.5, 0, 0.5, 0, 0])
    pair = np.sqrt(even[1:] * odd[:-1]).sum(), np.sqrt(odd[1:] * even[:-1]).sum()
    assert np.mean(pair) <= affinity(tail_row(D, 1.0))


def test_lower_bound_holds_for_random_multipliers_and_tables():
    rng = np.random.default_rng(8)
    chain = chain_of(CountRules(3, 2.0, True, True), tail_row(3, 2.0), 6)
    table = design_counts(max_noise=3, variance=2.0, keep_zero=True)
    nodes = len(chain.allowed)
    for size in (1e-3, 0.05, 1.0):
        for _ in range(50):
            levels, slopes, prices = rng.normal(0, size, nodes), rng.normal(0, size, nodes), rng.normal(0, size, nodes)
            assert lower_bound(chain, Dual(levels, (slopes, prices)))[0] <= table.certificate.value * (1 + 1e-12)
    other = np.pad(design_counts(max_noise=2, variance=1.5, keep_zero=True, own_rows=6).dense(0, 6), ((0, 0), (0, 1)))
    other[-1] = chain.last
    for share in np.linspace(0, 1, 11):  # laws within the rules, from the best to others
        energy = chain.energy((1 - share) * table.dense(0, 6) + share * other)
        assert energy >= table.certificate.lower_bound


def test_more_rows_of_their_own_never_cost_anything():
    options = {"max_noise": 2, "variance": 1.0, "keep_zero": True}
    tail = energies(design_counts(**options))[-1]
    sums = []
    for rows in (2, 4, 6, 8):
        table = design_counts(**options, own_rows=rows)
        sums.append((energies(table)[:-1] - tail).sum())
    assert sums == sorted(sums, reverse=True)


def test_keeping_zeros_and_unbiasedness_have_their_price():
    def worst(**rules):
        return design_counts(max_noise=5, variance=3.0, objective="worst", **rules).information()

    free = worst(unbiased=False, keep_zero=False)
    assert free == pytest.approx(4 * np.arccos(affinity(tail_row(5, 3.0))) ** 2, rel=1e-4)
    assert free < worst(unbiased=True, keep_zero=False) < worst(unbiased=True, keep_zero=True)
