"""A problem on a product of intervals, half-lines and lines, in units in which lengths and energies are about one."""

from dataclasses import dataclass, replace

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.boxes.line import OUT_OF_RANGE
from errorfloor.designer.boxes.lower_bound import Domain
from errorfloor.designer.boxes.potential import Curve, Potential
from errorfloor.errors import ConvergenceError
from errorfloor.noise import LinearImage, Loss, Noise, Spectral
from errorfloor.noise.spectral_axis import Axis
from errorfloor.support import Support, product_of

Form = tuple[Array, tuple[Support, ...]]
# what is cut off changes the value by the square of exp(−decay); polynomials can then resolve what is left
DECAYS = {2: 18.0, 3: 13.0, 4: 10.0}


@dataclass(frozen=True, eq=False)
class Scaled:
    """A problem in coordinates t of about unit size and energies of about one: x = unit·t, N w = x."""

    N: Array
    sides: tuple[Support, ...]
    unit: Array
    energy: float
    domain: Domain
    offset: float  # of the potential, in the scaled energy: it is left out of the domain

    @classmethod
    def of(cls, form: Form, sensitivity: Array, loss: Loss | None, weight: float) -> "Scaled":
        """Put a problem on a product of one-dimensional sets into its own units."""
        N, sides = form
        inverse = np.linalg.inv(N)
        A = 4 * (N @ sensitivity @ N.T)
        low, high = (np.array([float(side.bounding_box[k][0]) for side in sides]) for k in (0, 1))
        unit = np.where(np.isfinite(high - low), high - low, 1.0)
        if not np.isfinite(high - low).all():
            raw = Potential.of(loss, inverse)
            for i in np.flatnonzero(~np.isfinite(high - low)).tolist():
                unit[i] = _natural_length(float(A[i, i]) / weight, raw, i)
        with np.errstate(over="ignore"):
            A, low_end, high_end = A / unit / unit[:, None], low / unit, high / unit
        energy = float(np.diag(A).max())
        ends = np.concatenate([low_end[np.isfinite(low)], high_end[np.isfinite(high)], [energy]])
        if not (np.isfinite(ends).all() and energy > 0):
            raise ConvergenceError(OUT_OF_RANGE)
        potential = Potential.of(loss, inverse * unit).times(weight / energy if loss is not None else 1.0)
        domain = Domain((A + A.T) / (2 * energy), potential, low_end, high_end)
        offset = 0.0
        if potential.is_separable and loss is not None:
            curves = []
            for i, curve in enumerate(potential.curves):
                moved, value = curve.lowered(domain.line(i).bottom())
                curves.append(moved)
                offset += value
            domain = replace(domain, potential=replace(potential, curves=tuple(curves)))
        return cls(N, sides, unit, energy, domain, offset)

    def noise(self, axes: tuple[Axis, ...], c: Array) -> Noise:
        """The noise with these coefficients, in the answers' own coordinates."""
        breaks = tuple(self._breaks(axis, i) for i, axis in enumerate(axes))
        ends = [(float(side.bounding_box[0][0]), float(side.bounding_box[1][0])) for side in self.sides]
        cut = any(b[0] > low or b[-1] < high for b, (low, high) in zip(breaks, ends, strict=True))
        region = product_of(self.sides) if cut else None
        noise: Noise = Spectral(breaks, tuple(axis.degree for axis in axes), c, region)
        return noise if np.array_equal(self.N, np.eye(len(axes))) else LinearImage(noise, np.linalg.inv(self.N))

    def _breaks(self, axis: Axis, i: int) -> Array:
        """Breaks in the answers' units; ends that are the support's own are given back to the last bit."""
        breaks = axis.breaks * self.unit[i]
        low, high = (float(end[0]) for end in self.sides[i].bounding_box)
        breaks[0] = low if axis.breaks[0] <= self.domain.low[i] else max(breaks[0], low)
        breaks[-1] = high if axis.breaks[-1] >= self.domain.high[i] else min(breaks[-1], high)
        return np.asarray(breaks)

    def windows(self) -> list[Array]:
        """Where the state lives along each axis, with its kinks."""
        potential, m = self.domain.potential, len(self.domain.A)
        found = []
        for i, own in enumerate(potential.curves):
            curve = own
            if potential.weight is not None and potential.coupling.any():
                curve = Curve(square=1 / float(np.linalg.inv(potential.weight)[i, i]))
            line = self.domain.line(i, curve)
            length, energy = line.scale()
            found.append(line.pieces(energy, length, DECAYS[m]))
        return found


def _natural_length(k: float, potential: Potential, i: int) -> float:
    """The length over which −k u″ + V u has its ground state along an axis, for units."""
    curve = potential.curves[i]
    return float((k / curve.square) ** 0.25 if curve.square else (k / curve.absolute) ** (1 / 3))
