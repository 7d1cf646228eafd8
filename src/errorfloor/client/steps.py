"""Steps of a trip behind a server: what is sent, and what was released."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from errorfloor.errors import InputError


@dataclass(frozen=True)
class RemoteStep:
    """What was released for a step of a trip; ``fresh`` says whether it was now.

    >>> RemoteStep.of({"step": 3, "answer": [120.5]})
    RemoteStep(step=3, answer=(120.5,), fresh=False)
    """

    step: int
    answer: tuple[float, ...]
    fresh: bool = False

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> "RemoteStep":
        """Read what the server gave."""
        return cls(int(plain["step"]), tuple(map(float, plain["answer"])), bool(plain.get("fresh", False)))


def measured(measurement: Sequence[float]) -> list[float]:
    """Give a measurement as JSON; the error for what is none does not repeat it, for it is private.

    >>> measured([1, 2.5])
    [1.0, 2.5]
    """
    try:
        numbers = [float(value) for value in measurement]
    except (TypeError, ValueError, OverflowError):
        numbers = []
    if not numbers or not all(map(math.isfinite, numbers)):
        raise InputError("measurement must be a list of finite numbers")
    return numbers
