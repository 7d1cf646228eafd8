"""DuckDB's spellings."""

from collections.abc import Sequence

from errorfloor.engines.dialects.base import LARGEST, Dialect, check_quotient


class DuckDBDialect(Dialect):
    """DuckDB: sums of whole numbers have 128 bits.

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
        check_quotient(divisor, largest)
        shift = -(-largest // divisor)
        inner = self.whole(sql, largest + shift * divisor)
        return self.whole(f"({inner} + {shift * divisor}) // {divisor} - {shift}", 2**62)

    def total(self, sql: str, largest: int, rows: int) -> str:
        """Sum in 128 bits, which DuckDB does for every integer type."""
        self.integer_type(largest * rows)
        return f"sum({sql})"

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

    def _text_literal(self, value: str) -> str:
        return "'" + value.replace("'", "''") + "'"

    def like(self, sql: str, pattern: str) -> str:
        """Match; there is no escape character unless one is named."""
        return f"({sql} LIKE {self.literal(pattern)})"
