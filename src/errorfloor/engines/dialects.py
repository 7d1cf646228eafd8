"""What a compiled plan needs of an engine's SQL, with one meaning on every engine.

Integers are exact: a type is always chosen from a bound on the absolute value, so that nothing overflows and nothing is
rounded. Weeks are ISO weeks: Monday is the first day, day 1.
"""

import datetime
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from errorfloor.errors import RefusedError

LARGEST = 10**37
RAISED = 5 * 10**37  # what PostgreSQL adds to large numbers, so that they all have 38 digits
PLAIN_FUNCTIONS = ("exp", "ln", "sqrt", "sin", "cos", "tanh")
FIELDS = {"dayofyear": "doy"}  # PostgreSQL's names of parts, and the functions that Spark has for them
PARTS = {"week": "weekofyear({})", "isodow": "(weekday({}) + 1)"}


class Dialect(ABC):
    """Spellings of one engine. ``sql`` arguments are expressions of that engine; a result never needs brackets."""

    integer_types: ClassVar[tuple[tuple[int, str], ...]]  # (largest absolute value, type), smallest first
    text_type: ClassVar[str]
    double_type: ClassVar[str]
    moment_type: ClassVar[str]
    date_type: ClassVar[str] = "DATE"
    flag_type: ClassVar[str] = "BOOLEAN"

    def identifier(self, name: str) -> str:
        """Quote a name: capital letters, spaces and quotes stay what they are."""
        return '"' + name.replace('"', '""') + '"'

    def literal(self, value: str | datetime.date | datetime.datetime | bool) -> str:
        """Write a text, day, moment (without zone) or flag as a constant of its type."""
        match value:
            case bool():
                return "TRUE" if value else "FALSE"
            case datetime.datetime():
                moment = value.isoformat(sep=" ", timespec="microseconds")
                return f"CAST('{moment}' AS {self.moment_type})"
            case datetime.date():
                return f"CAST('{value.isoformat()}' AS {self.date_type})"
            case str():
                return self._text_literal(_writable(value))

    def integer(self, value: int) -> str:
        """Write a whole number as a constant."""
        self.integer_type(abs(value))
        return str(value) if value >= 0 else f"({value})"

    def number(self, value: float) -> str:
        """Write a double as a constant that is read back as the same double."""
        return f"CAST('{value!r}' AS {self.double_type})"

    def integer_type(self, largest: int) -> str:
        """Name the smallest exact integer type that holds ± ``largest``; RefusedError above 10³⁷, which all hold."""
        if largest > LARGEST:
            raise _too_large(largest)
        return next(name for limit, name in self.integer_types if largest <= limit)

    def whole(self, sql: str, largest: int) -> str:
        """Make an expression of whole numbers the smallest exact integer type that holds ± ``largest``."""
        return f"CAST({sql} AS {self.integer_type(largest)})"

    def double(self, sql: str) -> str:
        """Make a number a double."""
        return f"CAST({sql} AS {self.double_type})"

    def to_whole(self, sql: str) -> str:
        """Round a double to the nearest whole number as floor(x + ½), of at most 63 bits."""
        return f"CAST(floor({sql} + {self.number(0.5)}) AS BIGINT)"

    def text(self, sql: str) -> str:
        """Write a value as text; whole numbers without anything but digits and a sign."""
        return f"CAST({sql} AS {self.text_type})"

    def typed(self, sql: str, type: str) -> str:
        """Make a value a text that compares by its bytes, a date, a moment without a zone, or a flag."""
        match type:
            case "text":
                return self.by_bytes(self.text(sql))
            case "date":
                return self.as_date(sql)
            case "moment":
                return f"CAST({sql} AS {self.moment_type})"
        return f"CAST({sql} AS {self.flag_type})"

    def exact(self, sql: str, largest: int) -> str:
        """Give a whole number of at most ± ``largest`` as Arrow holds it exactly: in 64 bits, or in 128 if need be.

        *Guarantee*: neither the size of a result nor the cost of reading it follows a number.
        """
        return self.whole(sql, 2**63 - 1 if largest < 2**63 else largest)

    @abstractmethod
    def floor_divide(self, sql: str, divisor: int, largest: int) -> str:
        """Give the greatest whole number not above sql / ``divisor`` > 0, where |sql| ≤ ``largest``.

        Raises RefusedError if the quotient may have more than 62 bits.
        """

    def total(self, sql: str, largest: int, rows: int) -> str:
        """Sum whole numbers of absolute value at most ``largest`` over at most ``rows`` rows, exactly."""
        self.integer_type(largest * rows)
        return f"sum({self._summed(sql, largest, largest * rows)})"

    def _summed(self, sql: str, largest: int, total: int) -> str:
        return sql

    @abstractmethod
    def not_a_number(self, sql: str) -> str:
        """Tell whether a double is NaN; NULL is not."""

    def function(self, name: str, parameters: Sequence[float], sql: str) -> str:
        """Apply a function to a double; ``smoothstep`` takes s between 0 and 1 to 3s² − 2s³."""
        if name in PLAIN_FUNCTIONS:
            return f"{name}({sql})"
        constants = [self.number(parameter) for parameter in parameters]
        match name, constants:
            case "power", [exponent]:
                return f"power({sql}, {exponent})"
            case "greatest" | "least", [other]:
                return f"{name}({sql}, {other})"
            case "reciprocal", []:
                return f"({self.number(1.0)} / {sql})"
            case "smoothstep", []:
                return f"({sql} * {sql} * ({self.number(3.0)} - {self.number(2.0)} * {sql}))"
        raise RefusedError(f"no function of a row is called {name!r} with {len(constants)} numbers", reason="function")

    def hashed(self, columns: Sequence[str]) -> str | None:
        """Give a number of 64 bits without a sign that follows from columns without nulls; None if none does fast."""
        return None

    @abstractmethod
    def part(self, name: str, sql: str) -> str:
        """Give the year, quarter, month, week, day, dayofyear, isodow, hour or minute as a whole number."""

    @abstractmethod
    def truncated(self, unit: str, sql: str, type: str) -> str:
        """Give the beginning of the year, quarter, month, week, day or hour; ``type`` is date or moment, and stays."""

    def as_date(self, sql: str) -> str:
        """Give the day of a moment."""
        return f"CAST({sql} AS {self.date_type})"

    def series(self, low: int, high: int, name: str) -> str:
        """Give a relation of the whole numbers from ``low`` to ``high``, in a column of this name."""
        return f"range({low}, {high + 1}) AS series({name})"

    def day_after(self, day: datetime.date, sql: str) -> str:
        """Give the day so many days after another."""
        return f"({self.literal(day)} + CAST({sql} AS INTEGER))"

    def _text_literal(self, value: str) -> str:
        return "'" + value.replace("'", "''") + "'"

    def by_bytes(self, sql: str) -> str:
        """Make a text compare by its UTF-8 bytes, in whatever order the engine would have chosen."""
        return sql

    def like(self, sql: str, pattern: str) -> str:
        """Match a text with a pattern of % and _ in which nothing is escaped."""
        return f"({sql} LIKE {self.literal(pattern)})"


