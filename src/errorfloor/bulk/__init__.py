"""Bulk: the release of whole columns, with noise on every value (extra ``bulk``).

=============================  =============================================================================
``declared``, ``by_part``          a registered table, charged: from ``snapshots``, at the price in ``charging``
``files``                        a plain file, not charged: ``register`` says what was released
``request``                      what is asked for, and what is said about it
``columns``, ``answered``          a column with noise, and one with a policy; ``ruled`` is what both share
``perturbation``                 rows on their way, their tags and their noise; ``ascent`` checks their order
``tables``                       what is read and written, and where unfinished files are
``content``                      how rows are known again, whatever the order and the format
=============================  =============================================================================

A new file format goes to ``tables``; a new rule for values to ``ruled``.
"""

from errorfloor.extras import require

require("bulk", "duckdb", "pyarrow")

from errorfloor.bulk.answered import AnsweredColumn
from errorfloor.bulk.columns import ReleasedColumn
from errorfloor.bulk.files import release
from errorfloor.bulk.perturbation import Perturbation
from errorfloor.bulk.request import ChargedRelease, Column, Release

__all__ = ["AnsweredColumn", "ChargedRelease", "Column", "Perturbation", "Release", "ReleasedColumn", "release"]
