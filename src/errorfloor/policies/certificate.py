"""What is known about a policy: how little it tells, how good it is, and how close to the best."""

import math
from dataclasses import dataclass
from typing import Any

from errorfloor.errors import InputError
from errorfloor.floors.words import rounded_up
from errorfloor.values import Value

OBJECTIVES = ("average", "worst")


@dataclass(frozen=True, eq=False)
class PolicyCertificate(Value):
    """Numbers of the policy that is sampled, and a bound that no other policy beats.

    ``value`` is the objective: the average or the largest information, plus ϱ times the mean loss where there is a
    weight ϱ. ``lower_bound`` is proved for all policies named in ``scope``. Floors follow from ``largest_information``.
    The average is ∫qI: with the weights of a query it counts |∇f|², and is about the data, not about s.

    >>> known = PolicyCertificate(
    ...     objective="average", value=80.0, lower_bound=78.0, scope="every policy", average_information=80.0,
    ...     largest_information=90.0, largest_loss=0.01, average_loss=0.009,
    ... )
    >>> known.gap
    0.025
    >>> print(known.explain())
    average information 80, largest 90; mean loss at most 0.01 at every value, 0.009 on average; the objective 80 is
    proved to be within 0.026 of the least that every policy can have
    """

    objective: str
    value: float
    lower_bound: float
    scope: str
    average_information: float
    largest_information: float
    largest_loss: float
    average_loss: float
    loss_weight: float | None = None

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES or not isinstance(self.scope, str):
            raise InputError(f"a certificate's objective must be 'average' or 'worst', got {self.objective!r}")
        for name in ("value", "average_information", "largest_information", "largest_loss", "average_loss"):
            _stated(name, getattr(self, name), least=0.0)
        if self.loss_weight is not None:
            _stated("loss_weight", self.loss_weight, least=0.0)
        if _stated("lower_bound", self.lower_bound) > self.value:
            raise InputError(f"a certificate's lower_bound {self.lower_bound:g} is above its value {self.value:g}")

    @property
    def gap(self) -> float:
        """The relative distance of value and bound."""
        return (self.value - self.lower_bound) / self.value if self.value > 0 else 0.0

    def explain(self) -> str:
        """Say it in a sentence."""
        return (
            f"average information {self.average_information:.4g}, largest {rounded_up(self.largest_information, 4)}; "
            f"mean loss at most {rounded_up(self.largest_loss, 4)} at every value, {self.average_loss:.4g} on average; "
            f"the objective {self.value:.4g} is proved to be within {max(self.gap, 0.0) * 1.01 + 5e-4:.2g} of the "
            f"least that {self.scope} can have"
        )


def _stated(name: str, number: Any, least: float = -math.inf) -> float:
    plain = isinstance(number, (int, float)) and not isinstance(number, bool)
    if not plain or not math.isfinite(number) or number < least:
        raise InputError(f"a certificate's {name} must be a finite number{'' if least < 0 else ' ≥ 0'}, got {number!r}")
    return float(number)
