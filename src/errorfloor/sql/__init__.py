"""Questions: parse → typed plan → compile for an engine.

=======================  ===================================================================================
text → tree              ``reading``, the only place that calls sqlglot's parser
tree → plan              ``parse``: ``tables`` and ``names``, ``conditions``, ``row_expressions`` and ``numbers`` for a
                         row, ``aggregates`` for formulas, ``distributions`` and quantiles, ``clauses`` for the rest
the plan                 ``plan`` and ``question``; ``parts_read`` for tables that grow
plan → engine            ``compile``, with ``row_sql`` for a row; ``sums`` says how large its integers can be
sums → values            ``sums``
protected records        ``records``, ``record_ranges``
refusals                 ``refusals``: what is refused, why, what to ask instead
small parts              ``dates``, ``choices`` (CASE, and what is made of it)
=======================  ===================================================================================

A new function: its node in ``row_expressions`` or ``aggregates``, its name in ``plan`` and ``reading``, its price in
``pricing.functions``, and its arithmetic in ``row_sql`` with ``engines.dialects`` or in
``arithmetic.double_functions``. A refusal is worded where it is raised: ``parse`` for DISTINCT, GROUP BY and ORDER BY,
``clauses`` for HAVING and LIMIT, ``tables`` for FROM, JOIN and WITH, ``conditions`` for WHERE, ``records`` for tables
that protect records, ``reading`` for text that cannot be read. In ``refusals``: private columns where only public ones
may stand (as a key, in a condition or a join), functions, whole constructs, and words that several share.
"""

from errorfloor.extras import require

require("sql", "pydantic", "sqlglot")

from errorfloor.sql.compile import denominator, facts, owners, scan
from errorfloor.sql.parse import parse
from errorfloor.sql.sums import Layout, evaluate, needed, stored_layout

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
