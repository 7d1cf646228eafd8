"""What every numerical solver gives back: a noise, its own cost, and a proved bound under all others."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from errorfloor.noise import Noise

NOT_ASKED = "no lower bound was asked for"
Progress = Callable[[str, float], None]
"""Told what is being done and how much of it is done, from 0 to 1; it may be called any number of times."""


@dataclass(frozen=True)
class GroundState:
    """An approximate minimiser of J + ϱQ on a support, J = Tr(K I_w) and Q = E ℓ(w).

    Guarantee: ``value`` is J + ϱQ of the very density that ``noise`` samples, so it is an upper bound of the least
    possible value Λ; ``lower_bound`` is proved to be at most Λ, or None where no proof is at hand.

    ``loss`` is Q where the solver knows it, to rounding; else the noise has to be asked.
    ``method`` names the discretisation, ``proof`` how the lower bound is known, or why there is none, ``reference`` the
    theorem behind it.
    ``memory`` is whatever the solver wants to see again when it is started from here at a nearby weight.

    >>> from errorfloor.noise import RaisedCosine
    >>> GroundState(RaisedCosine(0, 1), value=39.5, lower_bound=39.4).gap
    0.0025...
    """

    noise: Noise
    value: float
    lower_bound: float | None = None
    method: str = ""
    proof: str = ""
    reference: str = ""
    memory: Any = field(default=None, compare=False, repr=False)
    loss: float | None = None

    @property
    def gap(self) -> float | None:
        """The relative difference between value and lower bound, or None without a proved lower bound."""
        return None if self.lower_bound is None else (self.value - self.lower_bound) / self.value
