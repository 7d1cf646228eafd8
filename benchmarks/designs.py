"""Cost of computed designs: how time grows with the unknowns, and against plain linear elements at equal accuracy."""

import os
import time
from collections.abc import Callable

import numpy as np

os.environ.setdefault("ERRORFLOOR_CACHE", "off")

import errorfloor as ef
from benchmarks.stopwatch import side_by_side, table
from errorfloor.designer.potential import Potential
from errorfloor.designer.tensor import Tensor
from errorfloor.noise.spectral_axis import Axis

DEGREES = {2: (20, 40, 80, 160), 3: (10, 16, 24, 36), 4: (7, 10, 14, 18)}


def correlated(m: int, r: float = 0.5) -> np.ndarray:
    return (1 - r) * np.eye(m) + r * np.ones((m, m))


def ground_state(m: int, degree: int) -> float:
    axes = (Axis(np.array([0.0, 1.0]), degree),) * m
    return Tensor(axes, 4 * correlated(m), Potential.none(m)).ground_state(tolerance=1e-8)[0]


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


def main() -> None:
    print("\nTime of the matrix-free eigen-solver against its unknowns, correlation ½")
    for m, degrees in DEGREES.items():
        unknowns, seconds = [], []
        for degree in degrees:
            ground_state(m, degree)
            start = time.perf_counter()
            ground_state(m, degree)
            seconds.append(time.perf_counter() - start)
            unknowns.append((degree - 1) ** m)
            print(
                f"  {m} dimensions, {unknowns[-1]:>7,} unknowns   {seconds[-1]:>8.3f} s   "
                f"{seconds[-1] / seconds[0]:>8.1f} × first"
            )
        exponent = np.polyfit(np.log(unknowns), np.log(seconds), 1)[0]
        print(f"  {m} dimensions: time grows as unknowns^{exponent:.2f}")

    K = correlated(2)
    best = ground_state(2, 160)
    print("\nUnit square, correlation ½: relative error against time")
    for degree in (6, 8, 10, 14):
        _line(f"polynomials of degree {degree}", lambda degree=degree: ground_state(2, degree), best)
    for levels in (4, 6, 8, 9):
        _line(f"linear elements, {2 * 4**levels:,} cells", lambda levels=levels: linear_elements(levels, K), best)
    at_equal_accuracy = {
        "polynomials of degree 6": lambda: ground_state(2, 6),
        "scikit-fem P1, 131,072 cells": lambda: linear_elements(8, K),
    }
    times = side_by_side(at_equal_accuracy, 3)
    table("The optimum on the square to 1e-4", times, "polynomials of degree 6", unit="ms")

    designs = {
        "interval, bounded loss": lambda: ef.design(ef.Interval(-1, 1), max_loss=0.05),
        "square, correlated, with proof": lambda: ef.design(ef.Box([0, 0], [1, 1]), sensitivity=correlated(2)),
        "cube, correlated, with proof": lambda: ef.design(ef.Box([0] * 3, [1] * 3), sensitivity=correlated(3)),
        "four cubes, correlated, with proof": lambda: ef.design(
            ef.Box([0] * 4, [1] * 4), sensitivity=correlated(4, 0.3)
        ),
        "triangle, with proof": lambda: ef.design(ef.Polygon([[0, 0], [1, 0], [0, 1]])),
    }
    table("A computed design", side_by_side(designs, 3), "interval, bounded loss", unit="ms")

    noise = ef.design(ef.Box([0, 0], [1, 1]), sensitivity=correlated(2))
    product = ef.design(ef.Box([0, 0], [1, 1]))
    line = ef.design(ef.Interval(-1, 1), max_loss=0.05)
    draws = {
        "product of raised cosines": lambda: product.sample(100_000, rng=1),
        "computed, one coordinate": lambda: line.sample(100_000, rng=1),
        "computed, two coordinates": lambda: noise.sample(100_000, rng=1),
    }
    table("A draw", side_by_side(draws, 5), "product of raised cosines", per=100_000, unit="ns")


def _line(name: str, compute: Callable[[], float], best: float) -> None:
    compute()
    start = time.perf_counter()
    value = compute()
    print(f"  {name:<34} {time.perf_counter() - start:>8.3f} s   off by {value / best - 1:>8.1e}")


if __name__ == "__main__":
    main()
