"""Problem 1 and Theorem 1."""

import math

import numpy as np
import pytest
from scipy.special import jn_zeros

from errorfloor.floors import floor
from errorfloor.noise import BesselBall, LinearImage, Product, RaisedCosine
from paper.chord import SIDES, along_the_chord, best_for, rhombus_diagonals

CHORD = 3.2 / (4 * math.pi**2)


def unit_product():
    return Product((RaisedCosine(0.0, 1.0), RaisedCosine(0.0, 1.0)))


def test_chord_of_the_square_ties_with_the_product_of_raised_cosines():
    for width in (1.0, 2.5):
        noise = Product((RaisedCosine(0.0, width), RaisedCosine(0.0, width)))
        assert floor(noise, np.eye(2)).total ** 2 == pytest.approx(0.0506606 * width**2, rel=1e-6)
        assert (math.sqrt(2) * width) ** 2 / (4 * math.pi**2) == pytest.approx(0.0506606 * width**2, rel=1e-6)


def test_chord_of_the_rhombus_beats_the_product_of_raised_cosines():
    product = floor(LinearImage(unit_product(), SIDES), np.eye(2)).total ** 2
    assert product == pytest.approx(0.05066, abs=5e-6)
    assert along_the_chord(1e-9).total ** 2 == pytest.approx(CHORD, rel=1e-6)
    assert pytest.approx(0.08106, abs=5e-6) == CHORD


def test_thin_rectangles_lie_in_the_rhombus_and_approach_the_chord_from_below():
    long, short = rhombus_diagonals()
    assert abs(float(long @ short)) < 1e-12
    previous = 0.0
    for thickness in (0.3, 0.1, 0.03, 0.01, 1e-3, 1e-5):
        share = 1 - thickness / np.linalg.norm(short)
        corner = (1 + share) / 2 * long + thickness / 2 * short / np.linalg.norm(short)
        coefficients = np.linalg.solve(SIDES, corner)  # of the two sides: in the rhombus if both are in [0, 1]
        assert (coefficients <= 1 + 1e-12).all() and (coefficients >= 0).all()
        value = along_the_chord(thickness).total ** 2
        assert previous < value < CHORD
        previous = value


def test_per_entry_floors_collapse_along_the_chord():
    floors = [float(along_the_chord(t).worst_entry) for t in (1e-2, 1e-4, 1e-6)]
    assert floors[0] / floors[1] == pytest.approx(100, rel=0.01)
    assert floors[2] < 1e-6


def test_no_regular_weight_reaches_the_chord_of_the_rhombus():
    along = np.stack([d / np.linalg.norm(d) for d in rhombus_diagonals()])
    values = [best_for(along.T @ np.diag([1.0, c**2]) @ along) for c in (1.0, 0.5, 0.2, 0.1, 0.05)]
    assert values == sorted(values)
    assert values[-1] < CHORD


@pytest.mark.parametrize("angle", np.linspace(0, math.pi, 7)[:-1])
@pytest.mark.parametrize("ratio", [1.0, 0.3])
def test_product_noise_respects_the_bound_of_its_own_weight(angle, ratio):
    """(Tr K^½)² ≤ Tr I⁻¹ · Tr(K I) for every noise and every K."""
    axes = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
    K = axes.T @ np.diag([1.0, ratio**2]) @ axes
    found = floor(LinearImage(unit_product(), SIDES), np.eye(2))
    assert (1 + ratio) ** 2 <= found.total**2 * np.trace(K @ found.information) * (1 + 1e-12)
    assert best_for(K) >= (1 + ratio) ** 2 / np.trace(K @ found.information) * (1 - 1e-9)


def test_disc_beats_its_chord():
    value = floor(BesselBall(2, 1.0), np.eye(2)).total ** 2
    assert value == pytest.approx(1 / jn_zeros(0, 1)[0] ** 2, rel=1e-9)
    assert value == pytest.approx(0.1729, abs=5e-5)
    assert value > 4 / (4 * math.pi**2)


def test_one_number_asked_for_twice_has_no_least_informative_density():
    """Slices w₁ − w₂ = c have length 1 − |c|: a slice's information 4π²/(1 − |c|)² is least on the diagonal alone."""
    for thickness in (0.1, 1e-3, 1e-6):
        length = math.sqrt(2) - thickness
        box = Product((RaisedCosine(-length / 2, length / 2), RaisedCosine(-thickness / 2, thickness / 2)))
        information = float(floor(box, [[math.sqrt(2)], [0.0]]).information[0, 0])
        assert information == pytest.approx(8 * math.pi**2 / length**2, rel=1e-9)
        assert information > 4 * math.pi**2
    assert information == pytest.approx(39.478, abs=1e-3)
    assert float(floor(unit_product(), [[1.0], [1.0]]).information[0, 0]) == pytest.approx(78.957, abs=1e-3)
