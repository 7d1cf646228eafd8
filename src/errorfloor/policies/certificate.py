"""What is known about a policy: how little it tells, how good it is, and how close to the best."""

from dataclasses import dataclass

from errorfloor.values import Value


@dataclass(frozen=True, eq=False)
class PolicyCertificate(Value):
    """Numbers of the policy that is sampled, and a bound that no other policy beats.

    ``value`` is the objective: the average or the largest information, plus ϱ times the mean loss where there is a
    weight ϱ. ``lower_bound`` is proved for all policies named in ``scope``. Floors follow from ``largest_information``.

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

    @property
    def gap(self) -> float:
        """The relative distance of value and bound."""
        return (self.value - self.lower_bound) / self.value

    def explain(self) -> str:
        """Say it in a sentence."""
        return (
            f"average information {self.average_information:.4g}, largest {self.largest_information:.4g}; mean loss at "
            f"most {self.largest_loss:.4g} at every value, {self.average_loss:.4g} on average; the objective "
            f"{self.value:.4g} is proved to be within {max(self.gap, 0.0) * 1.01 + 5e-4:.2g} of the least that "
            f"{self.scope} can have"
        )
