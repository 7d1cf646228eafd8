"""Spark's spellings; nothing depends on the session's zone or on its ANSI, escape and substitution settings."""

import datetime

from errorfloor.engines.dialects.base import LARGEST, Dialect, check_quotient

PARTS = {"week": "weekofyear({})", "isodow": "(weekday({}) + 1)"}


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
        check_quotient(divisor, largest)
        shift = -(-largest // divisor)
        bound = largest + shift * divisor
        return f"(({self.whole(sql, bound)} + {self.whole(str(shift * divisor), bound)}) div {divisor} - {shift})"

    def total(self, sql: str, largest: int, rows: int) -> str:
        """Sum in 64 bits where that is enough, else as decimals."""
        self.integer_type(largest * rows)
        wide = sql if largest * rows < 2**63 else self.whole(sql, largest * rows)
        return f"sum({wide})"

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
