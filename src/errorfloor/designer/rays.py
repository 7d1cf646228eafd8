"""Where a loss that is only known by its values leaves room for noise: how far rays come before it has died out.

All of this is a guess that decides where polynomials are put. What is stated of a noise is computed from the noise.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array

COUNT = {2: 120, 3: 500, 4: 2000}  # rays, from a fixed sequence
STEPS = np.geomspace(1e-6, 1e6, 481)
SHORT = 1e-3  # of the way to a point inside: how far from the least place rays begin, which may lie on the boundary


@dataclass(frozen=True, eq=False)
class Rays:
    """The values of a potential along rays from near its least place, infinite beyond the support."""

    start: Array
    directions: Array
    steps: Array
    values: Array  # (step, ray)

    @classmethod
    def of(cls, potential: Callable[[Array], Array], place: Array, inner: Array) -> "Rays":
        """Look along rays from near a ``place``, ``inner`` being a point inside; the potential is infinite outside."""
        m = len(place)
        generator = np.random.default_rng(22)
        axes = np.vstack([np.eye(m), -np.eye(m)])
        directions = np.vstack([axes, generator.normal(size=(COUNT[m], m)), (inner - place)[None]])
        length = np.linalg.norm(directions, axis=1)
        directions = directions[length > 0] / length[length > 0, None]
        start = place + SHORT * (inner - place)
        steps = (1 + float(np.abs(place).max())) * STEPS
        with np.errstate(over="ignore", invalid="ignore"):  # far out a steep loss is larger than any double
            values = np.asarray(potential(start + steps[:, None, None] * directions))
        values = np.where(np.isnan(values), math.inf, values)
        return cls(start, directions, steps, np.maximum.accumulate(values, axis=0))

    def energy(self) -> float:
        """About the least energy: that of a cube around the start, of the best size, in a unit kinetic energy."""
        known = np.isfinite(self.values)
        reached = known.any(axis=1)
        most = np.where(known, self.values, -math.inf).max(axis=1)[reached]
        return float(np.min(len(self.start) * (math.pi / (2 * self.steps[reached])) ** 2 + most))

    def reach(self, energy: float, decay: float) -> tuple[Array, Array]:
        """The box that holds every ray up to where a state of this energy has decayed by exp(−decay)."""
        slope = np.sqrt(np.clip(self.values - energy, 0, None))
        fallen = np.cumsum(slope * np.diff(self.steps, prepend=0.0)[:, None], axis=0) >= decay
        ends = np.where(fallen.any(axis=0), np.argmax(fallen, axis=0), len(self.steps) - 1)
        points = self.start + self.steps[ends][:, None] * self.directions
        return points.min(axis=0), points.max(axis=0)
