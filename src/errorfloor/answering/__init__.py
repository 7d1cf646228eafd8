"""A prepared question on its way to an answer: charge → look → draw → answer, and what is kept of it.

``asking`` has the order of these steps, ``releasing`` takes them from a charge to released numbers, ``keeping`` finds
those again without a charge, ``unions`` and ``reconciling`` draw conclusions from them, ``words`` says what they
promise.
"""

from errorfloor.extras import require

require("sql", "duckdb", "pyarrow", "pydantic", "sqlglot")
