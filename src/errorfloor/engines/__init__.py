"""DuckDB, PostgreSQL and Spark: run a compiled plan, give Arrow.

Each engine is a thin adapter behind one face: it reads a declared source, keeps immutable tables with a note on each,
and answers queries as Arrow. ``dialects`` holds the few spellings in which their SQL differs.

A new engine (a database that holds the data; where ledgers are kept is in ``ledger``): a subclass of
``base.TransactionalEngine`` or ``base.Engine``, a subclass of ``dialects.Dialect``, a case in ``open_engine``, its name
in ``catalogue.model.Place`` with the rule for where its snapshots are (``Place.is_server`` for what has an address
instead of a path), and its driver among the extras that pyproject.toml lists. The tests of every engine then run on it
once ``tests/conftest.py`` has it. Also add its time per row in ``preparing.cost``, what ``init`` says about it in
``catalogue.draft``, and where ``init`` puts its snapshots in ``cli.init``. Tables that grow and releases are for DuckDB
alone.

``duckdb`` and ``duckdb_folder``, ``postgresql`` and ``spark`` are the engines; ``allotment`` is what one question may
take of them. ``sources`` is what they read. Text files and sheets are read by DuckDB for every engine: ``detection``,
``text_lines``, ``text_tables``, ``sheets``.
"""

from errorfloor.extras import require

require("sql", "pydantic", "duckdb")

from errorfloor.engines.base import Engine, has_vault, open_engine
from errorfloor.engines.sources import Source

__all__ = ["Engine", "Source", "has_vault", "open_engine"]
