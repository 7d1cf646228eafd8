"""When replies leave: at times on a coarse public grid, so that a clock shows next to nothing of a private value."""

import math
from dataclasses import dataclass

from errorfloor.errors import InputError


@dataclass(frozen=True)
class TimeGrid:
    r"""The times cost·ratioᵏ, k = 0, 1, 2, …, after private columns were first read.

    Guarantee: if the work takes at most ``cost``, which follows from public facts, the reply leaves after exactly
    ``cost``, whatever the private values are. Work that takes up to ratioⁿ times as long shows one of n + 1 times.

    Raises InputError unless the ratio is above 1.

    >>> TimeGrid(1.25).after(0.003, cost=0.02), TimeGrid(1.25).after(0.021, cost=0.02)
    (0.02, 0.025)
    """

    ratio: float

    def __post_init__(self) -> None:
        if not 1 < self.ratio < math.inf:
            raise InputError(f"the ratio of the grid must be above 1, got {self.ratio:g}")

    def after(self, passed: float, *, cost: float) -> float:
        """Give the first time on the grid that is not before ``passed``."""
        steps = 0 if passed <= cost else math.ceil(math.log(passed / cost) / math.log(self.ratio) - 1e-9)
        time = cost * self.ratio**steps
        return time if time >= passed else time * self.ratio


COARSE = TimeGrid(1.25)
