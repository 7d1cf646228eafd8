"""Problem 1 and Theorem 1: the supremum of Tr I⁻¹, which noise along a chord approaches and no density need attain."""

import math
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.floors import Floor, floor
from errorfloor.noise import BesselBall, LinearImage, Product, RaisedCosine
from paper.model import Claim, Drawing, Shown

SIDES = np.array([[1.0, 0.6], [0.0, 0.8]])  # columns: two unit vectors with cosine 0.6


def rhombus_diagonals() -> tuple[Array, Array]:
    """The long and the short diagonal of the rhombus spanned by the two unit vectors."""
    return SIDES.sum(axis=1), SIDES[:, 0] - SIDES[:, 1]


def along_the_chord(thickness: float) -> Floor:
    """The floor of product noise on the rectangle of that thickness inscribed around the rhombus's long diagonal.

    >>> thin = along_the_chord(1e-6)
    >>> round(thin.total**2, 5), bool(thin.worst_entry < 1e-6)
    (0.08106, True)
    """
    long, short = rhombus_diagonals()
    length = float(np.linalg.norm(long)) * (1 - thickness / float(np.linalg.norm(short)))
    box = Product((RaisedCosine(-length / 2, length / 2), RaisedCosine(-thickness / 2, thickness / 2)))
    axes = np.stack([long / np.linalg.norm(long), short / np.linalg.norm(short)])
    return floor(box, axes)  # noise and answer in coordinates along the diagonals: nothing cancels


def best_for(K: Array, size: int = 16) -> float:
    """(Tr K^½)²/Λ(K) on the rhombus: what the noise of least Tr(K I_w) guarantees for Tr I⁻¹.

    Λ is the least eigenvalue of −4 div(K∇), from above, in a basis of products of sines on the square that the rhombus
    is an image of. The supremum of this number over K is the supremum of Tr I⁻¹ over all densities.

    >>> best_for(np.eye(2)) < along_the_chord(1e-6).total ** 2
    True
    """
    inverse = np.linalg.inv(SIDES)
    M = inverse @ K @ inverse.T
    k = np.arange(1, size + 1)
    row, column = np.meshgrid(k, k, indexing="ij")
    odd = (row + column) % 2 == 1
    mixed = np.where(odd, 4.0 * row * column / np.where(odd, column**2 - row**2, 1), 0.0)  # ∫φ_k′φ_l
    square, one = np.diag((math.pi * k) ** 2), np.eye(size)
    energy = M[0, 0] * np.kron(square, one) + M[1, 1] * np.kron(one, square) + 2 * M[0, 1] * np.kron(mixed, mixed.T)
    root_trace = float(np.sqrt(np.linalg.eigvalsh(K)).sum())
    return root_trace**2 / (4 * float(np.linalg.eigvalsh((energy + energy.T) / 2)[0]))


