"""Random systems, and their stacked observability matrices by plain multiplication."""

import numpy as np

from errorfloor.dynamics import LinearSystem


def stacked(system):
    rows, carried = [], np.eye(system.dimension)
    for k in range(system.horizon + 1):
        rows.append(system.output_matrix(k) @ carried)
        if k < system.horizon:
            carried = system.step_matrix(k) @ carried
    return np.vstack(rows)


def random_system(rng, *, most=6, varying=False):
    n = int(rng.integers(1, most + 1))
    m = int(rng.integers(1, 3))
    horizon = int(rng.integers(max(1, n - 1), n + 4))
    A = rng.normal(size=(horizon, n, n) if varying else (n, n))
    A = A / np.abs(np.linalg.eigvals(A)).max(axis=-1)[..., None, None] * rng.uniform(0.7, 1.3)
    C = rng.normal(size=(horizon + 1, m, n) if varying else (m, n))
    return LinearSystem(A, C, horizon)


def random_weight(rng, n):
    root = rng.normal(size=(n, n))
    return root @ root.T + 0.05 * np.eye(n)


VEHICLE = ([[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0]])
