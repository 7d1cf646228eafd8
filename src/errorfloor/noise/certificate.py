"""What is known about how good a design is."""

from dataclasses import dataclass

from errorfloor.values import Value


@dataclass(frozen=True, eq=False)
class Certificate(Value):
    """A proof, in numbers, of how close a design is to the best one possible.

    ``value`` is the objective of the density that is sampled: J = Tr(K I_w), plus ϱQ where a quality term has the
    weight ϱ. ``lower_bound`` is proved for every admissible noise; None means that no proof is at hand.

    >>> Certificate(value=40.0, lower_bound=39.0, method="example").gap
    0.025
    """

    value: float
    lower_bound: float | None = None
    method: str = ""
    reference: str = ""
    loss: float | None = None
    loss_weight: float | None = None

    @property
    def gap(self) -> float | None:
        """The relative difference between value and lower bound, or None without a proved lower bound."""
        if self.lower_bound is None:
            return None
        return (self.value - self.lower_bound) / self.value if self.value else 0.0  # less than the least double

    def explain(self) -> str:
        """Say it in a sentence.

        >>> Certificate(value=4.0, lower_bound=4.0, method="closed form").explain()
        'objective 4, proved to be the least that any oblivious noise on this support can have (closed form)'
        """
        source = self.method + (f"; {self.reference}" if self.reference else "")
        if self.gap is None:
            return f"objective {self.value:.6g}; no lower bound is proved ({source})"
        if self.gap == 0:
            return (
                f"objective {self.value:.6g}, proved to be the least that any oblivious noise on this support "
                f"can have ({source})"
            )
        return f"objective {self.value:.6g}, proved to be within {self.gap:.2g} of the least possible ({source})"
