"""Columns and states: what is declared of a number, validated once; and how numbers are written."""

import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
PublicType = Literal["text", "whole", "number", "date", "moment", "flag"]
MOST_STEPS = 2**40  # from zero, at most: products of two columns and sums of many rows then stay within 126 bits
NEAR_IGNORANCE = 0.99  # of the error of somebody who sees no answer: a floor above it leaves next to nothing to spend
FARTHEST_PRIOR = 4.75  # deviations from the range: beyond, less than a millionth of the law would lie in it
NARROWEST_PRIOR = Fraction(1, 1000)  # of the resolution
LEAST_FLOOR = Fraction(1, 100)  # of the resolution: below it the floor says nothing, and rounding would decide it
SMALLEST, LARGEST = Fraction(1, 10**30), Fraction(10**30)
WRITTEN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,2})?|[+-]?\d+/0*[1-9]\d*", re.IGNORECASE)


def exact(value: Any) -> Fraction:
    """Read a number as it is written: 0.1 is one tenth.

    >>> exact(0.1), exact("1e-3")
    (Fraction(1, 10), Fraction(1, 1000))
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, str, Fraction)):
        raise ValueError("must be a number")
    if isinstance(value, (float, str)):
        text = str(value).strip()
        if len(text) > 80 or not WRITTEN.fullmatch(text):  # so that "1e999999999" is never expanded
            raise ValueError("must be a finite number")
        value = text
    number = Fraction(value)
    if number and not SMALLEST <= abs(number) <= LARGEST:
        raise ValueError("must be 0 or between 1e-30 and 1e30 in size: use another unit")
    return number


def double(value: Any) -> float:
    """Read a number for which double precision will do; a text is none, since nothing needs to be written so.

    >>> double(2.5)
    2.5
    """
    if isinstance(value, str):
        raise ValueError("must be a number without quotes")
    return float(exact(value))


def written(text: str) -> str | None:
    """Give the number that a text in quotes was perhaps meant to be, as a file writes it; a comma can mean two things.

    >>> written("500"), written("1 000.50"), written("1,000"), written("much")
    ('500', '1000.5', None, None)
    """
    plain = "".join(text.split())
    return f"{float(plain):.12g}" if len(plain) <= 40 and "/" not in plain and WRITTEN.fullmatch(plain) else None


Exact = Annotated[Fraction, BeforeValidator(exact)]


Double = Annotated[float, BeforeValidator(double)]


class MistakesError(ValueError):
    """Mistakes in one declaration, each with the word it is about ("" for the whole).

    >>> str(MistakesError([("range", "needs low < high")]))
    'range needs low < high'
    """

    def __init__(self, found: Iterable[tuple[str, str]]) -> None:
        self.found = tuple(found)
        super().__init__("; ".join(f"{word} {text}".strip() for word, text in self.found))


def printable(text: str) -> str:
    """Accept a text that can stand in a sentence."""
    if not text.isprintable():
        raise ValueError("must not contain line breaks or other characters that cannot be printed")
    return text


Unit = Annotated[str, Field(max_length=40), BeforeValidator(lambda v: printable(v) if isinstance(v, str) else v)]


class Declaration(BaseModel):
    """Common to all declarations: frozen, and no word is accepted that means nothing; all mistakes are told at once."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if found := list(self._mistakes()):
            raise MistakesError(found)
        return self

    def _mistakes(self) -> Iterable[tuple[str, str]]:
        """Give what is wrong between the words, each with the word that it is about."""
        return ()


class Prior(Declaration):
    """What everybody may be assumed to believe about an entry in advance: a normal law on the column's stored values.

    >>> Prior(mean=10, deviation=8).deviation
    8.0
    """

    mean: Double
    deviation: Double = Field(gt=0)


