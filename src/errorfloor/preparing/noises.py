"""Which noise an output is given, from the bound that is wanted or the share to spend; or none, if it is constant."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from errorfloor.arithmetic import arrow
from errorfloor.arithmetic.double_words import DoubleWord, two_sum
from errorfloor.checks import Array, positive, real
from errorfloor.errors import InputError, RefusedError
from errorfloor.floors.words import rounded_up
from errorfloor.noise import Noise, RaisedCosine, from_dict
from errorfloor.noise.affine_image import Translation
from errorfloor.noise.lattice import MARGIN, Lattice
from errorfloor.preparing.rounding import grain, multiples
from errorfloor.pricing import OutputBounds
from errorfloor.pricing.interval import quiet, up
from errorfloor.random import RowBits
from errorfloor.sql.question import QuestionOutput
from errorfloor.support import HalfLine, Interval

MOST_ERROR = 1e-6  # of the noise's width: larger evaluation errors are refused
LEFT = 0.8 * MARGIN / 2  # of a step: what a bound has to spare beyond every rounding
MOST_OFFSET = 1e6  # widths between 0 and the middle of an interval


@dataclass(frozen=True)
class Added:
    """What is added to every cell of an output, and what is certain: released − true lies in [low, high].

    The noise is drawn around zero and ``offset`` added exactly, so that it keeps its digits wherever the interval lies.
    ``true`` is the exact value for the stored data; the evaluation error is inside the bounds.

    >>> added = within(-0.5, 0.5, evaluation_error=0.0)
    >>> added.low, added.high, added.lattice.step, added.noise.support.width < 1.0
    (-0.5, 0.5, '0.001', True)
    """

    noise: Noise
    lattice: Lattice
    low: float
    high: float
    offset: float = 0.0

    @property
    def grain(self) -> float:
        """The part of a step to which values and noise are rounded before they are added."""
        return grain(self.lattice)

    @property
    def keeps_sums(self) -> bool:
        """Whether sums that are shown keep the bound of a cell; cells of independent noise do not."""
        return False

    @property
    def spare(self) -> float:
        """What the bound has to spare beyond every rounding: released numbers are at least so much nearer."""
        return LEFT * self.lattice.size

    @cached_property
    def information(self) -> float:
        """The noise's own information about a shift."""
        return float(self.noise.information[0, 0])

    @property
    def beside(self) -> tuple[float, float] | None:
        """An information and an evaluation error that are booked beside the noise, as of any other noise; None here."""
        return None

    def draws(self, derived: bytes, tags: Array) -> Array:
        """Draw the noise of all groups from a derived key, each from the group's own tag."""
        return self.noise.sample(len(tags), rng=RowBits(derived, tags))

    def bound_at(self, share: float, evaluation_error: float) -> float:
        """Give the least round bound of which noise of this kind has at most a share of this information."""
        return bound_for(self.information * share, evaluation_error)

    def information_at(self, bound: float, evaluation_error: float) -> float:
        """Give the information of noise of this kind with another bound."""
        return within(-bound, bound, evaluation_error=evaluation_error).information

    @cached_property
    def bias(self) -> float:
        """The mean of what is added; exactly 0 where the bounds are symmetric."""
        return 0.0 if self.low == -self.high else self.offset + float(self.noise.mean[0])

    @cached_property
    def standard_error(self) -> float:
        """The noise's standard deviation."""
        return math.sqrt(float(self.noise.covariance[0, 0]))

    @cached_property
    def described(self) -> dict[str, Any]:
        """The noise's law, as plain JSON types."""
        return self.noise.law

    @cached_property
    def law(self) -> str:
        """What decides the released number besides the key, the question and the group."""
        return json.dumps({"noise": self.described, "offset": self.offset, "step": self.lattice.step}, sort_keys=True)

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain JSON types."""
        high = None if math.isinf(self.high) else self.high
        return {**json.loads(self.law), "low": self.low, "high": high}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "Added":
        """Read what ``to_dict`` gave.

        >>> Added.from_dict(within(-0.5, 0.5, evaluation_error=0.0).to_dict()).law
        '{"noise": {"high": 0.499..., "low": -0.499..., "type": "RaisedCosine"}, "offset": 0.0, "step": "0.001"}'
        """
        high = math.inf if plain["high"] is None else plain["high"]
        return cls(from_dict(plain["noise"]), Lattice(plain["step"]), plain["low"], high, plain["offset"])


@lru_cache(maxsize=4096)  # questions come with round bounds, again and again
def within(low: float, high: float, *, evaluation_error: float) -> Added:
    """Give the least informative noise that keeps the released number within [low, high] of the true one.

    The noise's interval is narrower by half a lattice step, by a grain and by the evaluation error on either side.
    """
    width = high - low
    if evaluation_error > MOST_ERROR * width:
        raise RefusedError(
            f"the question can be evaluated only to ±{evaluation_error:.2g}, which is more than a millionth of the "
            f"noise's width {width:.3g}: ask for a wider max_error, or for an expression with fewer functions",
            reason="evaluation",
        )
    lattice = Lattice.for_width(width)
    offset = low + width / 2
    if abs(offset) > MOST_OFFSET * width:
        raise InputError(f"an interval of width {width:g} must be closer to 0 than {MOST_OFFSET:g} times that")
    # what rounding puts between the ends and offset ± width/2 is far below the lattice's margin
    spare = evaluation_error + grain(lattice)
    inside = lattice.inside(-width / 2 + spare, width / 2 - spare)
    return Added(RaisedCosine(*inside), lattice, low, high, offset)


def above_the_truth(max_loss: float, *, evaluation_error: float) -> Added:
    """Give the least informative noise that never makes an answer too small, with E w² at most ``max_loss``."""
    from errorfloor.designer import design  # loaded where it is needed: most questions do without

    rough = design(HalfLine(0.0), max_loss=max_loss)
    lattice = Lattice.for_width(4 * rough.unit)
    if evaluation_error > MOST_ERROR * rough.unit:
        raise RefusedError(
            f"the question can be evaluated only to ±{evaluation_error:.2g}, more than a millionth of the noise's size "
            f"{rough.unit:.3g}: allow a larger max_loss",
            reason="evaluation",
        )
    margin = lattice.outside(0.0, 0.0)[1] + evaluation_error + grain(lattice)
    if not margin < math.sqrt(max_loss) / 2:
        raise InputError(f"max_loss {max_loss:g} leaves no room for noise")
    # with w = v + m: E w² = E v² + 2m E v + m² ≤ (√(E v²) + m)²
    inner = design(HalfLine(0.0), max_loss=(math.sqrt(max_loss) - margin) ** 2)
    return Added(Translation(inner, [margin]), lattice, 0.0, math.inf)


@dataclass(frozen=True, kw_only=True)
class QuestionWish:
    """How exact an answer should be, or how much may be spent on it; one of the three, or none for counts alone.

    >>> QuestionWish(max_error=0.5).bound_of("avg_kwh")
    0.5
    >>> QuestionWish(max_error=0.5, spend=0.1)
    Traceback (most recent call last):
    errorfloor.errors.InputError: give one of max_error, spend and support, got max_error and spend
    """

    max_error: float | Mapping[str, float] | None = None
    spend: float | None = None
    support: Interval | HalfLine | None = None
    max_loss: float | None = None

    def __post_init__(self) -> None:
        given = [name for name in ("max_error", "spend", "support") if getattr(self, name) is not None]
        if len(given) > 1:
            raise InputError(f"give one of max_error, spend and support, got {' and '.join(given)}")
        if isinstance(self.max_error, Mapping):
            bounds = {str(name): positive(f"max_error of {name}", value) for name, value in self.max_error.items()}
            object.__setattr__(self, "max_error", bounds)
        elif self.max_error is not None:
            object.__setattr__(self, "max_error", positive("max_error", self.max_error))
        if self.spend is not None:
            object.__setattr__(self, "spend", real("spend", self.spend))
            if not 0 < self.spend <= 1:
                raise InputError(f"spend is a share of the whole allowance, above 0 and at most 1; got {self.spend:g}")
        if self.support is not None and not isinstance(self.support, (Interval, HalfLine)):
            raise InputError(f"support must be an Interval or HalfLine(0.0), got {type(self.support).__name__}")
        if isinstance(self.support, HalfLine):
            if self.support != HalfLine(0.0):
                raise InputError(f"the only half-line for noise on answers is HalfLine(0.0), got {self.support!r}")
            if self.max_loss is None:
                raise InputError("support=HalfLine(0.0) has no bound above: give the quality too, max_loss=… (E w²)")
            object.__setattr__(self, "max_loss", positive("max_loss", self.max_loss))
        elif self.max_loss is not None:
            raise InputError("max_loss is for support=HalfLine(0.0) only; max_error bounds every answer")

    @property
    def key(self) -> tuple[Any, ...]:
        """What is wished for, to be looked up by."""
        bounds = self.max_error
        return (
            tuple(sorted(bounds.items())) if isinstance(bounds, Mapping) else bounds,
            self.spend,
            self.support,
            self.max_loss,
        )

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain JSON types: what was given, by name."""
        support = None if self.support is None else self.support.to_dict()
        given = {"max_error": self.max_error, "spend": self.spend, "support": support, "max_loss": self.max_loss}
        return {name: value for name, value in given.items() if value is not None}

    def shared(self, names: Sequence[str]) -> "QuestionWish":
        """Give outputs that share their cells the smallest of their bounds."""
        if not names or not isinstance(self.max_error, Mapping):
            return self
        return replace(self, max_error={**self.max_error, **dict.fromkeys(names, min(map(self.bound_of, names)))})

    def by_column(self, families: Mapping[str, Sequence[str]]) -> "QuestionWish":
        """Give columns that were asked for by one name the bound that is given for it."""
        if not isinstance(self.max_error, Mapping) or not families.keys() & self.max_error.keys():
            return self
        given = dict(self.max_error)
        asked = {name: bound for name in families if (bound := given.pop(name, None)) is not None}
        return replace(self, max_error={**{one: asked[name] for name in asked for one in families[name]}, **given})

    def bound_of(self, output: str) -> float:
        """Give the bound wanted for one output."""
        if isinstance(self.max_error, Mapping):
            if output not in self.max_error:
                named = ", ".join(sorted(self.max_error)) or "nothing"
                raise InputError(f"max_error names no bound for {output}; it has {named}: add one for {output}")
            return self.max_error[output]
        if self.max_error is None:
            raise InputError(
                "give one of max_error, spend and support, got none: say how far off an answer may be, such as "
                "max_error=0.5 (--max-error 0.5)",
                given=[],
            )
        return self.max_error

    def added(self, output: QuestionOutput, evaluation_error: float, scale: float = 1.0) -> Added:
        """Give the noise for an output, when a bound or a support was asked for; what is asked for is ``scale`` wider.

        That is 1 unless the output is a part of what is shown.
        """
        if output.part_of is not None and self.support is not None:
            raise InputError(f"{output.asked_as} is made of several numbers: give max_error or spend, not a support")
        if isinstance(self.support, HalfLine):
            assert self.max_loss is not None
            return above_the_truth(self.max_loss, evaluation_error=evaluation_error)
        if self.support is not None:
            return within(self.support.low, self.support.high, evaluation_error=evaluation_error)
        bound = self.bound_of(output.asked_as) / scale
        return within(-bound, bound, evaluation_error=evaluation_error)


