"""The same release on Spark, for tables that outgrow one machine (extra ``spark``)."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from errorfloor.bulk.pipeline import Perturbation, plan_columns
from errorfloor.errors import InputError, MissingExtraError
from errorfloor.identity import KeyRing
from errorfloor.noise import Noise
from errorfloor.support import Interval


def release_frame(
    frame: Any,
    *,
    columns: Mapping[str, Noise | Interval],
    key: Sequence[str],
    batch: str,
    keys: KeyRing | str | Path,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    units: Mapping[str, str] | None = None,
    steps: Mapping[str, str] | None = None,
    out_of_range: str = "refuse",
    nulls: str = "keep",
) -> Any:
    """Give a Spark data frame in which some columns carry noise: the numbers that ``release`` gives for the same table.

    Row keys are checked at once, by a Spark job; the noise is added when the result is used, batch by batch on the
    executors, which are sent derived keys only. Arguments are those of ``release``.
    """
    try:
        from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
    except ModuleNotFoundError:
        raise MissingExtraError("spark", "pyspark") from None

    planned = plan_columns(columns, key, batch, ranges or {}, units or {}, steps or {}, out_of_range, nulls)
    ring = keys if isinstance(keys, KeyRing) else KeyRing(keys)
    schema = to_arrow_schema(frame.schema)
    work = Perturbation.prepare(schema, planned, key, batch, ring.current)
    if frame.groupBy(*key).count().where("count > 1").limit(1).count():
        raise InputError(f"the row key {', '.join(key)} is not unique: some keys name several rows; name more columns")

    def perturb(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part in batches:
            yield work.apply(part)[0]

    return frame.mapInArrow(perturb, from_arrow_schema(work.schema(schema)))
