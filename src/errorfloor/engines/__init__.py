"""DuckDB, PostgreSQL and Spark: run a compiled plan, give Arrow.

Each engine is a thin adapter behind one face: it reads a declared source, keeps immutable tables with a note on each,
and answers queries as Arrow. ``dialects`` holds the few spellings in which their SQL differs.

A new engine: a subclass of ``base.Engine``, a subclass of ``dialects.base.Dialect``, a case in ``open_engine``, and its
name in ``catalogue.model.Place`` with the rule for where its snapshots are. The tests of every engine then run on it
once ``tests/conftest.py`` has it. Nothing else asks which engine it is, except releases, which read DuckDB alone.
"""

from errorfloor.engines.base import Engine
from errorfloor.engines.open import open_engine
from errorfloor.engines.sources import Source

__all__ = ["Engine", "Source", "open_engine"]
