"""The solver against somebody else's, its bound against every policy, its rate against the theory."""

from dataclasses import replace

import numpy as np
import pytest

from errorfloor.errors import ConvergenceError, InputError
from errorfloor.policies import conic
from errorfloor.policies.chain import Chain, Dual, LawBounds, indefinite, lower_bound
from errorfloor.policies.conic import solve, solve_all
from policies.referee import by_descent, referee


def random_chain(seed: int, worst: bool = False) -> Chain:
    """Outputs, weights and losses at random; every kind of quality takes its turn."""
    rng = np.random.default_rng(seed)
    nodes, cells = int(rng.integers(4, 10)), int(rng.integers(5, 14))
    s = np.linspace(0, 1, nodes)
    y = np.sort(rng.uniform(0, 1, cells))
    loss = np.abs(y - s[:, None]) if seed % 2 else (y - s[:, None]) ** 2
    q = rng.uniform(0.3, 1.5, nodes - 1)
    couplings = np.full(nodes - 1, 4.0 * (nodes - 1) ** 2) if worst else 4 * q * (nodes - 1)
    allowed = np.ones((nodes, cells), dtype=bool)
    if seed % 7 == 3:
        allowed = np.abs(y - s[:, None]) < 0.45
        allowed[np.arange(nodes), np.abs(y - s[:, None]).argmin(axis=1)] = True
    nearest = np.where(allowed, loss, np.inf).min(axis=1)
    share = rng.uniform(0.5, 1.5, nodes)
    share /= share.sum()
    if seed % 3 == 0:
        bound = nearest.max() * 1.3 + 0.1 * rng.uniform(0.1, 0.6) * loss.mean()
        return Chain(couplings, allowed, rows=(LawBounds(loss, np.full(nodes, bound)),), worst=worst)
    if seed % 3 == 1:
        bound = share @ nearest * 1.1 + 0.1 * loss.mean()
        return Chain(
            couplings, allowed, rows=(LawBounds(loss * share[:, None], np.array([bound]), shared=True),), worst=worst
        )
    return Chain(couplings, allowed, cost=rng.uniform(20, 200) * share[:, None] * loss, worst=worst)


@pytest.mark.parametrize("seed", range(6))
def test_solution_is_the_referees(seed):
    chain = random_chain(seed)
    found = solve_all(chain, 1e-11)
    value, laws = referee(chain)
    assert found.value == pytest.approx(value, rel=1e-6)
    assert abs(found.value - found.lower_bound) < 1e-6 * found.value
    assert np.abs(found.laws - laws).max() < 1e-4


@pytest.mark.parametrize("seed", [2, 3])
def test_a_method_without_cones_comes_down_to_the_same_objective(seed):
    chain = random_chain(seed)
    assert by_descent(chain) == pytest.approx(solve_all(chain).value, rel=1e-5)