class DuckDBDialect(Dialect):
    """DuckDB: sums of whole numbers have 128 bits, and no character escapes another unless one is named.

    >>> DuckDBDialect().total("x0", largest=50_000, rows=10**7)
    'sum(x0)'
    >>> DuckDBDialect().literal("it's")
    "'it''s'"
    """

    integer_types = ((2**31 - 1, "INTEGER"), (2**63 - 1, "BIGINT"), (LARGEST, "HUGEINT"))
    text_type = "VARCHAR"
    double_type = "DOUBLE"
    moment_type = "TIMESTAMP"

    def floor_divide(self, sql: str, divisor: int, largest: int) -> str:
        """Divide by //, which cuts towards zero, above zero."""
        shift = _shift(divisor, largest)
        inner = self.whole(sql, largest + shift * divisor)
        return self.whole(f"({inner} + {shift * divisor}) // {divisor} - {shift}", 2**62)

    def not_a_number(self, sql: str) -> str:
        """Ask isnan."""
        return f"coalesce(isnan({sql}), FALSE)"

    def hashed(self, columns: Sequence[str]) -> str:
        """Ask hash."""
        return f"hash({', '.join(columns)})"

    def part(self, name: str, sql: str) -> str:
        """Ask date_part, whose week is the ISO week."""
        return f"CAST(date_part('{name}', {sql}) AS INTEGER)"

    def truncated(self, unit: str, sql: str, type: str) -> str:
        """Ask date_trunc and keep the type, which it changes."""
        return f"CAST(date_trunc('{unit}', {sql}) AS {self.date_type if type == 'date' else self.moment_type})"


