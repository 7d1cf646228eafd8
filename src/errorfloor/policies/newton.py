"""One Newton step of the interior-point method: links, then columns, then multipliers are eliminated."""

from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import ConvergenceError
from errorfloor.policies.columns import Columns
from errorfloor.policies.cones import Scaling
from errorfloor.policies.layout import Layout

REFINEMENTS = 2  # of the multipliers, which lose digits as the matrix becomes singular
FAINT = 1e-25  # beside a unit diagonal; smaller ones would only bring numbers near the least double
RIDGE = 1e-15  # relative to the diagonal of the multipliers' matrix


@dataclass(frozen=True)
class Newton:
    """The matrix [[H, Bᵀ], [B, −Θ]] of a step, factorised.

    H = κ(2ggᵀ − …) for every link; without the link's own unknown, κ/(1 + c²) [[2a², −c²/2], [−c²/2, 2b²]] is left of
    it for the two laws, a matrix whose determinant is κ²/(1 + c²).
    """

    layout: Layout
    columns: Columns
    first: Array  # how much of a link's right side is passed to its first node, ac/(1 + c²) …
    second: Array  # … and to its second
    stiffness: Array  # of a link, 2κ(1 + c²); infinite where there is no link
    slack_ratio: Array  # Θ
    factor: tuple[Array, bool]  # Cholesky's, of the multipliers' matrix with a unit diagonal …
    scale: Array  # … which this brings about

    @classmethod
    def factorise(cls, layout: Layout, scaling: Scaling, lone: Array, slack_ratio: Array) -> "Newton":
        """Build and factorise: ``lone`` is z/p at nodes without neighbours, ``slack_ratio`` is Θ."""
        from scipy.linalg import LinAlgError, cho_factor

        linked = layout.linked
        a, b, c, kappa = scaling.entries()
        spread = 1 + c**2
        diagonal = np.where(layout.chain.allowed & ~layout.lone, 0.0, 1.0)
        diagonal[layout.lone] = lone
        diagonal[:-1][linked] += kappa * 2 * a**2 / spread
        diagonal[1:][linked] += kappa * 2 * b**2 / spread
        columns = Columns.factorise(diagonal, _on(linked, kappa * c**2 / 2 / spread))
        first, second = _on(linked, a * c / spread), _on(linked, b * c / spread)
        stiffness = _on(linked, 2 * kappa * spread, elsewhere=np.inf)
        matrix = _schur(layout, columns, first, second, stiffness)
        matrix[np.diag_indices_from(matrix)] += slack_ratio
        scale = 1 / np.sqrt(np.diag(matrix))
        matrix *= scale
        matrix *= scale[:, None]
        matrix[np.abs(matrix) < FAINT] = 0.0
        matrix[np.diag_indices_from(matrix)] += RIDGE * len(matrix)
        try:
            factor = cho_factor(matrix, overwrite_a=True, check_finite=True)
        except (LinAlgError, ValueError):
            raise ConvergenceError("the matrix of the multipliers has lost its definiteness") from None
        return cls(layout, columns, first, second, stiffness, slack_ratio, factor, scale)

    def solve(self, on_p: Array, on_r: Array, rows: Array, top: float) -> tuple[Array, Array, Array, float]:
        """Give (dp, dr, dν, dt) for right sides of laws, links, rows, and of the sum of the steps' multipliers."""
        dp, dr = self._without_rows(on_p, on_r)
        nu, change = np.zeros(len(rows)), 0.0
        for _ in range(1 + REFINEMENTS):
            missing = self.layout.left_sides(dp, dr) - self.slack_ratio * nu - rows
            more = self._multipliers(missing)
            if self.layout.chain.worst:
                steps = self.layout.parts[-1]
                missing[steps] -= change
                more = self._multipliers(missing)
                unit = np.zeros(len(missing))
                unit[steps] = 1.0
                response = self._multipliers(unit)
                turn = float((more[steps].sum() - (top - nu[steps].sum())) / response[steps].sum())
                more, change = more - turn * response, change + turn
            nu = nu + more
            back_p, back_r = self.layout.adjoint(nu)
            dp, dr = self._without_rows(on_p - back_p, on_r - np.where(self.layout.linked, back_r, 0.0))
        return dp, dr, nu, change

    def _without_rows(self, on_p: Array, on_r: Array) -> tuple[Array, Array]:
        right = on_p.copy()
        right[:-1] -= self.first * on_r
        right[1:] -= self.second * on_r
        p = self.columns.solve(right)
        return p, on_r / self.stiffness - self.first * p[:-1] - self.second * p[1:]

    def _multipliers(self, right: Array) -> Array:
        from scipy.linalg import cho_solve

        return np.asarray(self.scale * cho_solve(self.factor, self.scale * right))


def _on(linked: Array, values: Array, elsewhere: float = 0.0) -> Array:
    out = np.full(linked.shape, elsewhere)
    out[linked] = values
    return out


def _schur(layout: Layout, columns: Columns, first: Array, second: Array, stiffness: Array) -> Array:
    """B H⁻¹ Bᵀ for all multipliers."""
    kinds = len(layout.coefficients)
    G = columns.inverse_diagonal
    left = list(layout.coefficients)
    right = [G * a for a in layout.coefficients]
    steps = None
    if layout.chain.worst:
        # the step's row is c(p + p′ − 2r); with r eliminated, u p + u′ p′
        c = layout.chain.couplings[:, None]
        u = c * (layout.coefficients[0][:-1] + 2 * first)
        v = c * (layout.coefficients[0][1:] + 2 * second)
        ratios = columns.ratios[:-1]
        left.append(np.concatenate([np.zeros((1, G.shape[1])), u * ratios + v]))
        right.append(np.concatenate([u * G[:-1] + v * ratios * G[1:], np.zeros((1, G.shape[1]))]))
        alone = u**2 * G[:-1] + 2 * u * v * ratios * G[1:] + v**2 * G[1:] + 4 * c**2 / stiffness
        steps = alone.sum(axis=1)
    joined = columns.joined(left, right)
    size = layout.parts[-1].stop
    matrix = np.zeros((size, size))
    shared = [False, *(rows.shared for rows in layout.chain.rows)]
    for k in range(kinds):
        for m in range(kinds):
            upper = joined[k, :, m, :]
            block = upper + np.triu(joined[m, :, k, :], 1).T
            if shared[k]:
                block = block.sum(axis=0, keepdims=True)
            if shared[m]:
                block = block.sum(axis=1, keepdims=True)
            matrix[layout.parts[k], layout.parts[m]] = block
    if steps is not None:
        last = layout.parts[-1]
        for k in range(kinds):
            # a node up to the step's first, or a step whose second node is at most the node
            block = joined[k, :, kinds, :-1] + joined[kinds, 1:, k, :].T
            if shared[k]:
                block = block.sum(axis=0, keepdims=True)
            matrix[layout.parts[k], last] = block
            matrix[last, layout.parts[k]] = block.T
        between = joined[kinds, 1:, kinds, :-1]  # from one step's second node to a later step's first
        matrix[last, last] = between + between.T + np.diag(steps)
    return matrix
