"""Columns of a table that protects records: each has a declared domain, so that nothing about rows is public."""

import datetime
from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from errorfloor.catalogue.columns import MOST_STEPS, Declaration, Exact, PublicColumn, Unit, exact

MOST_VALUES = 10_000
LEAST_DELTA = 20  # times what draws may be off: a little more than leaves room for some ε
End = datetime.date | Fraction


def _end(given: Any) -> Any:
    """Read an end of a range: a day, or a number as it is written."""
    is_day = isinstance(given, datetime.date) and not isinstance(given, datetime.datetime)
    return given if is_day else exact(given)


class RecordColumn(Declaration):
    """A column of a table that protects records: ``values`` are texts, ``range`` is of numbers or of days.

    A text that is not among the values, and whatever is missing, is stored as ``rest``; what lies outside a range as
    the nearest end. A range needs a ``rest``, inside of it, only if something may be missing.

    >>> RecordColumn(values=("f", "m"), rest="other").texts
    ('f', 'm', 'other')
    >>> RecordColumn(range=(0, 110)).steps, RecordColumn(range=(0, 2), resolution="0.5").size
    ((0, 110), 5)
    """

    values: tuple[str, ...] = Field(default=(), max_length=MOST_VALUES)
    range: tuple[Annotated[End, BeforeValidator(_end)], Annotated[End, BeforeValidator(_end)]] | None = None
    resolution: Exact = Fraction(1)
    rest: Annotated[str | End | None, BeforeValidator(lambda v: v if v is None or isinstance(v, str) else _end(v))] = (
        None
    )
    unit: Unit = ""

    @property
    def public(self) -> PublicColumn:
        """The column as questions see it: they may compare it, compute with it and group by it."""
        if self.range is None:
            return PublicColumn(type="text", unit=self.unit)
        if isinstance(self.range[0], datetime.date):
            return PublicColumn(type="date", unit=self.unit)
        if self.resolution == 1:
            return PublicColumn(type="whole", unit=self.unit)
        return PublicColumn(type="number", resolution=self.resolution, unit=self.unit)

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that can be stored."""
        return tuple(dict.fromkeys([*self.values, str(self.rest)]))

    @property
    def days(self) -> tuple[datetime.date, datetime.date]:
        """The ends of a range of days."""
        assert self.range is not None
        first, last = self.range
        assert isinstance(first, datetime.date) and isinstance(last, datetime.date)
        return first, last

    @property
    def steps(self) -> tuple[int, int]:
        """The ends of a range of numbers as stored: whole multiples of the resolution."""
        assert self.range is not None
        low, high = (Fraction(end) / self.resolution for end in self.range)  # type: ignore[arg-type]
        return int(low), int(high)

    @property
    def missing(self) -> int | None:
        """What is stored for a number that is missing, in steps."""
        return None if not isinstance(self.rest, Fraction) else int(self.rest / self.resolution)

    @property
    def size(self) -> int:
        """How many values can be stored."""
        match self.public.type:
            case "text":
                return len(self.texts)
            case "date":
                return (self.days[1] - self.days[0]).days + 1
        return self.steps[1] - self.steps[0] + 1

    def _mistakes(self) -> Iterator[tuple[str, str]]:
        if (self.range is None) == (not self.values):
            yield "", 'needs one of values = ["a", "b"] (texts) and range = [0, 110] (numbers or days)'
            return
        if self.range is None:
            if not isinstance(self.rest, str):
                yield "rest", 'is missing: the text that stands for every other value, such as rest = "other"'
            if len(set(self.values)) < len(self.values):
                yield "values", "names a text twice"
            if self.resolution != 1:
                yield "resolution", "is for ranges of numbers; this column has values"
            return
        kinds = {type(end) for end in self.range}
        if len(kinds) > 1:
            yield "range", "must have two numbers, or two days"
            return
        if self.rest is not None and type(self.rest) not in kinds:
            yield "rest", "must lie in the range: it stands for what is missing"
            return
        low, high = self.range
        if not low < high:  # type: ignore[operator]
            yield "range", f"needs low < high, got {low} … {high}"
        elif self.rest is not None and not low <= self.rest <= high:  # type: ignore[operator]
            yield "rest", "must lie in the range: it stands for what is missing"
        if isinstance(low, datetime.date):
            if self.resolution != 1:
                yield "resolution", "is for ranges of numbers; this one is of days"
            return
        if self.resolution <= 0:
            yield "resolution", f"must be positive, got {float(self.resolution):.12g}"
            return
        for word, number in (("range", low), ("range", high), ("rest", self.rest)):
            if isinstance(number, Fraction) and (number / self.resolution).denominator != 1:
                yield word, f"must lie on multiples of the resolution {float(self.resolution):.12g}"
        if max(map(abs, self.steps)) > MOST_STEPS:
            yield "resolution", f"puts the range more than {MOST_STEPS:.3g} steps from zero: choose a coarser one"


def mistakes_in_records(given: Declaration) -> Iterator[tuple[str, str]]:
    """Give what is wrong with the words of a table that protects records, beside its columns.

    >>> from errorfloor.catalogue.model import Table
    >>> Table.model_validate({"source": "p.csv", "version": "1", "protects": "records", "min_group": 5,
    ...                       "owner": {"floor": 0.4}, "columns": {"age": {"range": [0, 110]}}})
    Traceback (most recent call last):
    pydantic_core._pydantic_core.ValidationError: ...min_group is for tables that protect values...
    """
    columns, owner = getattr(given, "columns", {}), getattr(given, "owner", None)
    for word in ("row_key", "private", "public", "account_by", "grows_by", "min_group", "noises"):
        if getattr(given, word) != type(given).model_fields[word].get_default(call_default_factory=True) and (
            word not in ("row_key", "public") or getattr(given, word)
        ):
            yield word, 'is for tables that protect values; with protects = "records" every column goes under columns'
    if not columns:
        yield (
            "columns",
            "is missing: declare each column with its values or its range, such as age = { range = [0, 110] }",
        )
    if owner is None:
        yield (
            "owner",
            'is missing: owner = { column = "patient", rows = 1, floor = 0.4 }, or { floor = 0.4 } if each row is '
            "somebody else's",
        )
        return
    for word in ("apart", "per", "life", "joined"):
        if getattr(owner, word):
            yield (
                f"owner.{word}",
                "is for tables that protect values: here two contents of an owner may differ in anything",
            )
    if not owner.column and owner.rows is not None and owner.rows > 1:
        yield (
            "owner.rows",
            "is more than 1, and each row is somebody else's: name the owner's column, or leave rows out",
        )
    if owner.register is not None and owner.max_delta is not None:
        yield (
            "owner.max_delta",
            f"cannot be stated of the register {owner.register!r}, whose other tables may have other noise: leave one "
            f"of the two out",
        )
    if owner.max_epsilon is not None and owner.max_delta is None:
        yield "owner.max_epsilon", "needs a max_delta, such as max_delta = 1e-6: bounded answers always have a δ"
    if owner.stated is not None and not owner.stated.is_possible:
        least = float(f"{owner.stated.drawn * LEAST_DELTA:.0e}")
        yield (
            "owner.max_delta",
            f"is {owner.max_delta:g}, and with rows = {owner.most_rows} it must be at least {least:g}: declare "
            f"that, or fewer rows",
        )
    if owner.max_delta is not None and owner.floor + 3 * owner.max_delta >= 0.5:
        yield "owner.floor", f"must be below {0.5 - 3 * owner.max_delta:g} with max_delta = {owner.max_delta:g}"
    if owner.column in columns:
        yield "owner.column", f"names {owner.column!r}, which is also among the columns: nobody may ask about it"
