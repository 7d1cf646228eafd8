"""Independent noise on every answer of a trajectory, for comparison."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from errorfloor.checks import Array, positive
from errorfloor.dynamics.knowledge import Knowledge
from errorfloor.floors import Floor
from errorfloor.random import bits_from

if TYPE_CHECKING:
    from errorfloor.dynamics.system import LinearSystem


@dataclass(frozen=True, eq=False)
class IndependentNoise:
    """Gaussian noise of one variance, drawn anew for every number, with E Σ_k |w[k]|² = ``expected_loss``.

    Its information about the initial state is G/σ², σ² = Q/((T + 1)m): each further answer tells more.

    >>> from errorfloor.dynamics import LinearSystem
    >>> vehicle = LinearSystem([[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0]], 20)
    >>> one_draw, each = vehicle.protect(max_loss=21.0), vehicle.per_step(max_loss=21.0)
    >>> round(float(np.trace(each.information) / np.trace(one_draw.information)), 2)
    19.3
    """

    system: "LinearSystem"
    expected_loss: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "expected_loss", positive("max_loss", self.expected_loss))

    @property
    def variance(self) -> float:
        """σ², of every number."""
        return self.expected_loss / ((self.system.horizon + 1) * self.system.outputs)

    @cached_property
    def floor(self) -> Floor:
        """What nobody can learn about the initial state."""
        root = self.system.gramian_root / math.sqrt(self.variance)
        return Knowledge(root, self.system.observable, self.system.never_at_risk).floor()

    @property
    def information(self) -> Array:
        """G/σ²."""
        return self.floor.information

    def draw(self, rng: Any = None) -> Array:
        """Draw w[0 … T], of shape (T + 1, m)."""
        shape = (self.system.horizon + 1, self.system.outputs)
        return math.sqrt(self.variance) * bits_from(rng).normal(shape[0] * shape[1]).reshape(shape)


def excess(system: "LinearSystem") -> float:
    """How many times as much as one carried draw independent noise tells about the initial state, at equal quality.

    (T + 1) m Tr G/(Tr G^½)², in Tr I, whatever the quality.

    >>> from errorfloor.dynamics import LinearSystem
    >>> round(excess(LinearSystem([[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0]], 20)), 2)
    19.3
    """
    one = system.protect(max_loss=1.0)
    return float(np.trace(system.gramian)) / system.per_step(max_loss=1.0).variance / one.certificate.value
