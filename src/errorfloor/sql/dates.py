"""Dates and moments as the question writes them: literals, parts, beginnings of periods."""

import datetime
import re

from sqlglot import exp

from errorfloor.arithmetic.polynomial import Polynomial
from errorfloor.errors import RefusedError
from errorfloor.sql.numbers import Number, scalar_presence
from errorfloor.sql.plan import AsDate, Choice, DatePart, Literal, ScalarType, TableColumn, Truncated
from errorfloor.sql.reading import shown

Dated = TableColumn | Truncated | AsDate
Value = Number | TableColumn | Literal | Truncated | AsDate | Choice

DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?")
MIDNIGHT = re.compile(DATE.pattern + r"[ T]00:00(:00(\.0{1,6})?)?")
PARTS: dict[type[exp.Expression], str] = {
    exp.Year: "year",
    exp.Quarter: "quarter",
    exp.Month: "month",
    exp.Week: "week",
    exp.WeekOfYear: "week",
    exp.Day: "day",
    exp.DayOfMonth: "day",
    exp.DayOfYear: "dayofyear",
    exp.DayOfWeekIso: "isodow",
    exp.Hour: "hour",
    exp.Minute: "minute",
}
UNITS = ("year", "quarter", "month", "week", "day", "hour")
SPELLINGS = {"doy": "dayofyear", "dayofweekiso": "isodow", "dayofweek_iso": "isodow", "dayofmonth": "day"}
WITHIN_DAY = ("hour", "minute")


def date_literal(text: str) -> Literal:
    """Read a date; its midnight is one, too, as tools write it.

    >>> date_literal("2013-01-31").value, date_literal("2013-01-31 00:00:00.000000").value
    (datetime.date(2013, 1, 31), datetime.date(2013, 1, 31))
    """
    try:
        if DATE.fullmatch(text) or MIDNIGHT.fullmatch(text):
            return Literal(datetime.date.fromisoformat(text[:10]), "date")
    except ValueError:
        pass
    raise RefusedError(f"holds {shown(text)}, which is not a date: write it as '2013-01-31'", reason="type")


def moment_literal(text: str) -> Literal:
    """Read a moment, in UTC; a date is its midnight.

    >>> moment_literal("2013-01-31 12:30").value
    datetime.datetime(2013, 1, 31, 12, 30)
    """
    try:
        if MOMENT.fullmatch(text):
            head, _, fraction = text.partition(".")
            return Literal(datetime.datetime.fromisoformat(f"{head}.{fraction:0<6}" if fraction else head), "moment")
        if DATE.fullmatch(text):
            return Literal(datetime.datetime.fromisoformat(text), "moment")
    except ValueError:
        pass
    raise RefusedError(
        f"holds {shown(text)}, which is not a moment: write it as '2013-01-31 12:30:00', in UTC and without a zone",
        reason="type",
    )


def date_part(name: str, value: Value) -> Number:
    """Give a part of a public date or moment as a whole number."""
    part = SPELLINGS.get(name.lower(), name.lower())
    if part not in (known := dict.fromkeys(PARTS.values())):
        hint = "isodow counts Monday 1 … Sunday 7" if "dow" in part or "weekday" in part else ", ".join(known)
        raise RefusedError(f"asks for the part {shown(name)}, which is not supported: {hint}", reason="function")
    dated = as_dated(value, within_day=part in WITHIN_DAY)
    return Number(Polynomial.atom(DatePart(part, dated)), scalar_presence(dated))


def truncated(unit: str, value: Value) -> Truncated:
    """Give the beginning of the period that a public date or moment lies in."""
    lowered = unit.lower()
    if lowered not in UNITS:
        raise RefusedError(f"truncates to {shown(unit)}; supported are {', '.join(UNITS)}", reason="function")
    return Truncated(lowered, as_dated(value, within_day=lowered in WITHIN_DAY))


def as_date(value: Value) -> Dated | Literal:
    """Give the day of a date or moment."""
    if isinstance(value, Literal) and value.type == "text":
        return date_literal(str(value.value))
    dated = as_dated(value)
    if dated.type == "date" or isinstance(dated, AsDate):
        return dated
    return AsDate(dated)


def as_dated(value: Value, *, within_day: bool = False) -> Dated:
    """Give a value that is a public date or moment; one with hours if it must."""
    kinds: tuple[ScalarType, ...] = ("moment",) if within_day else ("date", "moment")
    if isinstance(value, Dated) and value.type in kinds:
        return value
    wanted = "moment" if within_day else "date or moment"
    raise RefusedError(f"needs a public column that is declared a {wanted}", reason="type")


def literal_like(kind: str, literal: Literal) -> Literal:
    """Read a text as the date or moment it is compared with; a date beside a moment is its midnight."""
    if kind == "date" and (literal.type == "text" or MIDNIGHT.fullmatch(str(literal.value))):
        return date_literal(str(literal.value))
    if literal.type in ("text", "date") and kind == "moment":
        return moment_literal(str(literal.value))
    return literal
