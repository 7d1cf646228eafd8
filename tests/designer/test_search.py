"""What a search needs: few steps to the weight of a loss, little room, and no more than doubles can hold."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import erfc

import errorfloor as ef
from errorfloor.designer.boxes.solver import Scaled, ground_state
from errorfloor.designer.meshes.region import Isotropic, truncating_walls
from errorfloor.designer.numerical import meet
from errorfloor.errors import ConvergenceError
from errorfloor.noise import Certificate, Loss


@pytest.mark.parametrize("power", [1 / 2, 1 / 3, 0.05])
@pytest.mark.parametrize("guess", [1e-4, 1.0, 1e5])
def test_the_weight_of_a_loss_is_found_in_few_steps(power, guess):
    asked = []

    def solve(weight, kept):
        asked.append(weight)
        return SimpleNamespace(loss=0.1 + weight**-power)

    _, weight = meet(solve, lambda state: state.loss, 1.1, 0.1, guess)
    assert weight == pytest.approx(1.0, rel=1e-9)
    assert len(asked) <= 16


def test_a_rough_solver_is_used_to_come_near_and_the_other_one_to_arrive():
    rough, fine = [], []

    def roughly(weight, kept):
        rough.append(weight)
        return SimpleNamespace(loss=1.003 * weight**-0.5)

    def solve(weight, kept):
        fine.append(weight)
        return SimpleNamespace(loss=weight**-0.5)

    state, _ = meet(solve, lambda state: state.loss, 1.0, 0.0, 300.0, roughly=roughly)
    assert state.loss == pytest.approx(1.0, rel=1e-12)
    assert rough
    assert max(abs(math.log(w)) for w in fine) < 0.1


@pytest.mark.parametrize("m", [2, 3])
def test_little_of_the_density_lies_beyond_the_walls(m):
    weight = 0.7
    squared = Isotropic(ef.Reals(m), np.eye(m), Loss.parse("squared", m))
    _, offsets = truncating_walls(squared, weight, m * math.sqrt(weight) / 2)
    assert erfc(float(offsets.min()) * (weight / 4) ** 0.25) < 1e-6


def test_ends_of_the_support_stay_where_they_are_when_units_change():
    form = (np.eye(2), (ef.HalfLine(-0.3), ef.HalfLine(high=0.7)))
    loss = Loss.parse("squared", 2)
    first = ground_state(form, np.array([[1.0, 0.3], [0.3, 1.0]]), loss, 2.0, tolerance=1e-2, certify=False)
    for weight in np.linspace(2.0, 2.1, 40):
        problem = Scaled.of(form, np.array([[1.0, 0.3], [0.3, 1.0]]), loss, float(weight))
        one, two = first.memory.axes_in(problem)
        assert one.breaks[0] == problem.domain.low[0]
        assert two.breaks[-1] == problem.domain.high[1]


def test_a_noise_far_narrower_than_its_support_is_found():
    noise = ef.design(ef.Interval(-1e-3, 1e-3), loss_weight=1e-30, sensitivity=[[1e-150]])
    assert noise.certificate.value == pytest.approx(2e-90, rel=1e-10)
    assert noise.certificate.gap < 1e-9


def test_numbers_beyond_doubles_are_an_error_and_not_a_warning():
    with pytest.raises(ConvergenceError, match="rescale the data"):
        ef.design(ef.HalfLine(1.7e308), loss="absolute", loss_weight=1.0, sensitivity=[[1e-200]])
    assert Certificate(value=0.0, lower_bound=0.0, method="underflow").gap == 0
