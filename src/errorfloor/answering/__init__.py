"""A prepared question on its way to an answer: charge → draw → look → answer, and what is kept of it.

=========================  =================================================================================
``asking``                   the order of these steps, for one question; ``by_part`` for tables that grow
``releasing``, ``cells``       from a charge to released numbers, and what is stated of each cell
``answer``                   what a caller holds, and as JSON; ``words`` says it in sentences
``keeping``, ``packing``       keep what was released, and find it again without a charge; ``known`` for a session
``kept``                     an answer that was found again
``unions``, ``reconciling``    what follows by arithmetic from what is kept; ``origins`` finds from which answers
``advice``, ``simulation``     what to ask instead, and what can still be asked
=========================  =================================================================================

A new sentence about answers goes to ``words``: every door and every page takes it from there.
"""

from errorfloor.extras import require

require("sql", "duckdb", "pyarrow", "pydantic", "sqlglot")
