"""Bulk: the release of whole columns (extra ``bulk``)."""

from errorfloor.extras import require

require("bulk", "duckdb", "pyarrow")

from errorfloor.bulk.answered import AnsweredColumn
from errorfloor.bulk.columns import ReleasedColumn
from errorfloor.bulk.perturbation import Perturbation
from errorfloor.bulk.pipeline import release
from errorfloor.bulk.report import ChargedRelease, Release

__all__ = ["AnsweredColumn", "ChargedRelease", "Perturbation", "Release", "ReleasedColumn", "release"]
