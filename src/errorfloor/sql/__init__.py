"""Questions: parse → typed plan → compile for an engine."""

from errorfloor.extras import require

require("sql", "pydantic", "sqlglot")

from errorfloor.sql.compile import denominator, facts, owners, scan
from errorfloor.sql.evaluate import evaluate, needed
from errorfloor.sql.layout import Layout, stored_layout
from errorfloor.sql.parse import parse

__all__ = [
    "Layout",
    "denominator",
    "evaluate",
    "facts",
    "needed",
    "owners",
    "parse",
    "scan",
    "stored_layout",
]
