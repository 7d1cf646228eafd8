"""A column released with noise: its noise, its lattice, its rules, and what it promises."""

import json
import math
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from errorfloor.bulk.ruled import RuledColumn
from errorfloor.checks import Array
from errorfloor.designer import design
from errorfloor.errors import InputError
from errorfloor.floors import Floor, floor
from errorfloor.floors.words import rounded_down, rounded_up
from errorfloor.identity import Part
from errorfloor.noise import Noise
from errorfloor.noise.lattice import Lattice
from errorfloor.random import RowBits
from errorfloor.support import Interval

SAMPLER = 1  # the version of how noise follows from bits; a change of it is a change of every draw


@dataclass(frozen=True)
class ReleasedColumn(RuledColumn):
    """One column, ready to be perturbed; ``low`` and ``high`` bound the released number minus the true one.

    >>> column = ReleasedColumn.plan("kwh", Interval(0, 0.5), step="0.1", out_of_range="refuse", nulls="keep")
    >>> column.noise.support.width < 0.4, column.describe()["certain_interval"]
    (True, [0.0, 0.5])
    """

    noise: Noise
    lattice: Lattice
    low: float
    high: float

    @classmethod
    def plan(
        cls, name: str, wanted: Noise | Interval, *, step: str | None = None, out_of_range: str, nulls: str, **rest: Any
    ) -> "ReleasedColumn":
        """Choose lattice and noise: an interval is shrunk by half a step, so that it holds after rounding."""
        rules = {"out_of_range": out_of_range, "nulls": nulls, **rest}
        if isinstance(wanted, Interval):
            lattice = Lattice(step) if step is not None else Lattice.for_width(wanted.width)
            noise = design(Interval(*lattice.inside(wanted.low, wanted.high)))
            return cls(name, noise, lattice, wanted.low, wanted.high, **rules)
        if not isinstance(wanted, Noise) or wanted.dimension != 1:
            raise InputError(
                f"column {name} needs an interval or a one-dimensional noise, got {type(wanted).__name__}; for "
                f"numbers that must stay in a set give a policy"
            )
        if wanted.why_infinite:
            raise InputError(f"column {name} cannot be released with this noise: {wanted.why_infinite}")
        if not wanted.repeatable:
            raise InputError(
                f"column {name} cannot be released with {type(wanted).__name__} noise: library functions, which differ "
                f"in the last digit from machine to machine, decide its draws, and a released row must get the same "
                f"noise everywhere; an interval, or Maxwell, Gaussian or Laplace noise, can be released"
            )
        lattice = Lattice(step) if step is not None else Lattice.for_width(4 * wanted.unit)
        low, high = lattice.outside(wanted.knots[0], wanted.knots[-1])
        return cls(name, wanted, lattice, low, high, **rules)

    @property
    def identity(self) -> tuple[Part, ...]:
        """What decides the released numbers, besides key, batch and row; one function of the data for each."""
        law = json.dumps(self.noise.law, sort_keys=True)
        return self.name, law, self.lattice.step, self.range, self.out_of_range, self.nulls, SAMPLER

    @property
    def information(self) -> float:
        """What one released number tells about its value: the information of the noise."""
        return float(self.noise.information[0, 0])

    @property
    def floor(self) -> Floor:
        """What nobody can learn about one value of the column from its released number."""
        return floor(
            self.noise, [[1.0]], ranges=self.range, spacing=self.spacing, evaluation_error=self.evaluation_error
        )

    def perturb(self, column: pa.Array, tags: Array) -> pa.Array:
        """Give the released numbers: value plus noise, rounded to the lattice."""
        values, missing = self.clamped(column)
        noise = self.noise.sample(len(values), rng=RowBits(self.derived, tags))
        noise += values
        released = self.lattice.round_in_place(noise)
        if missing is not None:
            released[missing] = 0.0  # nothing is left under the mask
        return pa.array(released, mask=missing)

    def describe(self) -> dict[str, Any]:
        """Give what may be said of the column in public, as plain data."""
        error = math.sqrt(float(self.noise.covariance[0, 0]))
        return {
            "column": self.name,
            "unit": self.unit,
            "noise": self.noise.to_dict(),
            "step": self.lattice.step,
            "certain_interval": [self.low, self.high] if math.isfinite(self.high - self.low) else None,
            "bias": float(self.noise.mean[0]),
            "standard_error": error,
            **self.promised(error),
        }

    def explain(self) -> str:
        """Say it in a paragraph."""
        unit, facts = self.suffix, self.describe()
        certain = (
            f"each released number minus {self.true_one} lies certainly in "
            f"{rounded_down(self.low, 6)} … {rounded_up(self.high, 6)}{unit}"
            if facts["certain_interval"]
            else "the noise is not bounded"
        )
        return (
            f"{self.name}: {certain}, in steps of {self.lattice.step}{unit}; bias {facts['bias']:.4g}{unit}, "
            f"standard error {facts['standard_error']:.4g}{unit}. {facts['explanation']}"
        )
