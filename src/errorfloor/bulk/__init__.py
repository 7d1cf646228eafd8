"""Bulk: the release of whole columns (extra ``bulk``)."""

from errorfloor.extras import require

require("bulk", "duckdb", "pyarrow")

from errorfloor.bulk.answered import AnsweredColumn
from errorfloor.bulk.columns import ReleasedColumn
from errorfloor.bulk.perturbation import Perturbation
from errorfloor.bulk.pipeline import release
from errorfloor.bulk.report import ChargedRelease, Release
from errorfloor.bulk.request import Column

__all__ = ["AnsweredColumn", "ChargedRelease", "Column", "Perturbation", "Release", "ReleasedColumn", "release"]
