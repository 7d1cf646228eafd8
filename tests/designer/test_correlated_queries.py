"""What independent noise costs when queries are correlated: the reason why a numerical optimum is worth having.

The optimum on the unit box is computed by Rayleigh and Ritz in a basis of sines, so it is an upper bound of the
true one and the ratios are lower bounds that converge from below.
"""

import math

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator, lobpcg


def ground_state_on_unit_box(K, n):
    """Least 4∫∇uᵀK∇u over unit u in the span of sines up to order n in each coordinate."""
    m = len(K)
    order = np.arange(1, n + 1)
    i, j = np.meshgrid(order, order, indexing="ij")
    gap = np.where(i == j, 1, i**2 - j**2)
    # ∫ (√2 sin iπx)(√2 sin jπx)′ dx
    derivative = np.where((i + j) % 2 == 1, 4.0 * i * j / gap, 0.0)
    axes = [(math.pi * order).reshape([-1 if a == k else 1 for a in range(m)]) ** 2 for k in range(m)]
    diagonal = sum(K[k, k] * axes[k] for k in range(m)) * np.ones((n,) * m)

    def along(vector, axis):
        return np.moveaxis(np.tensordot(derivative, vector, (1, axis)), 0, axis)

    def apply(columns):
        out = []
        for column in columns.reshape(n**m, -1).T:
            v = column.reshape((n,) * m)
            mixed = sum(2 * K[a, b] * along(along(v, a), b) for a in range(m) for b in range(a + 1, m))
            out.append((diagonal * v - mixed).ravel())  # the derivative is antisymmetric, hence the minus
        return np.stack(out, axis=1)

    size = n**m
    operator = LinearOperator((size, size), matvec=lambda v: apply(v)[:, 0], matmat=apply, dtype=float)
    start = np.random.default_rng(0).normal(size=(size, 2)) / diagonal.reshape(-1, 1)
    start[0, 0] = 1.0
    values, _ = lobpcg(operator, start, M=lambda v: v / diagonal.reshape(-1, 1), largest=False, tol=1e-6, maxiter=3000)
    return 4 * values[0]


def product_cost(K):
    return 4 * math.pi**2 * np.trace(K)


@pytest.mark.filterwarnings("ignore::UserWarning")  # lobpcg reports the tolerance it reached on the second vector
@pytest.mark.parametrize(
    ("correlation", "order", "ratio", "tolerance"),
    [(0.3, 30, 1.0188, 5e-5), (0.6, 40, 1.0882, 5e-5), (0.9, 60, 1.3134, 5e-5)],
)
def test_product_noise_costs_more_than_the_optimum_for_two_correlated_answers(correlation, order, ratio, tolerance):
    K = np.array([[1.0, correlation], [correlation, 1.0]])
    assert product_cost(K) / ground_state_on_unit_box(K, order) == pytest.approx(ratio, abs=tolerance)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_product_noise_costs_more_for_prefix_sums():
    three, four = (np.tril(np.ones((n, n))) @ np.tril(np.ones((n, n))).T for n in (3, 4))
    assert product_cost(three) / ground_state_on_unit_box(three, 24) == pytest.approx(1.242, abs=5e-4)
    assert product_cost(four) / ground_state_on_unit_box(four, 12) > 1.359


def test_the_ritz_value_is_exact_for_independent_answers():
    assert ground_state_on_unit_box(np.diag([1.0, 2.0]), 6) == pytest.approx(product_cost(np.diag([1.0, 2.0])))
