"""The links between neighbouring laws in a Newton step, their own unknowns eliminated.

In matrix entries (p, p′, r) a link weighs κ(2ggᵀ − …) with g = (a, b, c). Its last row gives r from p and p′; without
it κ/(1 + c²) [[2a², −c²/2], [−c²/2, 2b²]] is left for the two laws. As 2ab = 1 + c²/2, with t = a/b this is

    κ/(1 + c²) diag(t, 1/t) + o [[t, −1], [−1, 1/t]],   o = ½κc²/(1 + c²),

a small positive diagonal and a large part that is blind to changes with p′ = tp: kept apart, neither spoils the other.
"""

from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array
from errorfloor.policies.cones import Scaling
from errorfloor.policies.layout import Layout


@dataclass(frozen=True)
class Links:
    """H: ``excess`` on nodes (n, M), ``off`` o and ``slope`` t between neighbours; and how links follow the laws."""

    excess: Array
    off: Array
    slope: Array
    first: Array  # how much of a link's right side is passed to its first node, ac/(1 + c²) …
    second: Array  # … and to its second
    stiffness: Array  # of a link, 2κ(1 + c²); infinite where there is none

    @classmethod
    def of(cls, layout: Layout, scaling: Scaling, lone: Array) -> "Links":
        """Build them; ``lone`` is z/p at nodes without neighbours."""
        linked = layout.linked
        a, b, c, kappa = scaling.entries()
        spread = 1 + c**2
        excess = np.where(layout.chain.allowed & ~layout.lone, 0.0, 1.0)
        excess[layout.lone] = lone
        excess[:-1][linked] += kappa / spread * (a / b)
        excess[1:][linked] += kappa / spread * (b / a)

        def on(values: Array, elsewhere: float = 0.0) -> Array:
            out = np.full(linked.shape, elsewhere)
            out[linked] = values
            return out

        return cls(
            excess,
            on(kappa * c**2 / 2 / spread),
            on(a / b, 1.0),
            on(a * c / spread),
            on(b * c / spread),
            on(2 * kappa * spread, np.inf),
        )

    def times(self, p: Array) -> Array:
        """H p."""
        out = self.excess * p
        pull = self.off * (self.slope * p[:-1] - p[1:])
        out[:-1] += pull
        out[1:] -= pull / self.slope
        return out

    def without_links(self, on_p: Array, on_r: Array) -> Array:
        """The right side for laws alone."""
        right = on_p.copy()
        right[:-1] -= self.first * on_r
        right[1:] -= self.second * on_r
        return right

    def of_laws(self, p: Array, on_r: Array) -> Array:
        """The links that follow from laws."""
        return np.asarray(on_r / self.stiffness - self.first * p[:-1] - self.second * p[1:])
