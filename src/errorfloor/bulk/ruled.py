"""What all released columns have in common: a name, rules for what is found in them, and what must be said of them."""

import hashlib
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from errorfloor.checks import Array
from errorfloor.errors import InputError
from errorfloor.floors import Floor
from errorfloor.floors.words import rounded_down, times_in_hundred
from errorfloor.identity import Label, Part


@dataclass(frozen=True)
class RuledColumn(ABC):
    """A column to be released.

    Values outside ``range`` are clamped or refused, nulls are kept or refused, and what is not a finite number is
    refused always. Of a declared column more is known: ``spacing``, the step between its values where that is too wide
    to be taken for a continuum; ``evaluation_error``, how far a value may be off as computed; and ``distance``, the
    example to use in words, with ``stored``, how far apart two such values may be once they are rounded.
    """

    name: str
    range: tuple[float, float] | None = field(default=None, kw_only=True)
    out_of_range: str = field(default="refuse", kw_only=True)
    nulls: str = field(default="keep", kw_only=True)
    unit: str = field(default="", kw_only=True)
    spacing: float | None = field(default=None, kw_only=True)
    evaluation_error: float = field(default=0.0, kw_only=True)
    distance: float | None = field(default=None, kw_only=True)
    stored: float | None = field(default=None, kw_only=True)
    derived: bytes = field(default=b"", repr=False, kw_only=True)

    def __post_init__(self) -> None:
        if self.out_of_range not in ("refuse", "clamp"):
            raise InputError(f"out_of_range must be 'refuse' or 'clamp', got {self.out_of_range!r}")
        if self.nulls not in ("refuse", "keep"):
            raise InputError(f"nulls must be 'refuse' or 'keep', got {self.nulls!r}")

    @property
    @abstractmethod
    def identity(self) -> tuple[Part, ...]:
        """What decides the released numbers, besides key, batch and row; one function of the data for each."""

    @property
    def fingerprint(self) -> str:
        """The same, in a short form for the register."""
        return hashlib.sha256(Label("released column", self.identity).encoded).hexdigest()

    @property
    @abstractmethod
    def information(self) -> float:
        """What one released number tells about its value, at most."""

    @property
    @abstractmethod
    def floor(self) -> Floor:
        """What nobody can learn about one value of the column from its released number."""

    @abstractmethod
    def perturb(self, column: pa.Array, tags: Array) -> pa.Array:
        """Give the released numbers."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Give what may be said of the column in public, as plain data."""

    def promised(self, error: float) -> dict[str, Any]:
        """Give what every description ends with; values two ``error`` apart are its example if none is set."""
        promise = self.floor
        distance = float(f"{2 * error:.2g}") if self.distance is None else self.distance
        return {
            "information": self.information,
            "unbiased_floor": rounded_down(float(promise.worst_entry)),
            "any_estimator_floor": None if self.range is None else rounded_down(float(promise.any_estimator[0])),
            "range": None if self.range is None else list(self.range),
            "out_of_range": self.out_of_range,
            "nulls": self.nulls,
            "distance": distance,
            "told_apart_in_100": times_in_hundred(promise.distinguish(self.stored or distance)),
            "explanation": promise.explain(unit=self.unit, distance=distance, stored=self.stored),
        }

    @abstractmethod
    def explain(self) -> str:
        """Say it in a paragraph."""

    @property
    def true_one(self) -> str:
        """The true number, in words: clamping is mentioned whether or not it happens."""
        if self.range is None or self.out_of_range != "clamp":
            return "the true one"
        return f"the true one, clamped to {self.range[0]:g} … {self.range[1]:g}{self.suffix},"

    @property
    def suffix(self) -> str:
        """The unit as it follows a number."""
        return f" {self.unit}" if self.unit else ""

    def clamped(self, column: pa.Array) -> tuple[Array, Array | None]:
        """Give the values as doubles within the range, if there is one, and where there is none."""
        values, missing = self.numbers(column)
        if self.range is not None and self.out_of_range == "clamp":
            values = np.clip(values, *self.range)
        return values, missing

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