class PostgreSQLDialect(Dialect):
    r"""PostgreSQL: large integers are numeric, which is exact but divides with rounding.

    >>> PostgreSQLDialect().floor_divide("p1", 7, largest=100)
    '((CAST(p1 AS INTEGER) + 105) / 7 - 15)'
    >>> PostgreSQLDialect().literal("a\\b")
    "E'a\\\\b'"
    """

    integer_types = ((2**31 - 1, "INTEGER"), (2**63 - 1, "BIGINT"), (LARGEST, "NUMERIC(38, 0)"))
    text_type = "TEXT"
    double_type = "DOUBLE PRECISION"
    moment_type = "TIMESTAMP"

    def floor_divide(self, sql: str, divisor: int, largest: int) -> str:
        """Divide above zero by / (integers) or div (numeric): both cut towards zero."""
        shift = _shift(divisor, largest)
        bound = largest + shift * divisor
        inner = f"({self.whole(sql, bound)} + {shift * divisor})"
        if max(bound, divisor) < 2**63:
            return f"({inner} / {divisor} - {shift})"
        return self.whole(f"div({inner}, {divisor}) - {shift}", 2**62)

    def exact(self, sql: str, largest: int) -> str:
        """Give a large number as the 38 digits of itself and ``RAISED``: Arrow has no type for NUMERIC.

        >>> PostgreSQLDialect().exact("p1", largest=10**30)
        'CAST(p1 + 50000000000000000000000000000000000000 AS TEXT)'
        """
        return super().exact(sql, largest) if largest < 2**63 else self.text(f"{sql} + {RAISED}")

    def _summed(self, sql: str, largest: int, total: int) -> str:
        # sums of INTEGER have 64 bits, of BIGINT and NUMERIC as many as needed
        return sql if total < 2**63 else self.whole(sql, max(largest, 2**31))

    def not_a_number(self, sql: str) -> str:
        """Compare with NaN, which equals itself here."""
        return f"coalesce({sql} = {self.number(float('nan'))}, FALSE)"

    def part(self, name: str, sql: str) -> str:
        """Ask extract, whose week is the ISO week."""
        return f"CAST(extract({FIELDS.get(name, name)} FROM {sql}) AS INTEGER)"

    def truncated(self, unit: str, sql: str, type: str) -> str:
        """Ask date_trunc of a moment without zone: of a date it would use the session's zone."""
        start = f"date_trunc('{unit}', CAST({sql} AS {self.moment_type}))"
        return f"CAST({start} AS {self.date_type})" if type == "date" else start

    def series(self, low: int, high: int, name: str) -> str:
        """Ask generate_series, which ends with its last number."""
        return f"generate_series({self.whole(str(low), 2**62)}, {self.whole(str(high), 2**62)}) AS series({name})"

    def by_bytes(self, sql: str) -> str:
        """Compare in the C order, whatever the database's own."""
        return f'({sql} COLLATE "C")'

    def _text_literal(self, value: str) -> str:
        # E'…' has one meaning whatever the server's setting for backslashes
        return "E'" + value.replace("\\", "\\\\").replace("'", "''") + "'"

    def like(self, sql: str, pattern: str) -> str:
        """Match with the escape character taken away."""
        return f"({sql} LIKE {self.literal(pattern)} ESCAPE '')"