def bound_for(information: float, evaluation_error: float) -> float:
    """Give a round bound ±b, as small as possible, whose noise has at most this information.

    >>> added = within(-bound_for(39.0, 0.0), bound_for(39.0, 0.0), evaluation_error=0.0)
    >>> added.high, added.information < 39.0
    (0.504, True)
    """
    if not information > 0:
        raise InputError("nothing is left to spend")
    narrowest = math.pi / math.sqrt(information) + evaluation_error
    bound = float(rounded_up(max(narrowest, evaluation_error / (2 * MOST_ERROR))))
    while within(-bound, bound, evaluation_error=evaluation_error).information > information:
        bound = float(rounded_up(bound * 1.001))
    return bound


@dataclass(frozen=True, eq=False)
class PublicNumbers:
    """The number of every kind of group, NULL where it is not ``defined``, and a bound on |number − truth|.

    >>> PublicNumbers(np.array([0.33, 0.0]), np.array([True, False]), 0.0034).is_empty
    False
    """

    numbers: Array
    defined: Array
    error: float

    @property
    def is_empty(self) -> bool:
        """Whether it is NULL everywhere: there are no rows to compute it from."""
        return not self.defined.any()

    @property
    def column(self) -> Any:
        """The numbers as an Arrow array."""
        return arrow.column(self.numbers, self.defined)