def problem_one() -> Claim:
    """Tr I⁻¹ on the square and on the rhombus."""
    square = floor(Product((RaisedCosine(0.0, 1.0), RaisedCosine(0.0, 1.0))), np.eye(2))
    rhombus = floor(LinearImage(Product((RaisedCosine(0.0, 1.0), RaisedCosine(0.0, 1.0))), SIDES), np.eye(2))
    corners = np.array([[0.0, 0.0], SIDES[:, 0], SIDES[:, 1], SIDES.sum(axis=1)])
    diameter = max(float(np.linalg.norm(a - b)) for a in corners for b in corners)
    thin = along_the_chord(1e-9)
    disc = floor(BesselBall(2, 1.0), np.eye(2))
    along = np.stack([d / np.linalg.norm(d) for d in rhombus_diagonals()])
    oblong = along.T @ np.diag([1.0, 0.01]) @ along
    return Claim(
        "Problem 1 with Remarks 1 and 2",
        "maximising Tr I⁻¹",
        "well posed on a bounded W; a maximiser is sought",
        "Tr I⁻¹ is bounded, but its supremum need not be attained: noise squeezed onto the longest chord of C⁻¹W "
        "gives Tr I⁻¹ → diam(C⁻¹W)²/4π² while it gives the other directions away. On the square the product of "
        "raised cosines ties with the chord, on a rhombus the chord wins, on a disc it loses. For f(x) = x the "
        "supremum is that of (Tr K^½)²/Λ(K) over K ⪰ 0, Λ(K) the value of Problem 2, and a density attains it only if "
        "a regular K does",
        "corrected",
        (
            Shown("unit square, product noise", square.total**2, 2 / (4 * math.pi**2), "2Δ²/4π²", stated="0.0506606"),
            Shown(
                "rhombus with cosine 0.6, product noise",
                rhombus.total**2,
                float((SIDES**2).sum()) / (4 * math.pi**2),
                "squares of the sides over 4π²",
                stated="0.05066",
            ),
            Shown(
                "the same rhombus, noise on a rectangle 10⁻⁹ thick around the long diagonal",
                thin.total**2,
                diameter**2 / (4 * math.pi**2),
                "diam²/4π² from the corners",
                stated="0.08106",
                tolerance=1e-6,
            ),
            Shown(
                "… and its floor for the more exposed entry: none",
                float(thin.worst_entry),
                1e-9
                / (2 * math.pi)
                / float(np.abs(rhombus_diagonals()[1] / np.linalg.norm(rhombus_diagonals()[1])).max()),
                "thickness/2π over the larger direction cosine",
                tolerance=1e-6,
            ),
            Shown(
                "(Tr K^½)²/Λ(K) on the rhombus for K with eigenvalues 1 and 0.01 along its diagonals: below the "
                "chord's",
                best_for(oblong),
                best_for(oblong, size=22),
                "the same with 22² functions for 16²",
                tolerance=1e-3,
            ),
            Shown(
                "unit disc, Bessel noise: above its chord's 4/4π² = 0.1013",
                disc.total**2,
                1 / _first_bessel_zero() ** 2,
                "R²/j², j by bisection of the power series of J₀",
                stated="0.1729",
            ),
        ),
        "A server that maximised Tr I⁻¹ would reveal some entries exactly: per-entry floors collapse.",
        (
            Drawing(
                "chord",
                "Noise on ever thinner rectangles around the long diagonal of the rhombus: Tr I⁻¹ rises to the "
                "chord's value while the floor under the error of an entry falls to nothing.",
            ),
        ),
    )


def theorem_one() -> Claim:
    """The necessary condition, and a case without a maximiser."""
    thickness = 1e-9
    length = math.sqrt(2) - thickness
    box = Product((RaisedCosine(-length / 2, length / 2), RaisedCosine(-thickness / 2, thickness / 2)))
    twice = floor(box, [[math.sqrt(2)], [0.0]])  # (x, x) in coordinates along the diagonals of the square
    return Claim(
        "Theorem 1 with Remarks 5 and 6",
        "stationarity for Problem 1",
        "a solution satisfies Tr(I⁻² Cᵀ D²u C) + μu = 0, u = 0 on the boundary and u ≠ 0 inside",
        "the equation (Problem 2's with K = C I⁻² Cᵀ) is necessary for a maximiser, if there is one. For one number "
        "asked for twice, C = (1, 1)ᵀ and W the unit square, there is none: on every slice along the diagonal the "
        "equation asks for another μ, and 𝟙ᵀI_w𝟙 > 4π² for every density, while 4π² is approached",
        "corrected",
        (
            Shown(
                "multiplier μ for f(x) = x on [0, 1], times I²: π²",
                float(RaisedCosine(0.0, 1.0).information[0, 0]) / 4,
                -_second_difference(lambda w: math.sin(math.pi * w), 0.3) / math.sin(0.3 * math.pi),
                "difference quotient of u″/u",
                tolerance=1e-6,
            ),
            Shown(
                "I for C = (1, 1)ᵀ: noise 10⁻⁹ thick around the diagonal",
                float(twice.information[0, 0]),
                4 * math.pi**2,
                "4π², the infimum over slices along the diagonal",
                stated="39.478",
                tolerance=1e-8,
            ),
            Shown(
                "μ needed on the slice w₁ − w₂ = ½, over that on the diagonal: not 1, so that no u has one μ for all",
                float(RaisedCosine(0.5, 1.0).information[0, 0] / RaisedCosine(0.0, 1.0).information[0, 0]),
                1 / 0.5**2,
                "squared ratio of the slices' lengths",
                printed=1.0,
            ),
        ),
        "The condition may be met by densities that are not the best, and by none that is.",
    )


def _first_bessel_zero() -> float:
    """The first zero of J₀, bisecting its power series."""
    low, high = 2.0, 3.0
    for _ in range(60):
        middle = (low + high) / 2
        value = sum((-1) ** k * (middle / 2) ** (2 * k) / math.factorial(k) ** 2 for k in range(30))
        low, high = (middle, high) if value > 0 else (low, middle)
    return low


def _second_difference(function: Any, w: float, step: float = 1e-4) -> float:
    return float((function(w + step) - 2 * function(w) + function(w - step)) / step**2)