class SparkDialect(Dialect):
    """Spark: large integers are decimals of 38 digits; texts are written as their bytes.

    >>> SparkDialect().literal("a")
    "CAST(X'61' AS STRING)"
    >>> SparkDialect().total("x0", largest=2**40, rows=10**9)
    'sum(CAST(x0 AS DECIMAL(38, 0)))'
    """

    integer_types = ((2**31 - 1, "INT"), (2**63 - 1, "BIGINT"), (LARGEST, "DECIMAL(38, 0)"))
    text_type = "STRING"
    double_type = "DOUBLE"
    moment_type = "TIMESTAMP_NTZ"

    def identifier(self, name: str) -> str:
        """Quote a name with backticks."""
        return "`" + name.replace("`", "``") + "`"

    def floor_divide(self, sql: str, divisor: int, largest: int) -> str:
        """Divide by div, which cuts towards zero, above zero."""
        shift = _shift(divisor, largest)
        bound = largest + shift * divisor
        return f"(({self.whole(sql, bound)} + {self.whole(str(shift * divisor), bound)}) div {divisor} - {shift})"

    def _summed(self, sql: str, largest: int, total: int) -> str:
        return sql if total < 2**63 else self.whole(sql, total)

    def not_a_number(self, sql: str) -> str:
        """Ask isnan."""
        return f"isnan({sql})"

    def part(self, name: str, sql: str) -> str:
        """Ask the function of that name."""
        return PARTS.get(name, name + "({})").format(sql)

    def truncated(self, unit: str, sql: str, type: str) -> str:
        """Cut the day by trunc: date_trunc would read a moment in the session's zone."""
        day = self.as_date(sql)
        start = f"CAST({day if unit in ('day', 'hour') else f'''trunc({day}, '{unit}')'''} AS {self.moment_type})"
        if type == "date":
            return self.as_date(start)
        return f"({start} + make_dt_interval(0, hour({sql})))" if unit == "hour" else start

    def day_after(self, day: datetime.date, sql: str) -> str:
        """Ask date_add."""
        return f"date_add({self.literal(day)}, CAST({sql} AS INT))"

    def _text_literal(self, value: str) -> str:
        return f"CAST(X'{value.encode().hex()}' AS STRING)"

    def like(self, sql: str, pattern: str) -> str:
        """Match with an escape character that the pattern does not hold."""
        escape = next(letter for letter in map(chr, range(33, 10**6)) if letter.isalnum() and letter not in pattern)
        return f"({sql} LIKE {self.literal(pattern)} ESCAPE '{escape}')"


def _shift(divisor: int, largest: int) -> int:
    """Give by how many divisors numbers are raised above zero; refuse a quotient that may have more than 62 bits."""
    if divisor <= 0:
        raise ValueError(f"a divisor is positive, got {divisor}")
    if largest // divisor >= 2**62:
        raise _too_large(largest // divisor)
    return -(-largest // divisor)


def _writable(value: str) -> str:
    """Refuse what no engine can hold: NUL, and halves of a pair of surrogates."""
    if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise RefusedError(
            f"the text {value!r} holds a character that no database stores: leave it out", reason="constant"
        )
    return value


def _too_large(value: int) -> RefusedError:
    return RefusedError(
        f"a number of the question may reach {float(min(value, 10**300)):.3g}; sums stay exact up to 1e37: "
        f"ask for lower powers, fewer rows, or constants with fewer digits",
        reason="too-large",
    )
