"""The observability Gramian of a long horizon, as a root R with RᵀR = G, and the subspace that is observed at all."""

import numpy as np

from errorfloor.checks import LEAST, Array
from errorfloor.errors import InputError

LONGEST = 64  # steps that are multiplied out before they are joined with the rest
GROWTH = 1e3  # a block of steps that stretches more loses that many roundings, so it is cut shorter
UNSEEN = 1e-10  # a response this small beside the largest possible one is rounding
GREATEST = 1 / LEAST


def gramian_root(A: Array, C: Array, horizon: int) -> Array:
    """Give R with RᵀR = Σ_k Φ_kᵀ C_kᵀ C_k Φ_k, Φ_k = A_{k−1} … A_0, k = 0 … T, without ever stacking the C_k Φ_k.

    ``A`` has shape (T, n, n) and ``C`` (T + 1, m, n), or 1 in place of T and T + 1 where they are constant. From the
    last step to the first, R_k is the triangular factor of the rows of C_k above those of R_{k+1} A_k, blocks of steps
    at a time. Rows are sorted and columns pivoted, so that each row keeps its own relative accuracy: the part of
    the state that fades keeps its digits beside a part that grows by thirty orders of magnitude.

    Raises InputError if an output moves by more than 1e75 per unit of the initial state.

    >>> R = gramian_root(np.array([[[1.0, 1.0], [0.0, 1.0]]]), np.array([[[1.0, 0.0]]]), 2)
    >>> (R.T @ R).round(12)
    array([[3., 3.],
           [3., 5.]])
    """
    length = min(LONGEST, horizon + 1)
    while True:
        blocks, spans = _blocks(A, C, horizon, length)
        if length == 1 or spans is not None:
            break
        length = max(1, length // 4)
    assert spans is not None, "a single step is never cut"
    count = -(-(horizon + 1) // length)
    R = blocks[-1]
    for place in range(count - 2, -1, -1):
        at = place if len(blocks) == count else 0
        with np.errstate(over="ignore", invalid="ignore"):
            moved = R @ spans[at]
        R = _joined(np.vstack([blocks[at], moved]))
    return np.asarray(R)


def _blocks(A: Array, C: Array, horizon: int, length: int) -> tuple[Array, Array | None]:
    """Give for each block of steps the root of its own Gramian, and Φ across it; constant blocks only once."""
    count = -(-(horizon + 1) // length)
    constant = len(A) == 1 and len(C) == 1
    starts = np.unique([0, count - 1]) * length if constant else np.arange(count) * length
    m, n = C.shape[1:]
    spans = np.broadcast_to(np.eye(n), (len(starts), n, n)).copy()
    rows = np.zeros((len(starts), length, m, n))
    for j in range(length):
        at = starts + j
        live = (at <= horizon)[:, None, None]
        rows[:, j] = np.where(live, C[np.minimum(at, len(C) - 1)] @ spans, 0.0)
        onward = (at < horizon)[:, None, None]
        spans = np.where(onward, A[np.minimum(at, len(A) - 1)] @ spans, spans)
        if length > 1 and np.abs(spans).max() > GROWTH:
            return rows, None
    roots = np.stack([_joined(block.reshape(-1, n)) for block in rows])
    return roots, spans


def _joined(rows: Array) -> Array:
    """Give n rows R with RᵀR = rowsᵀ rows, row by row as exact as the rows are."""
    from scipy.linalg.lapack import dgeqp3

    n = rows.shape[1]
    lengths = np.abs(rows).max(axis=1)
    if not lengths.max() <= GREATEST:
        raise InputError(
            f"the system overflows: within its horizon an answer moves by more than {GREATEST:g} per unit of the "
            f"initial state; shorten the horizon, or rescale the state"
        )
    ordered = rows[np.argsort(-lengths, kind="stable")]
    if len(ordered) < n:
        ordered = np.vstack([ordered, np.zeros((n - len(ordered), n))])
    factored, pivots, *_ = dgeqp3(ordered)
    R = np.zeros((n, n))
    R[:, pivots - 1] = np.triu(factored[:n])
    return R


def observable_subspace(A: Array, C: Array, horizon: int) -> Array:
    """Give an orthonormal basis, one a column, of the directions of the initial state that move any answer.

    Follows the directions that no answer has seen yet, step by step, each kept at its own scale; for a constant system
    nothing new is seen after n steps.

    >>> observable_subspace(np.eye(2)[None], np.array([[[3.0, 0.0]]]), 5)
    array([[1.],
           [0.]])
    """
    n = C.shape[2]
    last = min(horizon, n - 1) if len(A) == 1 and len(C) == 1 else horizon
    start, now = np.eye(n), np.eye(n)  # columns: an unseen direction, and where it is by now
    faded = np.zeros((n, 0))
    for k in range(last + 1):
        output = C[min(k, len(C) - 1)]
        size = float(np.linalg.norm(output))
        if size > 0:
            _, values, directions = np.linalg.svd(output @ now)
            seen = int((values > UNSEEN * size).sum())
            start, now = start @ directions[seen:].T, now @ directions[seen:].T
        if k == last or not start.shape[1]:
            break
        step = A[min(k, len(A) - 1)]
        now = step @ now
        _, values, directions = np.linalg.svd(now)
        alive = int((values > UNSEEN * max(float(np.linalg.norm(step)), LEAST)).sum())
        faded = np.hstack([faded, start @ directions[alive:].T])
        start, now = start @ directions[:alive].T / values[:alive], now @ directions[:alive].T / values[:alive]
        start = start / max(float(np.abs(start).max(initial=0.0)), LEAST)  # its span is used, not its size
    unseen = np.hstack([faded, start])
    if not unseen.shape[1]:
        return np.eye(n)
    lengths = np.linalg.norm(unseen, axis=0)
    basis, values, _ = np.linalg.svd(unseen / lengths)
    rest = basis[:, int((values > UNSEEN).sum()) :]
    return _tidy(rest)


def _tidy(basis: Array) -> Array:
    """Use coordinate axes as the basis where they span the same; otherwise leave it."""
    projection = basis @ basis.T
    axes = np.diag(np.rint(np.diag(projection)))
    if np.allclose(projection, axes, rtol=0, atol=1e-9):
        return np.eye(len(basis))[:, np.diag(axes) > 0.5]
    return basis


def complement(basis: Array, within: Array | None = None) -> Array:
    """Give an orthonormal basis of what is orthogonal to a basis, in the whole space or within a subspace.

    >>> complement(np.array([[1.0], [0.0]]))
    array([[0.],
           [1.]])
    """
    n = len(basis)
    space = np.eye(n) if within is None else within
    left = space - basis @ (basis.T @ space)
    count = space.shape[1] - basis.shape[1]
    if count <= 0:
        return np.zeros((n, 0))
    directions, _, _ = np.linalg.svd(left, full_matrices=False)
    return _tidy(directions[:, :count])


def graded_svd(rows: Array) -> tuple[Array, Array]:
    """Give singular values S and right directions V of a matrix whose rows differ wildly in size.

    One-sided Jacobi rotations on the transpose: each value keeps its own relative accuracy, however small beside the
    largest (Demmel and Veselić), which the usual bidiagonal method does not give.

    >>> values, _ = graded_svd(np.array([[1e30, 1e30], [0.0, 1.0]]))
    >>> (values / [2**0.5 * 1e30, 0.5**0.5]).round(12)
    array([1., 1.])
    """
    from scipy.linalg.lapack import dgejsv

    square = _joined(rows)
    values, directions, _, work, _, status = dgejsv(np.asfortranarray(square.T), joba=0, jobu=0, jobv=3)
    if status != 0 or not np.isfinite(values).all():
        raise InputError("the system is too ill-conditioned for double precision: rescale its states")
    return values * (work[0] / work[1]), directions
