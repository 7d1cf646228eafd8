"""DuckDB, PostgreSQL and Spark: run a compiled plan, give Arrow.

Each engine is a thin adapter behind one face: it reads a declared source, keeps immutable tables with a note on each,
and answers queries as Arrow. ``dialects`` holds the few spellings in which their SQL differs.
"""

from errorfloor.engines.base import Engine
from errorfloor.engines.open import open_engine
from errorfloor.engines.sources import Source

__all__ = ["Engine", "Source", "open_engine"]