def empty(bounds: OutputBounds) -> PublicNumbers:
    """Give the constant that is NULL everywhere."""
    return PublicNumbers(np.zeros(len(bounds.defined)), bounds.defined, 0.0)


@quiet
def constant_of(bounds: OutputBounds, added: Added) -> PublicNumbers | None:
    """Give the numbers of an output, if all private values together move no cell of it by a grain; else None.

    Each is a lattice point next to the middle of what the output can be; the least one that is not below it, if
    answers must never be too small.

    *Guarantee*: the truth, whatever the private values are, is within ``error`` of the number, and not above it where
    ``added`` is one-sided. All is public.
    """
    if not (up(bounds.high - bounds.low)[bounds.defined] < added.grain).all():
        return None
    low, high, step = bounds.low, bounds.high, DoubleWord.of(Fraction(added.lattice.step))
    if math.isfinite(added.high):
        middle = DoubleWord(*two_sum(low / 2, high / 2))
        numbers = multiples((middle / step).nearest_whole(), added.lattice)
    else:
        steps = (DoubleWord(high, np.zeros_like(high)) / step).nearest_whole()
        numbers = multiples(steps + (multiples(steps, added.lattice) < high), added.lattice)
        numbers = np.where(numbers < high, np.nextafter(numbers, np.inf), numbers)
    off = np.maximum(_distance(numbers, low), _distance(numbers, high))
    return PublicNumbers(numbers, bounds.defined, float(off[bounds.defined].max(initial=0.0)))


def _distance(one: Array, other: Array) -> Array:
    """Give |one − other|, rounded up; exactly 0 where they are the same."""
    return np.where(one == other, 0.0, up(np.abs(one - other)))
