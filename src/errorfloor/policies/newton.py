"""One Newton step of the interior-point method: links, then columns, then multipliers are eliminated."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from errorfloor.checks import Array
from errorfloor.policies.columns import Columns
from errorfloor.policies.cones import Scaling
from errorfloor.policies.layout import Layout
from errorfloor.policies.links import Links
from errorfloor.policies.multipliers import Multipliers

REFINEMENTS = 1  # of the multipliers, which lose digits as the matrix becomes singular


@dataclass(frozen=True)
class Newton:
    """The matrix [[H, Bᵀ], [B, −Θ]] of a step, factorised: S = B H⁻¹ Bᵀ + Θ is left for the multipliers."""

    layout: Layout
    columns: Columns
    links: Links
    slack_ratio: Array  # Θ
    local: Multipliers  # of every node's and step's own rows …
    felt: Array  # … and how they and the shared ones, which border them, feel the shared ones
    answered: Array  # local⁻¹ of that

    @classmethod
    def factorise(cls, layout: Layout, scaling: Scaling, lone: Array, slack_ratio: Array) -> "Newton":
        """Build and factorise: ``lone`` is z/p at nodes without neighbours, ``slack_ratio`` is Θ."""
        links = Links.of(layout, scaling, lone)
        columns = Columns.factorise(links.excess, links.off, links.slope)
        local = Multipliers.factorise(layout, links, slack_ratio)
        nothing = np.zeros((0, 0))
        plain = cls(layout, columns, links, slack_ratio, local, nothing, nothing)
        return plain._bordered() if any(layout.shared) else plain

    def solve(self, on_p: Array, on_r: Array, rows: Array, top: float) -> tuple[Array, Array, Array, float]:
        """Give (dp, dr, dν, dt) for right sides of laws, links, rows, and of the sum of the steps' multipliers.

        H is nearly singular at the end: changes are improved by what they leave undone, never found anew, so that rows
        hold to rounding of the changes themselves.
        """
        dp, nu, change = np.zeros_like(on_p), np.zeros(len(rows)), 0.0
        for _ in range(1 + REFINEMENTS):
            dp, dr = self._improved(dp, on_p, on_r, nu)
            missing = self.layout.left_sides(dp, dr) - self.slack_ratio * nu - rows
            if self.layout.chain.worst:
                steps = self.layout.parts[-1]
                missing[steps] -= change
                more, response = self._multipliers(missing), self._response
                turn = float((more[steps].sum() - (top - nu[steps].sum())) / response[steps].sum())
                more, change = more - turn * response, change + turn
            else:
                more = self._multipliers(missing)
            nu = nu + more
        dp, dr = self._improved(dp, on_p, on_r, nu)
        return dp, dr, nu, change

    def _improved(self, dp: Array, on_p: Array, on_r: Array, nu: Array) -> tuple[Array, Array]:
        """Laws and links for given multipliers, from laws for others."""
        back_p, back_r = self.layout.adjoint(nu)
        on_r = on_r - np.where(self.layout.linked, back_r, 0.0)
        dp = dp + self.columns.solve(self.links.without_links(on_p - back_p, on_r) - self.links.times(dp))
        return dp, self.links.of_laws(dp, on_r)

    @cached_property
    def _response(self) -> Array:
        """What the worst step's bound calls forth."""
        unit = np.zeros(len(self.slack_ratio))
        unit[self.layout.parts[-1]] = 1.0
        return self._multipliers(unit)

    def _bordered(self) -> "Newton":
        layout = self.layout
        units = np.zeros((int(layout.bordering.sum()), len(self.slack_ratio)))
        units[np.arange(len(units)), np.flatnonzero(layout.bordering)] = 1.0
        nothing = np.zeros(layout.chain.allowed.shape)
        answers = [-layout.left_sides(*self._improved(nothing, nothing, nothing[1:], unit)) for unit in units]
        felt = np.stack(answers) + self.slack_ratio * units
        answered = np.stack([self.local.solve(row[~layout.bordering]) for row in felt])
        return replace(self, felt=felt, answered=answered)

    def _multipliers(self, right: Array) -> Array:
        """S⁻¹ right."""
        if not self.felt.size:
            return self.local.solve(right)
        border = self.layout.bordering
        own, beside = self.felt[:, border], self.felt[:, ~border]
        found = self.local.solve(right[~border])
        shared = np.linalg.solve(own - beside @ self.answered.T, right[border] - beside @ found)
        out = np.empty_like(right)
        out[border], out[~border] = shared, found - shared @ self.answered
        return out
