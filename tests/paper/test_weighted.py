"""Corollary 4, and data-dependent noise on a grid."""

import math

import numpy as np
import pytest

from errorfloor.errors import ConvergenceError
from errorfloor.policies import conic
from paper.chain import STEP, Chain
from paper.weighted import bell, decay, in_the_continuum, policies


def by_definition(chain: Chain, rows: np.ndarray) -> float:
    """Σ(4q/h)‖v_{i+1} − v_i‖² with every row written out over all answers."""
    count, reach = rows.shape
    v = np.zeros((count, count + reach + 1))
    for i, row in enumerate(rows):
        v[i, i + 1 : i + 1 + reach] = row
    return float((4 * chain.weights / STEP * (np.diff(v, axis=0) ** 2).sum(axis=1)).sum())


def uniform(length: float) -> Chain:
    return Chain(0.0, length, np.zeros_like)


@pytest.mark.parametrize(
    ("between", "cosine", "printed", "best"), [("root", 39.37, 45.41, 37.393), ("middle", 39.397, 45.441, 37.416)]
)
def test_check_figures_of_corollary_four(between, cosine, printed, best):
    found = {name: energy for name, (_, energy) in policies("bell", between).items()}
    assert found["raised cosine"] == pytest.approx(cosine, abs=0.005 if between == "root" else 0.0005)
    assert found["as printed"] == pytest.approx(printed, abs=0.005 if between == "root" else 0.0005)
    assert found["optimum"] == pytest.approx(best, abs=0.0005)


def test_grid_is_the_one_stated():
    chain = bell()
    assert chain.values[0] == -3 and chain.values[-1] == pytest.approx(3) and chain.values.size == 121
    assert chain.noise.size == 19 and chain.noise[0] == pytest.approx(STEP) and chain.noise[-1] == pytest.approx(0.95)
    assert bell("root").weights * math.exp(STEP**2 / 4) == pytest.approx(bell("middle").weights, rel=1e-12)


@pytest.mark.parametrize("name", ["raised cosine", "as printed", "sign turned", "optimum"])
def test_energy_is_the_one_defined(name):
    rows, energy = policies("bell")[name]
    assert by_definition(bell(), rows) == pytest.approx(energy, rel=1e-12)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(len(rows)), abs=1e-12)
    assert (rows >= 0).all()


def test_printed_policy_costs_more_than_the_raised_cosine_and_the_turned_one_less():
    found = {name: energy for name, (_, energy) in policies("bell").items()}
    assert found["optimum"] < found["sign turned"] < found["raised cosine"] < found["as printed"]
    assert 0.003 < found["sign turned"] / found["optimum"] - 1 < 0.004


@pytest.mark.parametrize("tilt", [-2.0, 0.0, 2.0])
def test_grid_and_continuum_agree_within_half_a_percent(tilt):
    chain = bell()
    assert chain.energy(chain.tilted(tilt * chain.values)) == pytest.approx(in_the_continuum(tilt, chain), rel=5e-3)


def test_optimum_is_proved_by_duality():
    for chain in (bell(), decay(), uniform(1.5)):
        assert abs(chain.energy(chain.optimum()) - chain.lower_bound()) < 1e-7 * chain.lower_bound()


def test_no_policy_is_below_the_bound():
    chain = uniform(1.5)
    rng = np.random.default_rng(5)
    for _ in range(10):
        rows = chain.optimum() + rng.random(chain.raised_cosine().shape) * 10.0 ** -rng.integers(1, 5)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        assert chain.energy(rows) > chain.lower_bound()


@pytest.mark.parametrize(("length", "least"), [(0.5, 0.0), (1.5, 16.21), (3.0, 27.62)])
def test_data_dependent_policies_beat_the_raised_cosine(length, least):
    chain = uniform(length)
    assert chain.energy(chain.raised_cosine()) == pytest.approx(39.40, abs=0.005)
    assert chain.energy(chain.optimum()) == pytest.approx(least, abs=0.005)


def test_information_between_nodes_averages_to_the_slerp_figure():
    chain = bell()
    rows = policies("bell")["optimum"][0]
    assert float((chain.weights * STEP) @ chain.information(rows)) == pytest.approx(37.490, abs=0.0005)


def test_turned_policy_is_stationary_inside_x_but_not_at_its_ends():
    """For p ∝ e^{−x} each row is the normalised pull of its neighbours, except the first and the last."""
    chain = decay()

    def missed(rows: np.ndarray) -> np.ndarray:
        pull = np.zeros_like(rows)
        pull[:-1, 1:] += chain.weights[:, None] * rows[1:, :-1]
        pull[1:, :-1] += chain.weights[:, None] * rows[:-1, 1:]
        return np.linalg.norm(pull / np.linalg.norm(pull, axis=1, keepdims=True) - rows, axis=1)

    turned, printed = (missed(policies("decay")[name][0]) for name in ("sign turned", "as printed"))
    assert turned[1:-1].max() < 1e-12
    assert min(turned[0], turned[-1]) > 0.05
    assert printed[1:-1].min() > 1e-3


def test_policy_of_the_lower_panel_costs_one_more_than_the_raised_cosine():
    """4∫u′² = 4(π² + ¼) for u ∝ e^{±w/2} sin πw, so that both signs lose to 4π²."""
    for sign in (-1.0, 1.0):
        w = (np.arange(200_000) + 0.5) / 200_000
        u = np.exp(sign * w / 2) * np.sin(math.pi * w)
        slope = sign / 2 * u + math.pi * np.exp(sign * w / 2) * np.cos(math.pi * w)
        assert 4 * (slope**2).mean() / (u**2).mean() == pytest.approx(4 * math.pi**2 + 1, rel=1e-8)
    found = {name: energy for name, (_, energy) in policies("decay").items()}
    assert found["optimum"] < found["raised cosine"] < found["as printed"]
    assert found["as printed"] == pytest.approx(found["sign turned"], rel=1e-9)


def test_solver_says_so_when_it_does_not_converge(monkeypatch):
    solve_badly = conic._Program.solve
    monkeypatch.setattr(conic._Program, "solve", lambda program, _: solve_badly(program, 0.1))
    with pytest.raises(ConvergenceError, match="the chain problem of 61 nodes and 79 cells was not solved"):
        uniform(3.0).optimum()


def test_least_average_has_a_supremum_far_above_the_raised_cosine():
    """J is an average; where p is tiny the optimum lets the information grow, and floors follow from its supremum."""
    assert 85 < bell().information(policies("bell")["optimum"][0]).max() < 95
    assert bell().information(bell().raised_cosine()).max() == pytest.approx(4 * math.pi**2, rel=1e-9)
