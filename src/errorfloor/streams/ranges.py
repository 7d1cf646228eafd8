"""What the declared ranges of states allow measurements to be."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from errorfloor.catalogue import PrivateColumn
from errorfloor.checks import Array
from errorfloor.dynamics import LinearSystem
from errorfloor.errors import RefusedError


@dataclass(frozen=True, eq=False)
class Ranges:
    """The ranges of a system's states, and those of C_k x that follow; a state without one may be anywhere.

    What lies outside is refused and not clamped: the end of a range is a known position, and one known position may
    reveal the noise of a whole trip. The refusal depends on the measurement; it is for whoever gave it alone.

    >>> from fractions import Fraction
    >>> vehicle = LinearSystem([[1.0, 1.0], [0.0, 1.0]], [[-1.0, 0.0]], 9, states=("position", "speed"))
    >>> place = PrivateColumn(range=(-50, 5000), resolution="0.1", floor=20, unit="m")
    >>> ranges = Ranges(vehicle, {"position": place})
    >>> ranges.ends(3)
    (array([-5000.]), array([50.]))
    >>> ranges.check(3, np.array([[51.0]]))
    Traceback (most recent call last):
    errorfloor.errors.RefusedError: a measurement lies outside the declared range (position -50 … 5000 m): ...
    """

    system: LinearSystem
    states: Mapping[str, PrivateColumn]

    def check(self, step: int, measurements: Array) -> None:
        """Refuse measurements of a step, one trip a row, if one lies outside; infinity and NaN are for others."""
        low, high = self.ends(step)
        outside = (measurements < low) | (measurements > high)
        if (outside & np.isfinite(measurements)).any():
            raise RefusedError(
                f"a measurement lies outside the declared range ({self._words()}): leave the step out if it is a "
                f"mistake of the instrument, or declare a range that no trip leaves; nothing was answered or charged "
                f"for it",
                reason="measurement",
            )

    def ends(self, step: int) -> tuple[Array, Array]:
        """Give the least and the greatest C_k x over all states x in their ranges."""
        return self._ends[min(step, len(self._ends) - 1)]

    @cached_property
    def _ends(self) -> list[tuple[Array, Array]]:
        columns = [self.states.get(name) for name in self.system.states]
        low = np.array([-np.inf if column is None else float(column.low) for column in columns])
        high = np.array([np.inf if column is None else float(column.high) for column in columns])
        found = []
        for C in self.system.C:
            with np.errstate(invalid="ignore"):  # 0·∞, where a state does not count
                ends = np.where(C == 0, 0.0, np.stack([C * low, C * high]))
            found.append((ends.min(axis=0).sum(axis=1), ends.max(axis=0).sum(axis=1)))
        return found

    def explain(self) -> str:
        """Say what is refused, and what is not."""
        free = not all(np.isfinite(end).all() for pair in self._ends for end in pair)
        some = " Measurements that depend on a state without a declared range may be anything." if free else ""
        return f"A measurement outside the declared range is refused, not clamped: {self._words()}.{some}"

    def _words(self) -> str:
        return ", ".join(
            f"{state} {float(column.low):g} … {float(column.high):g}{column.unit and ' '}{column.unit}"
            for state, column in self.states.items()
        )