class PrivateColumn(Declaration):
    """A private numeric column.

    ``floor`` is the root-mean-square error, in the column's unit, below which nobody's estimate of an entry may get in
    the worst case over the range. ``nulls``: ``forbidden``; ``public`` (which entries are null is no secret); or
    ``impute``, with the constant to put in their place. ``distance`` is the example used in words: how well two values
    that far apart can be told.

    >>> kwh = PrivateColumn(range=(0, 50), resolution=0.001, floor=2.0, unit="kWh")
    >>> kwh.steps, kwh.example
    ((0, 50000), 5.0)
    """

    range: tuple[Exact, Exact]
    resolution: Exact
    floor: Double = Field(gt=0)
    unit: Unit = ""
    nulls: Literal["forbidden", "public", "impute"] = "forbidden"
    impute: Exact | None = None
    distance: Double | None = Field(default=None, gt=0)
    prior: Prior | None = None

    @property
    def low(self) -> Fraction:
        """The least value; smaller ones are clamped to it."""
        return self.range[0]

    @property
    def high(self) -> Fraction:
        """The greatest value; larger ones are clamped to it."""
        return self.range[1]

    @property
    def width(self) -> Fraction:
        """The width of the range."""
        return self.high - self.low

    @property
    def steps(self) -> tuple[int, int]:
        """The ends of the range as stored: whole multiples of the resolution."""
        return int(self.low / self.resolution), int(self.high / self.resolution)

    @property
    def example(self) -> float:
        """The distance used in words: the declared one, or a tenth of the range."""
        return self.distance if self.distance is not None else float(self.width / 10)

    @property
    def ignorance(self) -> float:
        """The root-mean-square error of somebody who sees no answer and finds every value equally likely."""
        return float(self.width) / 12**0.5

    def _mistakes(self) -> Iterable[tuple[str, str]]:
        return list(self._off_the_lattice()) or self._beyond_the_range()

    def _off_the_lattice(self) -> Iterator[tuple[str, str]]:
        if self.low >= self.high:
            yield "range", f"needs low < high, got {_text(self.low)} … {_text(self.high)}"
        if self.resolution <= 0:
            yield "resolution", f"must be positive, got {_text(self.resolution)}"
            return
        for end in self.range:
            if (end / self.resolution).denominator != 1:
                yield (
                    "range",
                    f"must begin and end on multiples of the resolution {_text(self.resolution)}, "
                    f"but {_text(end)} is not one",
                )
        if max(map(abs, self.steps)) > MOST_STEPS:
            yield (
                "resolution",
                f"{_text(self.resolution)} puts the range {max(map(abs, self.steps)):.3g} steps from zero; at most "
                f"{MOST_STEPS:.3g} can be kept exactly: choose a coarser one",
            )

    def _beyond_the_range(self) -> Iterator[tuple[str, str]]:
        if self.floor >= NEAR_IGNORANCE * self.ignorance:
            yield (
                "floor",
                f"must stay below {NEAR_IGNORANCE * self.ignorance:.4g}, got {self.floor:g}: somebody who sees no "
                f"answer at all is off by {self.ignorance:.4g} (the range over √12)",
            )
        elif self.floor < LEAST_FLOOR * self.resolution:
            yield (
                "floor",
                f"{self.floor:g} is less than a hundredth of the resolution {_text(self.resolution)} and would protect "
                f"nothing: declare a larger one",
            )
        if self.nulls == "impute" and self.impute is None:
            yield "nulls", "= 'impute' needs the constant to put in place of a null: impute = …"
        if self.impute is not None:
            if self.nulls != "impute":
                yield "impute", f"is given, but nulls = {self.nulls!r}: leave it out, or declare nulls = 'impute'"
            elif not self.low <= self.impute <= self.high or (self.impute / self.resolution).denominator != 1:
                yield "impute", f"= {_text(self.impute)} must lie in the range, on a multiple of the resolution"
        if self.prior is not None:
            yield from self._beside_the_prior(self.prior)
        if self.distance is not None and self.distance > self.width:
            yield "distance", f"{self.distance:g} is wider than the range {_text(self.width)}"

    def _beside_the_prior(self, prior: Prior) -> Iterator[tuple[str, str]]:
        outside = max(float(self.low) - prior.mean, prior.mean - float(self.high))
        if outside > FARTHEST_PRIOR * prior.deviation:
            yield (
                "prior",
                f"with mean {prior.mean:g} and deviation {prior.deviation:g} has next to nothing on "
                f"{_text(self.low)} … {_text(self.high)}",
            )
        if prior.deviation < NARROWEST_PRIOR * self.resolution:
            yield (
                "prior",
                f"with deviation {prior.deviation:g} is far narrower than the resolution {_text(self.resolution)}: "
                f"declare at least {_text(NARROWEST_PRIOR * self.resolution)}",
            )


class PublicColumn(Declaration):
    """A public column; a ``number`` is kept as whole multiples of its resolution, a ``whole`` as it is.

    >>> PublicColumn.model_validate("whole").step, PublicColumn(type="number", resolution="0.5").step
    (Fraction(1, 1), Fraction(1, 2))
    """

    type: PublicType
    resolution: Exact | None = None
    unit: Unit = ""

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, given: Any) -> Any:
        return {"type": given} if isinstance(given, str) else given

    def _mistakes(self) -> Iterator[tuple[str, str]]:
        if self.type != "number" and self.resolution is not None:
            yield "resolution", f"is for numbers; this column is declared {self.type!r}"
        if self.type == "number" and (self.resolution is None or self.resolution <= 0):
            text = "must be given and positive for a public number: { type = 'number', resolution = 0.01 }"
            yield "resolution", text

    @property
    def step(self) -> Fraction | None:
        """The exact value of one stored unit; None for what is not a number."""
        return Fraction(1) if self.type == "whole" else self.resolution


def misnamed(what: str, name: str) -> str:
    """Say what a name looks like.

    >>> misnamed("table", "my table")
    "names a table 'my table'; a name is a letter followed by letters, digits and _ (at most 63)"
    """
    shown = name if len(name) <= 70 else f"{name[:67]}..."
    return f"names a {what} {shown!r}; a name is a letter followed by letters, digits and _ (at most 63)"


def _text(value: Fraction) -> str:
    return f"{float(value):.12g}"
