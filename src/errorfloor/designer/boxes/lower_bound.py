"""Lower bounds of the ground state on a product of intervals: a flux, above a second level.

The second level is that of independent coordinates: A and V are lowered to what couples no axes, and the levels are
sums over lines. Where that does not lift it above the Rayleigh quotient, elements may (in at most three dimensions).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.bounds.enclosure import free_levels, levels_on_line, share_of_diagonal, sum_of_levels
from errorfloor.designer.bounds.residual import from_residual
from errorfloor.designer.boxes.flux import Flux
from errorfloor.designer.boxes.line import Curve, Line, Potential
from errorfloor.noise.spectral_axis import Axis

ROUNDING = 1e-12  # relative: what the arithmetic of a bound may be off by, at degree 20; it grows with the cube
HIGH = 12.0  # times the energy of a line: how far its levels are followed
APART = 1e-3  # relative: by how much a second level is to lie above the quotient
OPEN = "no lower bound: the loss is not positive where the support was cut off"

SecondLevel = Callable[[float], float]  # from a Rayleigh quotient to a proved lower bound of the second eigenvalue


@dataclass(frozen=True, eq=False)
class Domain:
    """The operator −div(A∇u) + V u on the box from ``low`` to ``high``, ends possibly infinite."""

    A: Array
    potential: Potential
    low: Array
    high: Array

    def opens(self, axes: tuple[Axis, ...]) -> tuple[tuple[bool, bool], ...]:
        """Which ends of the axes' windows lie inside the box."""
        ends = zip(axes, self.low, self.high, strict=True)
        return tuple((bool(axis.breaks[0] > low), bool(axis.breaks[-1] < high)) for axis, low, high in ends)

    def line(self, i: int, curve: Curve | None = None, share: float = 1.0) -> Line:
        """The problem along one axis when nothing is coupled, with a share of its kinetic part."""
        own = self.potential.curves[i] if curve is None else curve
        return Line(share * float(self.A[i, i]), own, float(self.low[i]), float(self.high[i]))

    def independent(self) -> list[Line]:
        """Lines whose sum is an operator below this one: A ⪰ κ·diag A, and a coupled V ⪰ κ′·diag V."""
        curves: tuple[Curve, ...] = self.potential.curves
        if self.potential.weight is not None and self.potential.coupling.any():
            share = share_of_diagonal(self.potential.weight)
            curves = tuple(Curve(square=share * float(r)) for r in np.diag(self.potential.weight))
        kinetic = share_of_diagonal(self.A)
        return [self.line(i, curve, kinetic) for i, curve in enumerate(curves)]


def proved_bound(
    domain: Domain, axes: tuple[Axis, ...], c: Array, second: SecondLevel | None = None
) -> tuple[float | None, str]:
    """A lower bound of the least eigenvalue, from the state found on ``axes``, and the words for how it is known.

    None where no mechanism applies; the words then say why.
    """
    lines = domain.independent()
    numbers = Flux(axes, domain.A, domain.potential, domain.opens(axes)).quotients(c)
    if numbers is None:
        return None, OPEN
    R, beta = numbers
    levels = np.array([_levels(line, 2) for line in lines])
    level, how = sum_of_levels(levels, 1), "independent coordinates"
    if level <= (1 + APART) * R and second is not None:
        level, how = max((level, how), (second(R), "Crouzeix–Raviart elements"))
    if level > (1 + APART) * R:
        degree = max(axis.degree for axis in axes)
        found = from_residual(R, max(0.0, beta * R - 1) * R, level) - ROUNDING * max(1.0, 2 * (degree / 20) ** 3) * R
        return found, f"lower bound by a flux, {how} bounding the second eigenvalue"
    return max(0.0, sum_of_levels(levels, 0)), "lower bound by independent coordinates"


def _levels(line: Line, count: int) -> Array:
    """Lower bounds of the first levels of one line."""
    if line.k <= 0:
        return np.zeros(count)
    if line.curve == Curve():
        return free_levels(line.k, line.low, line.high, count)
    ceiling = HIGH * line.scale()[1]
    return levels_on_line(line.k, line.curve, (line.low, line.high), line.bottom(), ceiling, count)
