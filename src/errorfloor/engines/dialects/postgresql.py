"""PostgreSQL's spellings."""

from errorfloor.engines.dialects.base import LARGEST, Dialect, check_quotient

RAISED = 5 * 10**37  # what is added to large numbers, so that they all have 38 digits
FIELDS = {"dayofyear": "doy"}


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
        check_quotient(divisor, largest)
        shift = -(-largest // divisor)
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

    def total(self, sql: str, largest: int, rows: int) -> str:
        """Sum: of INTEGER in 64 bits, of BIGINT and NUMERIC in as many as needed."""
        self.integer_type(largest * rows)
        wide = sql if largest * rows < 2**63 else self.whole(sql, max(largest, 2**31))
        return f"sum({wide})"

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
