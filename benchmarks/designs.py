"""Cost of computed designs: how time grows with the unknowns, and against plain linear elements at equal accuracy."""

import os
from collections.abc import Callable

import numpy as np

os.environ.setdefault("ERRORFLOOR_CACHE", "off")

import errorfloor as ef
from benchmarks.report import Report
from benchmarks.stopwatch import side_by_side
from errorfloor.designer.boxes.line import Potential
from errorfloor.designer.boxes.tensor import Tensor
from errorfloor.noise.spectral_axis import Axis

DEGREES = {2: (20, 40, 80, 160), 3: (10, 16, 24, 36), 4: (7, 10, 14, 18)}


def correlated(m: int, r: float = 0.5) -> np.ndarray:
    return (1 - r) * np.eye(m) + r * np.ones((m, m))


def ground_state(m: int, degree: int) -> float:
    axes = (Axis(np.array([0.0, 1.0]), degree),) * m
    return Tensor(axes, 4 * correlated(m), Potential.of(None, np.eye(m))).ground_state(tolerance=1e-8)[0]


def linear_elements(levels: int, K: np.ndarray) -> float:
    """The same optimum on the unit square by scikit-fem's linear triangles on a regular mesh."""
    from scipy.sparse.linalg import eigsh
    from skfem import Basis, BilinearForm, ElementTriP1, MeshTri, condense

    basis = Basis(MeshTri().refined(levels), ElementTriP1())

    @BilinearForm
    def energy(u, v, _):
        return 4 * sum(K[i, j] * u.grad[i] * v.grad[j] for i in range(2) for j in range(2))

    @BilinearForm
    def mass(u, v, _):
        return u * v

    A, M, *_ = condense(energy.assemble(basis), mass.assemble(basis), D=basis.get_dofs())
    return float(eigsh(A, 1, M, sigma=0, return_eigenvectors=False)[0])


def main(report: Report) -> None:
    rows, notes = [], []
    for m, degrees in DEGREES.items():
        times = side_by_side({f"{n}": lambda m=m, n=n: ground_state(m, n) for n in degrees}, 3)
        unknowns, seconds = [(degree - 1) ** m for degree in degrees], list(times.values())
        for count, taken in zip(unknowns, seconds, strict=True):
            rows.append([f"{m} dimensions", f"{count:,}", taken / seconds[0]])
        exponent = np.polyfit(np.log(unknowns), np.log(seconds), 1)[0]
        notes.append(f"{m} dimensions: time grows as unknowns^{exponent:.2f}")
    title = "Time of the matrix-free eigen-solver against its unknowns, correlation ½"
    report.rows(title, ["", "unknowns", "× first"], rows)
    for note in notes:
        report.note(note)

    K = correlated(2)
    best = ground_state(2, 160)
    solvers: dict[str, Callable[[], float]] = {
        f"polynomials of degree {degree}": lambda degree=degree: ground_state(2, degree) for degree in (6, 8, 10, 14)
    } | {
        f"linear elements, {2 * 4**levels:,} cells": lambda levels=levels: linear_elements(levels, K)
        for levels in (4, 6, 8, 9)
    }
    times = side_by_side(solvers, 1)
    first = next(iter(times.values()))
    off = [[name, times[name] / first, f"{abs(solve() / best - 1):.1e}"] for name, solve in solvers.items()]
    report.rows("Unit square, correlation ½: error against time", ["", "× first", "off by"], off)
    at_equal_accuracy = {
        "polynomials of degree 6": lambda: ground_state(2, 6),
        "scikit-fem P1, 131,072 cells": lambda: linear_elements(8, K),
    }
    times = side_by_side(at_equal_accuracy, 3)
    report.ratios("The optimum on the square to 1e-4", times, "polynomials of degree 6", unit="ms")

    designs = {
        "interval, bounded loss": lambda: ef.design(ef.Interval(-1, 1), max_loss=0.05),
        "square, correlated, with proof": lambda: ef.design(ef.Box([0, 0], [1, 1]), sensitivity=correlated(2)),
        "cube, correlated, with proof": lambda: ef.design(ef.Box([0] * 3, [1] * 3), sensitivity=correlated(3)),
        "four cubes, correlated, with proof": lambda: ef.design(
            ef.Box([0] * 4, [1] * 4), sensitivity=correlated(4, 0.3)
        ),
        "triangle, with proof": lambda: ef.design(ef.Polygon([[0, 0], [1, 0], [0, 1]])),
        "ellipsoid in four dimensions, correlated, with proof": lambda: ef.design(
            ef.Ellipsoid(np.diag([1.0, 0.5, 2.0, 1.0])), sensitivity=correlated(4)
        ),
    }
    report.ratios("A computed design", side_by_side(designs, 3), "interval, bounded loss", unit="ms")

    noise = ef.design(ef.Box([0, 0], [1, 1]), sensitivity=correlated(2))
    product = ef.design(ef.Box([0, 0], [1, 1]))
    line = ef.design(ef.Interval(-1, 1), max_loss=0.05)
    draws = {
        "product of raised cosines": lambda: product.sample(100_000, rng=1),
        "computed, one coordinate": lambda: line.sample(100_000, rng=1),
        "computed, two coordinates": lambda: noise.sample(100_000, rng=1),
    }
    report.ratios("A draw", side_by_side(draws, 5), "product of raised cosines", per=100_000, unit="ns")
