"""The matrices A, E and D of a chain that is cut into segments, before they are factorised.

G is the inverse of a segment's tridiagonal matrices, one for each cell, its neighbouring separators held fixed:

    A = B G Bᵀ + Θ,   E = B G o + B_o,   D = D_s − oᵀ G o,

with o the links from the segment to its separators and B_o what a step's row has on a separator itself.
"""

from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array
from errorfloor.policies.columns import Columns
from errorfloor.policies.layout import Layout
from errorfloor.policies.links import Links
from errorfloor.policies.segments import Segments


@dataclass(frozen=True)
class StepRows:
    """Where the worst step counts: its row is c(p + p′ − 2r); with r eliminated, u p + u′ p′ and a room of its own."""

    first: Array  # u, (count, length + 1, M)
    second: Array  # u′
    room: Array  # (count, length + 1), Θ included


@dataclass(frozen=True)
class SegmentMatrices:
    """Everything that the elimination needs, segment by segment and separator by separator."""

    segments: Segments
    columns: Columns  # of inner nodes
    rows: list[Array]  # coefficients of inner nodes' multipliers, (count, length, M) for each kind
    slack: Array  # Θ of them, (count, kinds · length)
    steps: StepRows | None
    left: Array  # o to the separator before, (count, M), zero at the first
    right: Array  # … and behind, zero at the last
    separator_diagonal: Array  # D's diagonal, (count − 1, M)
    separator_rows: Array  # B_s, (count − 1, kinds, M)
    separator_slack: Array  # Θ_s, (count − 1, kinds)

    @classmethod
    def of(cls, layout: Layout, links: Links, slack_ratio: Array) -> "SegmentMatrices":
        """Cut a chain's matrices; shared rows are left to the caller."""
        segments = Segments.of(*layout.chain.allowed.shape)
        local = [k for k, shared in enumerate(layout.shared) if not shared]
        rows = np.stack([segments.of_nodes(layout.coefficients[k], 0.0) for k in local], axis=1)
        slack = np.stack([segments.of_nodes(slack_ratio[layout.parts[k]], 1.0) for k in local], axis=1)
        excess, off = segments.of_nodes(links.excess, 1.0), segments.of_steps(links.off, 0.0)
        slope = segments.of_steps(links.slope, 1.0)
        ahead, back = off * slope, off / slope
        inner = excess[:, :-1].copy()
        inner[:, 0] += back[:, 0]
        inner[:, -1] += ahead[:, -1]
        columns = Columns.factorise(inner, off[:, 1:-1], slope[:, 1:-1])
        G, left, right = columns.inverse_diagonal, off[:, 0], off[:, -1]
        before = back[:-1, -1] - right[:-1] ** 2 * G[:-1, -1]
        behind = ahead[1:, 0] - left[1:] ** 2 * G[1:, 0]
        on_separators = excess[:-1, -1] + np.maximum(before, 0.0) + np.maximum(behind, 0.0)
        steps = None
        if layout.chain.worst:
            c = layout.chain.couplings[:, None]
            u, v = (
                segments.of_steps(c * (layout.coefficients[0][part] + 2 * passed), 0.0)
                for part, passed in ((slice(None, -1), links.first), (slice(1, None), links.second))
            )
            room = (4 * c**2 / links.stiffness).sum(axis=1) + slack_ratio[layout.parts[-1]]
            steps = StepRows(u, v, segments.of_steps(room, 1.0))
        return cls(
            segments,
            columns,
            [rows[:, k, :-1] for k in range(len(local))],
            slack[:, :, :-1].reshape(segments.count, -1),
            steps,
            left,
            right,
            on_separators,
            rows[:-1, :, -1],
            slack[:-1, :, -1],
        )

    @property
    def between(self) -> Array:
        """How a segment joins the separators before and behind it, (count, M)."""
        corner = self.columns.from_first[:, -1] * self.columns.inverse_diagonal[:, -1]
        return np.asarray(self.left * corner * self.right)

    def inner(self) -> tuple[Array, Array]:
        """A (count, rows, rows) and E (count, rows, 2M); multipliers of nodes kind by kind, then those of steps."""
        columns, kinds, length = self.columns, len(self.rows), self.segments.length
        G, ratios = columns.inverse_diagonal, columns.ratios
        lefts, rights = list(self.rows), [G * a for a in self.rows]
        if self.steps is not None:
            u, v = self.steps.first, self.steps.second
            ahead = v[:, :-1].copy()  # at a step's second node, for nodes from there on …
            ahead[:, 1:] += u[:, 1:-1] * ratios[:, :-1]
            back = u[:, 1:] * G  # … and at its first, for nodes up to there
            back[:, :-1] += v[:, 1:-1] * ratios[:, :-1] * G[:, 1:]
            lefts.append(ahead)
            rights.append(back)
        joined = columns.joined(lefts, rights)
        size = kinds * length
        A = np.zeros((self.segments.count, *2 * (size + (0 if self.steps is None else length + 1),)))
        upper = joined[:, :kinds, :, :kinds]
        below = np.triu(np.moveaxis(upper, 2, 3), 1)  # (…, k, m, i, i′), strictly above the diagonal
        nodes = np.moveaxis(upper, 2, 3) + np.swapaxes(np.swapaxes(below, 1, 2), 3, 4)
        A[:, :size, :size] = np.moveaxis(nodes, 3, 2).reshape(-1, size, size)
        A[:, np.arange(size), np.arange(size)] += self.slack
        E = self._felt(lefts[:kinds], rights[:kinds])
        if self.steps is not None:
            for k in range(kinds):
                block = A[:, k * length : (k + 1) * length, size:]
                block[:, :, 1:] += joined[:, k, :, kinds]
                block[:, :, :-1] += np.swapaxes(joined[:, kinds, :, k], 1, 2)
            A[:, size:, :size] = np.swapaxes(A[:, :size, size:], 1, 2)
            A[:, size:-1, size + 1 :] += joined[:, kinds, :, kinds]
            A[:, size + 1 :, size:-1] += np.swapaxes(joined[:, kinds, :, kinds], 1, 2)
            A[:, np.arange(size, A.shape[1]), np.arange(size, A.shape[1])] += self._alone()
            E = np.concatenate([E, self._felt_by_steps(lefts[-1], rights[-1])], axis=1)
        return A, E

    def _alone(self) -> Array:
        assert self.steps is not None
        u, v, G, ratios = self.steps.first, self.steps.second, self.columns.inverse_diagonal, self.columns.ratios
        own = np.zeros_like(u)
        own[:, 1:] += u[:, 1:] ** 2 * G
        own[:, :-1] += v[:, :-1] ** 2 * G
        own[:, 1:-1] += 2 * u[:, 1:-1] * v[:, 1:-1] * ratios[:, :-1] * G[:, 1:]
        return np.asarray(own.sum(axis=2) + self.steps.room)

    def _felt(self, lefts: list[Array], rights: list[Array]) -> Array:
        """What node rows feel of the separators' laws."""
        columns = self.columns
        before = [columns.from_first * part * self.left[:, None] for part in rights]
        reach = (columns.inverse_diagonal[:, -1] * self.right)[:, None]
        behind = [columns.to_last * part * reach for part in lefts]
        return np.concatenate([np.concatenate(before, axis=1), np.concatenate(behind, axis=1)], axis=2)

    def _felt_by_steps(self, ahead: Array, back: Array) -> Array:
        """The same for steps: a node's row at their first or second node, and their own part on a separator."""
        assert self.steps is not None
        u, v, columns = self.steps.first, self.steps.second, self.columns
        G = columns.inverse_diagonal
        first = (u[:, 0] + v[:, 0] * G[:, 0] * self.left)[:, None]
        last = (v[:, -1] + u[:, -1] * G[:, -1] * self.right)[:, None]
        nodes = self._felt([ahead], [back])
        width = nodes.shape[2] // 2
        before = np.concatenate([first, nodes[:, :, :width]], axis=1)
        behind = np.concatenate([nodes[:, :, width:], last], axis=1)
        return np.concatenate([before, behind], axis=2)
