"""What is known about a design: how good it is, or how large an error it forces."""

from dataclasses import dataclass, field

from errorfloor.checks import Array, vector
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


@dataclass(frozen=True, eq=False)
class ErrorCertificate(Certificate):
    """The report on a design that maximises Tr I⁻¹ under a cap (P1).

    ``value`` is Tr I⁻¹ of the density that is sampled. ``supremum`` is diam(C⁻¹W)²/4π², what noise along the longest
    chord approaches while it reveals all other directions; ``least_information_value`` is Tr I⁻¹ of the noise of least
    information (P2). ``cap_binds`` tells whether the cap decided the result, ``stationarity`` by how much the
    conditions for a maximum are off, relatively, and ``per_entry`` are the floors 1/√I_ii.

    >>> report = ErrorCertificate(0.06, None, "example", supremum=0.081, least_information_value=0.051, cap_binds=True,
    ...                           stationarity=1e-8, per_entry=[0.1, 0.1])
    >>> print(report.explain())
    Tr I⁻¹ is 0.06, with a floor of 0.1 for the most exposed entry; least information gives 0.051, and noise along one
    chord, which reveals all else, up to 0.081. The cap binds; the conditions for a maximum hold to 1e-08 (example).
    A maximum found by ascent from several starts: no proof that it is the greatest.
    """

    supremum: float = 0.0
    least_information_value: float = 0.0
    cap_binds: bool = False
    stationarity: float = 0.0
    per_entry: Array = field(kw_only=True)

    def __post_init__(self) -> None:
        self._set(per_entry=vector("per_entry", self.per_entry))

    def explain(self) -> str:
        """Say it in sentences."""
        bound = "binds" if self.cap_binds else "does not bind"
        worst = float(self.per_entry.min())
        return (
            f"Tr I⁻¹ is {self.value:.6g}, with a floor of {worst:.4g} for the most exposed entry; "
            f"least information gives {self.least_information_value:.6g}, and noise along one chord, which reveals all "
            f"else, up to {self.supremum:.6g}. The cap {bound}; the conditions for a maximum hold to "
            f"{self.stationarity:.2g} ({self.method}). A maximum found by ascent from several starts: no proof that it "
            f"is the greatest."
        )
