"""Questions: parse → typed plan → compile for an engine.

=======================  ===================================================================================
text → tree              ``reading``, the only place that calls sqlglot's parser
tree → plan              ``parse``: ``tables`` and ``names``, ``conditions``, ``row_expressions`` and ``numbers`` for a
                         row, ``aggregates`` for formulas, ``groupings``, ``windows``, ``distributions``, ``quantiles``
the plan                 ``plan`` and ``question``; ``units`` for display; ``parts_read`` for tables that grow
plan → engine            ``compile``: ``layout`` and ``row_sql`` for a row, ``call_sql`` for its functions
sums → values            ``evaluate``
protected records        ``records``, ``record_ranges``, ``steps``
refusals                 ``refusals`` (what is refused, why, what to ask instead) and ``misspelt``
small parts              ``dates``, ``choices`` (CASE), ``limits`` (HAVING, LIMIT)
=======================  ===================================================================================

A new function: its node in ``row_expressions`` or ``aggregates``, its name in ``plan`` and ``reading``, its price in
``pricing.functions``, and its arithmetic in ``call_sql`` with ``engines.dialects`` or in
``arithmetic.double_functions``. A refusal is worded where it is raised: ``parse`` for DISTINCT, GROUP BY and ORDER BY,
``limits`` for HAVING and LIMIT, ``tables`` for FROM, JOIN and WITH, ``conditions`` for WHERE, ``records`` for tables
that protect records, ``reading`` and ``misspelt`` for text that cannot be read; functions, whole constructs and words
that several share are in ``refusals``.
"""

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
