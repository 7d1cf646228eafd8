"""What DuckDB is asked to read a text field as: one strict expression for each declared column."""

from collections.abc import Mapping
from typing import Any

from errorfloor.catalogue.columns import PublicType
from errorfloor.catalogue.reading import Reading
from errorfloor.engines.dialects import DuckDBDialect

dialect = DuckDBDialect()


def field_sql(field: str, kind: PublicType, how: Reading) -> str:
    """Read a field as what its column is declared to be; where it is not, DuckDB fails.

    >>> field_sql("f0", "text", Reading())
    'f0'
    """
    if kind == "text":
        return field
    return f"CASE WHEN {is_missing(field, how)} THEN NULL ELSE {_parsed(f'trim({field})', kind, how)} END"


def _parsed(text: str, kind: PublicType, how: Reading) -> str:
    match kind:
        case "number" | "whole":
            return f"CAST({number_sql(text, how)} AS DOUBLE)"
        case "date":
            return f"CAST({by_format(text, how.dates) or text} AS DATE)"
        case "moment":
            return f"CAST({by_format(text, how.moments) or f'CAST({text} AS TIMESTAMPTZ)'} AS TIMESTAMP)"
        case _:
            return f"CAST({text} AS BOOLEAN)"


def by_format(text: str, format: str) -> str:
    """Read a text as a moment by a format, if there is one."""
    if "%Y" in format:  # which would take 26 for the year 26
        text = f"CASE WHEN regexp_matches({text}, '\\d{{4}}') THEN {text} ELSE 'none' END"
    return f"strptime({text}, {sql_of(format)})" if format else ""


def number_sql(text: str, how: Reading) -> str:
    """Write a number with a point and without thousands, or as something that is none."""
    if (how.decimal, how.thousands) == (".", ""):
        return text
    plain = f"replace({text}, {sql_of(how.decimal)}, '.')"
    if how.thousands:
        stripped = f"regexp_replace({text}, '{_group(how.thousands)}', '', 'g')"
        plain = f"replace({stripped}, {sql_of(how.decimal)}, '.')"
    pattern = sql_of(number_pattern(how.decimal, how.thousands))
    return f"CASE WHEN regexp_full_match({text}, {pattern}) THEN {plain} ELSE 'none' END"


def number_pattern(decimal: str, thousands: str) -> str:
    """Give the regular expression of numbers that are written so; groups are of three digits."""
    whole = rf"\d+|\d{{1,3}}({_group(thousands)}\d{{3}})+" if thousands else r"\d+"
    return rf"[+-]?(({whole})([{decimal}]\d*)?|[{decimal}]\d+)([eE][+-]?\d+)?"


def _group(thousands: str) -> str:
    letters = {" ": r"\x{20}\x{A0}\x{202F}\x{2009}", "'": r"\x{27}\x{2019}"}  # with their typographic kin
    return f"[{letters.get(thousands, thousands)}]"


def is_missing(field: str, how: Reading) -> str:
    """Tell whether a field is empty, or spelt as nulls are."""
    spelt = ", ".join(sql_of(one) for one in ("", *(one.strip() for one in how.nulls)))
    return f"({field} IS NULL OR trim({field}) IN ({spelt}))"


def sql_of(value: Any) -> str:
    """Write a constant."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{sql_of(k)}: {sql_of(v)}" for k, v in value.items()) + "}"
    return str(value) if isinstance(value, int) else dialect.literal(value)
