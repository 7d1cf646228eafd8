"""The matrix S = B H⁻¹ Bᵀ + Θ of the multipliers, factorised at a cost that is linear in the number of nodes.

S is dense: whatever is asked of one node is felt at all others, through the laws. But where the laws p of a single node
are held fixed, the nodes before and behind it do not feel each other. So a chain is cut into segments by separators.
With x the changes of law at separators and ν the multipliers, those of inner nodes without index,

    A ν + E x = right,   D x − Eᵀ ν − B_sᵀ ν_s = 0,   B_s x + Θ_s ν_s = right_s.

A is S of each segment on its own; D is tridiagonal in each cell. Without ν, D + Eᵀ A⁻¹ E is left on the separators: a
block tridiagonal matrix whose blocks are as large as there are cells, bordered by the separators' own multipliers.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import ConvergenceError
from errorfloor.policies.layout import Layout
from errorfloor.policies.links import Links
from errorfloor.policies.segment_matrices import SegmentMatrices
from errorfloor.policies.segments import Segments

FAINT = 1e-25  # beside a unit diagonal; smaller ones would only bring numbers near the least double
RIDGE = 1e-15  # relative to the diagonal of each matrix


@dataclass(frozen=True)
class Factor:
    """Cholesky's factor C of a matrix with a unit diagonal, which ``scale`` brings about."""

    lower: Array
    scale: Array

    @classmethod
    def of(cls, matrix: Array) -> "Factor":
        """Factorise a positive definite matrix, which is overwritten."""
        from scipy.linalg.lapack import dpotrf

        scale = 1 / np.sqrt(np.diag(matrix))
        matrix *= scale
        matrix *= scale[:, None]
        matrix[np.abs(matrix) < FAINT] = 0.0
        matrix[np.diag_indices_from(matrix)] += RIDGE * len(matrix)
        if np.isfinite(matrix).all():
            lower, failed = dpotrf(matrix, lower=1, clean=1)
            if not failed:
                return cls(lower, scale)
        raise ConvergenceError("the matrix of the multipliers has lost its definiteness")

    def half(self, right: Array) -> Array:
        """C⁻¹ right."""
        return self._solve(right * (self.scale if right.ndim == 1 else self.scale[:, None]), 0)

    def rest(self, half: Array) -> Array:
        """C⁻ᵀ of what ``half`` gave."""
        return self._solve(half, 1) * (self.scale if half.ndim == 1 else self.scale[:, None])

    def _solve(self, right: Array, transposed: int) -> Array:
        from scipy.linalg.lapack import dtrtrs

        return np.asarray(dtrtrs(self.lower, right, lower=1, trans=transposed)[0])


@dataclass(frozen=True)
class Separator:
    """A separator's block, what stands before it eliminated."""

    laws: Factor  # of the block itself
    across: Array  # C⁻¹Bᵀ, its own multipliers
    own: Factor  # Θ + B(block)⁻¹Bᵀ
    onward: Array  # C⁻¹N, N the block beside it; empty at the last

    def solve(self, laws: Array, rows: Array) -> tuple[Array, Array]:
        """C⁻¹ of x, and ν, from right sides; x alone takes a further step back."""
        nu = self.own.rest(self.own.half(rows - self.across.T @ laws))
        return laws + self.across @ nu, nu


@dataclass(frozen=True)
class Multipliers:
    """S, factorised: ``solve`` gives S⁻¹ right for multipliers stacked as in the layout, without shared ones."""

    segments: Segments
    kinds: int
    inner: list[Factor]  # A of every segment
    felt: list[Array]  # C⁻¹E of every segment, (rows, 2M)
    separators: list[Separator]

    @classmethod
    def factorise(cls, layout: Layout, links: Links, slack_ratio: Array) -> "Multipliers":
        """Factorise segment by segment, then separator by separator."""
        parts = SegmentMatrices.of(layout, links, slack_ratio)
        A, E = parts.inner()
        inner = [Factor.of(matrix) for matrix in A]
        felt = [factor.half(block) for factor, block in zip(inner, E, strict=True)]
        return cls(parts.segments, len(parts.rows), inner, felt, _eliminated(parts, felt))

    def solve(self, right: Array) -> Array:
        """S⁻¹ right."""
        segments, width = self.segments, self.felt[0].shape[1] // 2
        kinds, steps = self.kinds, right.size > self.kinds * segments.nodes
        pieces = [segments.of_nodes(part, 0.0) for part in np.split(right[: kinds * segments.nodes], kinds)]
        inside = [piece[:, :-1] for piece in pieces]
        if steps:
            inside.append(segments.of_steps(right[kinds * segments.nodes :], 0.0))
        half = [factor.half(np.concatenate([part[k] for part in inside])) for k, factor in enumerate(self.inner)]
        pushed = [block.T @ part for block, part in zip(self.felt, half, strict=True)]
        own = np.stack(pieces)[:, :, -1]
        x, nu = self._separators([a[width:] + b[:width] for a, b in pairwise(pushed)], own)
        sides = [np.zeros(width), *x, np.zeros(width)]
        found = [
            factor.rest(part - block @ np.concatenate(sides[k : k + 2]))
            for k, (factor, part, block) in enumerate(zip(self.inner, half, self.felt, strict=True))
        ]
        return self._stacked(np.stack(found), nu, steps)

    def _separators(self, right: list[Array], own: Array) -> tuple[list[Array], Array]:
        halves, nus = [], np.zeros(own.shape)
        carried: Array | float = 0.0
        for k, block in enumerate(self.separators):
            half = block.laws.half(right[k] - carried)
            halves.append(half)
            if block.onward.size:
                carried = block.onward.T @ block.solve(half, own[:, k])[0]
        x: list[Array] = []
        for k in range(len(self.separators) - 1, -1, -1):
            block = self.separators[k]
            behind = block.onward @ x[0] if x else 0.0
            half, nus[:, k] = block.solve(halves[k] - behind, own[:, k])
            x.insert(0, block.laws.rest(half))
        return x, nus

    def _stacked(self, found: Array, own: Array, steps: bool) -> Array:
        length, out = self.segments.length, []
        for k in range(self.kinds):
            part = np.concatenate([found[:, k * length : (k + 1) * length], own[k][:, None]], axis=1)
            out.append(self.segments.joined(part))
        if steps:
            out.append(self.segments.joined(found[:, self.kinds * length :], before=1))
        return np.concatenate(out)


def _eliminated(parts: SegmentMatrices, felt: list[Array]) -> list[Separator]:
    """Block after block."""
    out: list[Separator] = []
    width = felt[0].shape[1] // 2
    taken: Array | float = 0.0
    between = parts.between
    for k in range(len(felt) - 1):
        matrix = felt[k][:, width:].T @ felt[k][:, width:] + felt[k + 1][:, :width].T @ felt[k + 1][:, :width] - taken
        matrix[np.diag_indices(width)] += parts.separator_diagonal[k]
        laws = Factor.of(matrix)
        across = laws.half(parts.separator_rows[k].T)
        own = across.T @ across
        own[np.diag_indices_from(own)] += parts.separator_slack[k]
        factor = Factor.of(own)
        onward = np.zeros((0, 0))
        if k < len(felt) - 2:
            beside = felt[k + 1][:, :width].T @ felt[k + 1][:, width:]
            beside[np.diag_indices(width)] -= between[k + 1]
            onward = laws.half(beside)
            bound = factor.half(across.T @ onward)
            taken = onward.T @ onward - bound.T @ bound
        out.append(Separator(laws, across, factor, onward))
    return out
