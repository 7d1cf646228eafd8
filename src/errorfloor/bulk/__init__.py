"""Bulk: the release of whole columns (extra ``bulk``)."""

from errorfloor.errors import MissingExtraError

try:
    import duckdb as _duckdb  # noqa: F401
    import pyarrow as _pyarrow  # noqa: F401
except ModuleNotFoundError as _missing:
    raise MissingExtraError("bulk", str(_missing.name)) from None

from errorfloor.bulk.answered import AnsweredColumn
from errorfloor.bulk.columns import ReleasedColumn
from errorfloor.bulk.perturbation import Perturbation
from errorfloor.bulk.pipeline import release
from errorfloor.bulk.report import ChargedRelease, Release

__all__ = ["AnsweredColumn", "ChargedRelease", "Perturbation", "Release", "ReleasedColumn", "release"]