@pytest.mark.parametrize("worst", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_multipliers_prove_the_bound_by_eigenvalues_too(seed, worst):
    chain = random_chain(seed, worst)
    found = solve_all(chain)
    c = chain.couplings * (found.dual.steps if worst else 1.0)
    laplacian = np.diag(np.append(c, 0) + np.insert(c, 0, 0)) - np.diag(c, 1) - np.diag(c, -1)
    added = np.zeros(chain.allowed.shape) if chain.cost is None else chain.cost.copy()
    proved = found.dual.normalisation.sum()
    for rows, multipliers in zip(chain.rows, found.dual.rows, strict=True):
        assert (multipliers >= 0).all()
        added += rows.coefficients * multipliers[:, None]
        proved -= float((multipliers * rows.bounds).sum())
    for cell, allowed in enumerate(chain.allowed.T):
        whole = laplacian + np.diag(added[:, cell] - found.dual.normalisation)
        assert np.linalg.eigvalsh(whole[np.ix_(allowed, allowed)]).min(initial=0.0) >= -1e-12 * c.max()
    assert proved == pytest.approx(found.lower_bound, rel=1e-9)
    assert found.value == pytest.approx(found.lower_bound, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_worst_step_is_the_referees(seed):
    """Laws are not compared: where the information stays below its maximum they are not unique."""
    chain = random_chain(seed, worst=True)
    found = solve_all(chain)
    assert found.value == pytest.approx(referee(chain)[0], rel=1e-6)
    assert abs(found.value - found.lower_bound) < 1e-6 * found.value


def test_a_given_last_law_and_a_bound_on_steps_are_proved_too():
    """On two cells a law is an angle, and the shortest way from one to another has equal steps."""
    steps = 4
    allowed = np.ones((steps + 1, 2), dtype=bool)
    allowed[0, 1] = False
    chord = (2 * np.sin(np.pi / 2 / steps / 2)) ** 2
    chain = Chain(np.ones(steps), allowed, last=np.array([1e-12, 1 - 1e-12]))
    found = solve_all(chain)
    assert found.value == pytest.approx(steps * chord, rel=1e-4)
    assert found.value >= found.lower_bound == pytest.approx(found.value, rel=1e-6)
    uneven = replace(chain, couplings=np.array([1.0, 1.0, 1.0, 9.0]))
    free = solve_all(uneven)
    most = 0.95 * uneven.steps(free.laws).max()
    held = solve_all(replace(uneven, most=most))
    assert uneven.steps(held.laws).max() <= most * (1 + 1e-6)
    assert free.value < held.lower_bound == pytest.approx(held.value, rel=1e-6)


def shares(nodes: int, cells: int, **options) -> Chain:
    s, y = np.linspace(0, 1, nodes + 1)[:, None], (np.arange(cells) + 0.5) / cells
    rows = (LawBounds((y - s) ** 2, np.full(nodes + 1, 0.02)),)
    couplings = np.full(nodes, 4.0 * nodes**2 if options.get("worst") else 4.0 * nodes)
    return Chain(couplings, np.ones((nodes + 1, cells), dtype=bool), rows=rows, **options)


@pytest.mark.parametrize("worst", [False, True])
def test_few_cells_suffice_and_the_proof_covers_all(worst):
    chain = shares(24, 200, worst=worst)
    few, whole = solve(chain), solve_all(chain)
    assert few.value == pytest.approx(whole.value, rel=3e-6)
    assert few.laws.shape == chain.allowed.shape
    assert lower_bound(chain, few.dual)[0] == pytest.approx(few.lower_bound, rel=1e-12)
    assert abs(few.value - few.lower_bound) < 1e-5 * few.value
    assert (few.laws.max(axis=0) > 0).sum() < 110


def test_coarse_values_tell_which_cells_fine_ones_need():
    chain = shares(90, 150)
    found = solve(chain)
    assert abs(found.gap) < 1e-5
    assert (chain.rows[0].of(found.laws) <= 0.02 + 1e-6).all()


def test_bound_holds_whatever_multipliers_it_is_made_from():
    chain = random_chain(0)
    best = solve_all(chain)
    rng = np.random.default_rng(3)
    for size in (1e-6, 1e-3, 0.1, 1.0, 10.0):
        for _ in range(5):
            noise = best.dual.normalisation + size * rng.normal(size=len(chain.allowed))
            rows = best.dual.rows[0] + size * rng.normal(size=len(chain.allowed))
            proved, made_feasible = lower_bound(chain, Dual(noise, (rows,)))
            assert proved <= best.value * (1 + 1e-9)
            assert (made_feasible.rows[0] >= 0).all()


def test_bound_is_below_the_objective_of_random_laws():
    chain = random_chain(2)
    proved = solve_all(chain).lower_bound
    rng = np.random.default_rng(1)
    for _ in range(200):
        laws = rng.dirichlet(np.full(chain.allowed.shape[1], 0.3), size=len(chain.allowed))
        assert chain.energy(laws) > proved


def test_definiteness_agrees_with_eigenvalues():
    rng = np.random.default_rng(4)
    verdicts = set()
    for _ in range(60):
        n = int(rng.integers(2, 7))
        c, d = rng.uniform(0.1, 2, n - 1), rng.normal(0.3, 0.4, (n, 1))
        allowed = np.ones((n, 1), dtype=bool)
        allowed[rng.integers(0, n)] = rng.random() < 0.5
        laplacian = np.diag(np.append(c, 0) + np.insert(c, 0, 0)) - np.diag(c, 1) - np.diag(c, -1)
        kept = np.ix_(allowed[:, 0], allowed[:, 0])
        least = np.linalg.eigvalsh((laplacian + np.diag(d[:, 0]))[kept])[0]
        assert indefinite(c, d, allowed).any() == (least <= 0)
        verdicts.add(least > 0)
    assert verdicts == {True, False}


def test_nodes_without_neighbours_are_solved_too():
    """A cell that only the middle node may use costs both steps all they can cost."""
    allowed = np.array([[True, False, True], [False, True, False], [True, False, True]])
    found = solve_all(Chain(np.array([1.0, 2.0]), allowed))
    assert found.value == pytest.approx(6.0, rel=1e-9)
    assert found.laws[1].tolist() == [0.0, 1.0, 0.0]


def test_equalities_hold():
    s, y = np.linspace(0, 1, 6)[:, None], np.linspace(-0.5, 1.5, 9)
    unbiased = LawBounds((y - s) * np.ones((6, 1)), np.zeros(6), equal=True)
    small = LawBounds((y - s) ** 2, np.full(6, 0.1))
    chain = Chain(np.full(5, 20.0), np.ones((6, 9), dtype=bool), rows=(unbiased, small))
    found = solve_all(chain)
    assert np.abs(unbiased.of(found.laws)).max() < 1e-7
    assert found.value == pytest.approx(referee(chain)[0], rel=1e-6)


def test_error_falls_with_the_square_of_the_step():
    """Chords fall short of angles, and hats of integrals, by the square of the step."""

    def least(nodes: int) -> float:
        s, y = np.linspace(0, 1, nodes + 1)[:, None], np.array([0.0, 0.3, 0.55, 1.0])
        share = np.full((nodes + 1, 1), 1 / nodes)
        share[[0, -1]] /= 2
        allowed = np.ones((nodes + 1, 4), dtype=bool)
        return solve_all(Chain(np.full(nodes, 4.0 * nodes), allowed, cost=300 * share * (y - s) ** 2), 1e-11).value

    found = [least(nodes) for nodes in (8, 16, 32, 64)]
    errors = np.diff(found)
    orders = np.log2(errors[:-1] / errors[1:])
    assert orders == pytest.approx(2.0, abs=0.15)


def test_solver_says_so_when_it_does_not_converge(monkeypatch):
    solve_badly = conic._Program.solve
    monkeypatch.setattr(conic._Program, "solve", lambda program, _: solve_badly(program, 0.1))
    with pytest.raises(ConvergenceError, match="of 25 nodes and 40 cells was not solved: a relative gap of"):
        solve(shares(24, 40))


@pytest.mark.parametrize("worst", [False, True])
@pytest.mark.parametrize("bound", [-0.1, 1e-4])
def test_a_problem_without_a_solution_is_refused(bound, worst):
    s, y = np.linspace(0, 1, 6)[:, None], np.linspace(0, 1, 8)
    rows = (LawBounds((y - s) ** 2, np.full(6, bound)),)
    with pytest.raises(ConvergenceError, match=r"was not solved|no solution"):
        solve_all(Chain(np.full(5, 20.0), np.ones((6, 8), dtype=bool), rows=rows, worst=worst))


def test_multipliers_that_are_no_numbers_prove_nothing_and_end():
    chain = random_chain(0)
    nothing = np.full(len(chain.allowed), np.nan)
    with pytest.raises(ConvergenceError, match="no solution, or its solver found none"):
        lower_bound(chain, Dual(nothing, (nothing,)))


def test_chains_that_are_none_are_refused():
    with pytest.raises(InputError, match="1 couplings join one node more, got 3 nodes"):
        Chain(np.ones(1), np.ones((3, 2), dtype=bool))
    with pytest.raises(InputError, match="node 1 of the values has no answer that is allowed"):
        Chain(np.ones(1), np.array([[True], [False]]))
