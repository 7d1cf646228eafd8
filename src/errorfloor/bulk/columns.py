"""A column to be released: its noise, its lattice, its rules, and what it promises."""

import hashlib
import json
import math
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from errorfloor.checks import Array
from errorfloor.designer import design
from errorfloor.errors import InputError
from errorfloor.floors import Floor, floor
from errorfloor.floors.words import rounded_down, times_in_hundred
from errorfloor.identity import Label, Part
from errorfloor.noise import Noise
from errorfloor.noise.lattice import Lattice
from errorfloor.random import RowBits
from errorfloor.support import Interval

SAMPLER = 1  # the version of how noise follows from bits; a change of it is a change of every draw


@dataclass(frozen=True)
class ReleasedColumn:
    """One column, ready to be perturbed.

    ``low`` and ``high`` bound the released number minus the true one. Values outside ``range`` are clamped or refused,
    nulls are kept or refused, and what is not a finite number is refused always. Of a declared column more is known:
    ``spacing``, the step between its values where that is too wide to be taken for a continuum; ``evaluation_error``,
    how far value plus noise may be off as computed; and ``distance``, the example to use in words.

    >>> column = ReleasedColumn.plan("kwh", Interval(0, 0.5), step="0.1", out_of_range="refuse", nulls="keep")
    >>> column.noise.support.width < 0.4, column.describe()["certain_interval"]
    (True, [0.0, 0.5])
    """

    name: str
    noise: Noise
    lattice: Lattice
    low: float
    high: float
    range: tuple[float, float] | None = None
    out_of_range: str = "refuse"
    nulls: str = "keep"
    unit: str = ""
    spacing: float | None = None
    evaluation_error: float = 0.0
    distance: float | None = None
    derived: bytes = field(default=b"", repr=False)

    @classmethod
    def plan(
        cls, name: str, wanted: Noise | Interval, *, step: str | None = None, out_of_range: str, nulls: str, **rest: Any
    ) -> "ReleasedColumn":
        """Choose lattice and noise: an interval is shrunk by half a step, so that it holds after rounding."""
        if out_of_range not in ("refuse", "clamp"):
            raise InputError(f"out_of_range must be 'refuse' or 'clamp', got {out_of_range!r}")
        if nulls not in ("refuse", "keep"):
            raise InputError(f"nulls must be 'refuse' or 'keep', got {nulls!r}")
        rules = {"out_of_range": out_of_range, "nulls": nulls, **rest}
        if isinstance(wanted, Interval):
            lattice = Lattice(step) if step is not None else Lattice.for_width(wanted.width)
            noise = design(Interval(*lattice.inside(wanted.low, wanted.high)))
            return cls(name, noise, lattice, wanted.low, wanted.high, **rules)
        if not isinstance(wanted, Noise) or wanted.dimension != 1:
            raise InputError(f"column {name} needs an interval or a one-dimensional noise, got {type(wanted).__name__}")
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
    def fingerprint(self) -> str:
        """The same, in a short form for the register."""
        return hashlib.sha256(Label("released column", self.identity).encoded).hexdigest()

    @property
    def floor(self) -> Floor:
        """What nobody can learn about one value of the column from its released number."""
        return floor(
            self.noise, [[1.0]], ranges=self.range, spacing=self.spacing, evaluation_error=self.evaluation_error
        )

    def perturb(self, column: pa.Array, tags: Array) -> pa.Array:
        """Give the released numbers: value plus noise, rounded to the lattice."""
        values, missing = self.numbers(column)
        if self.range is not None and self.out_of_range == "clamp":
            values = np.clip(values, *self.range)
        noise = self.noise.sample(len(values), rng=RowBits(self.derived, tags))
        noise += values
        released = self.lattice.round_in_place(noise)
        if missing is not None:
            released[missing] = 0.0  # nothing is left under the mask
        return pa.array(released, mask=missing)

    def numbers(self, column: pa.Array) -> tuple[Array, Array | None]:
        """Give the values as doubles, not yet clamped, and where there is none; what breaks a rule is refused."""
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        missing = None
        if column.null_count:
            if self.nulls == "refuse":
                raise InputError(f"column {self.name} has nulls, which its rule refuses: declare nulls='keep'")
            missing = column.is_null().to_numpy(zero_copy_only=False)
        if not (
            pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type)
        ):
            raise InputError(f"column {self.name} holds {column.type}, not numbers: it cannot carry noise")
        values = None
        with suppress(pa.ArrowInvalid):
            values = column.cast(pa.float64()).fill_null(0.0 if self.range is None else self.range[0])
        if values is None:  # raised here, the error keeps no reference to one that quotes the number
            raise InputError(f"column {self.name} has an integer that double precision cannot hold exactly")
        numbers: Array = values.to_numpy(zero_copy_only=False)
        if not np.isfinite(numbers).all():
            raise InputError(f"column {self.name} has a value that is not a finite number (NaN or ±infinity)")
        if self.range is not None and self.out_of_range == "refuse":
            low, high = self.range
            if not ((numbers >= low) & (numbers <= high)).all():
                raise InputError(
                    f"column {self.name} has a value outside its declared range {low:g} … {high:g}, which its rule "
                    f"refuses: declare another range, or out_of_range='clamp'"
                )
        return numbers, missing

    def describe(self) -> dict[str, Any]:
        """Give what may be said of the column in public, as plain data."""
        promise = self.floor
        two_errors = float(f"{2 * math.sqrt(float(self.noise.covariance[0, 0])):.2g}")
        distance = two_errors if self.distance is None else self.distance
        return {
            "column": self.name,
            "unit": self.unit,
            "noise": self.noise.to_dict(),
            "step": self.lattice.step,
            "certain_interval": [self.low, self.high] if math.isfinite(self.high - self.low) else None,
            "bias": float(self.noise.mean[0]),
            "standard_error": math.sqrt(float(self.noise.covariance[0, 0])),
            "information": float(self.noise.information[0, 0]),
            "unbiased_floor": rounded_down(float(promise.worst_entry)),
            "any_estimator_floor": None if self.range is None else rounded_down(float(promise.any_estimator[0])),
            "range": None if self.range is None else list(self.range),
            "out_of_range": self.out_of_range,
            "nulls": self.nulls,
            "distance": distance,
            "told_apart_in_100": times_in_hundred(promise.distinguish(distance)),
            "explanation": promise.explain(unit=self.unit, distance=distance),
        }
