"""The same release on Spark, for tables that outgrow one machine (extra ``spark``).

A frame is a recipe: each use of it reads its sources anew. So its rows are first written down, in a folder that only
their owner can enter and beside the one that will be published, and everything after that reads what was written.
"""

import atexit
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from errorfloor.bulk.content import Content, digest
from errorfloor.bulk.holding import Holding, halvings_for
from errorfloor.bulk.perturbation import Perturbation
from errorfloor.bulk.register import Register
from errorfloor.bulk.report import Release
from errorfloor.bulk.request import Request
from errorfloor.bulk.tasks import HELD, Inspecting, Releasing, held_by, refusal
from errorfloor.bulk.workplace import appear, workplace
from errorfloor.errors import EngineError, ErrorFloorError, InputError, MissingExtraError

try:
    from pyspark.logger import PySparkLogger
    from pyspark.sql import DataFrame
    from pyspark.sql.functions import col, count, lit, monotonically_increasing_id
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
    from pyspark.sql.types import StringType
except ModuleNotFoundError as _missing:
    raise MissingExtraError("spark", str(_missing.name)) from None

from errorfloor.engines.allotment import attempt
from errorfloor.engines.sources import PATTERN_LETTERS
from errorfloor.engines.spark_session import TALKATIVE, new_session

REPORT = "_errorfloor.json"  # readers of Parquet folders pass over names that begin with an underscore
SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
}
PATTERN = " ".join(sorted(PATTERN_LETTERS))
INHERITED = ("spark.sql.shuffle.partitions", "spark.sql.adaptive.enabled")
Result = TypeVar("Result")


def read_parquet(source: Path) -> DataFrame:
    """Give a Parquet file or folder as a frame of a quiet Spark, the running one or one on this machine."""
    if not source.exists():
        raise InputError(f"there is no file or folder {source}")
    address = _address(source)
    session = attempt("spark", "start: is Java 17 or newer installed?", new_session)
    atexit.register(session.sparkContext.stop)  # or its Python half complains that Java has gone
    session.conf.set("spark.sql.legacy.parquet.nanosAsLong", "false")  # an integer would be another key
    rows: DataFrame = attempt("spark", f"read {source} as Parquet", lambda: session.read.parquet(address))
    return rows


def release_frame(request: Request, frame: DataFrame, target: Path) -> Release:
    """Release the rows of a frame into a folder of Parquet files, with the numbers that a file of them would get.

    The register knows a frame by its rows, as it knows a file: how they are ordered or divided does not matter.
    """
    if frame.isStreaming:
        raise InputError("a streaming frame has no end: release a frame that has one")
    if not target.parent.is_dir():
        raise InputError(f"there is no folder {target.parent} to write to")
    if target.exists() and not (request.overwrite and target.is_dir()):
        raise InputError(f"{target} exists already: choose another name, or overwrite the folder")
    _address(target)
    chosen, left_out = request.choose(pa.schema([(name, pa.null()) for name in frame.columns]))
    register = Register(request)
    secret = register.secret()
    with _silence(), workplace(target) as scratch, register.pending():
        snapshot = _Snapshot(request, scratch, _written(request, frame, chosen, scratch / "snapshot"))
        schema = snapshot.schema(chosen)
        held = snapshot.inspect(schema)
        snapshot.refuse_repeated()
        known_as: list[str] = []
        if register.knows_only_sums():
            sums = snapshot.inspect(schema, in_order=False)
            known_as = [digest(name, part, request.keys.keys[0]) for name, part in sums.items()]
        register.enter(held, secret, known_as)
        work = Perturbation.prepare(schema, request.columns, request.key, request.batch, secret)
        snapshot.release(work, schema)
        rows = held[request.columns[0].name].rows
        report = replace(request.report(target, secret.id, chosen, left_out), rows=rows)
        words = json.dumps(report.to_dict(), indent=2)
        attempt("spark", "write the report", lambda: (snapshot.released / REPORT).write_text(words, encoding="utf-8"))
        appear(snapshot.released, target, overwrite=request.overwrite)
    if request.progress is not None:
        request.progress(rows)
    return report


class _Snapshot:
    """The rows as they were written down, and what is done with them."""

    def __init__(self, request: Request, scratch: Path, rows: DataFrame) -> None:
        self._request, self._rows = request, rows
        self._refusals, self.released = scratch / "refusals", scratch / "released"
        self._refusals.mkdir()

    def schema(self, columns: Sequence[str]) -> pa.Schema:
        """Give the types of some columns, in Arrow's terms."""
        rows = self._rows.select(*map(_column, columns))
        return attempt("spark", "hand over a column of this type", lambda: to_arrow_schema(rows.schema, timezone="UTC"))

    def inspect(self, schema: pa.Schema, *, in_order: bool = True) -> dict[str, Holding]:
        """Refuse what breaks a rule; give what each released column holds."""
        request, names = self._request, [column.name for column in self._request.columns]
        halvings = halvings_for(self._done("count the rows", self._rows.count))
        first = request.keys.keys[0]
        content = Content.prepare(schema, request.columns, request.key, first, halvings=halvings, in_order=in_order)
        rows = self._rows.select(*map(_column, [*request.key, *names]))
        inspected = rows.mapInArrow(Inspecting(content, str(self._refusals)).run, from_arrow_schema(HELD))
        held = dict.fromkeys(names, Holding())
        for row in self._done("inspect the rows", inspected.collect):
            held[row["column"]] += held_by(row)
        return held

    def refuse_repeated(self) -> None:
        """Refuse rows that share a key; texts are compared byte by byte, whatever collation they declare."""
        key = [part.alias(f"part{place}") for place, part in enumerate(self._key())]
        counted = self._rows.groupBy(*key).agg(count(lit(1)).alias("rows"))
        if self._done("compare the keys", counted.where("rows > 1").limit(1).collect):
            raise self._request.not_unique()

    def release(self, work: Perturbation, schema: pa.Schema) -> None:
        """Write the released rows in the order of their key, or as they stood. They are sorted before they are drawn.

        The other way round Spark would draw twice: once to learn how to divide the rows, and once more.
        """
        order = [_column(_place(schema.names))] if self._request.order_is_public else self._key()
        rows = self._rows.orderBy(*order).select(*map(_column, schema.names))
        drawn = rows.mapInArrow(Releasing(work, str(self._refusals)).run, from_arrow_schema(work.schema(schema)))
        self._done("write the release", lambda: drawn.write.parquet(_address(self.released)))

    def _key(self) -> list[Any]:
        texts = {field.name for field in self._rows.schema if isinstance(field.dataType, StringType)}
        return [_column(name).cast("binary") if name in texts else _column(name) for name in self._request.key]

    def _done(self, doing: str, work: Callable[[], Result]) -> Result:
        """Do some work; if a task refused, say why in its words, and otherwise only that it failed."""
        try:
            return attempt("spark", doing, work)
        except EngineError as problem:
            failure: ErrorFloorError = problem
        words = refusal(self._refusals)
        raise failure if words is None else InputError(words)


def _written(request: Request, frame: DataFrame, columns: Sequence[str], folder: Path) -> DataFrame:
    """Write some columns of a frame down, once, and give what was written, in a session with settings of our own."""
    rows = frame.select(*map(_column, columns))
    if request.order_is_public:
        rows = rows.withColumn(_place(columns), monotonically_increasing_id())
    address = _address(folder)
    attempt("spark", "read the frame and write it down", lambda: rows.write.parquet(address))
    session = frame.sparkSession.newSession()
    inherited = {name: str(frame.sparkSession.conf.get(name)) for name in INHERITED}
    for name, value in (SETTINGS | inherited).items():
        session.conf.set(name, value)
    return attempt("spark", "read what it wrote", lambda: session.read.parquet(address))


@contextmanager
def _silence() -> Iterator[None]:
    """Keep Spark's Python half from printing expressions that fail, with the values that they fail at."""
    loggers = [PySparkLogger.getLogger(name) for name in TALKATIVE]
    before = [logger.disabled for logger in loggers]
    try:
        for logger in loggers:
            logger.disabled = True
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled


def _place(columns: Sequence[str]) -> str:
    """Name the column that remembers where a row stood."""
    return "place_" + max(columns, key=len)


def _column(name: str) -> Any:
    return col("`" + name.replace("`", "``") + "`")


def _address(path: Path) -> str:
    if PATTERN_LETTERS & set(str(path.resolve())):
        raise InputError(f"{path} has a pattern in its name: name one folder, without any of {PATTERN}")
    return f"file://{path.resolve()}"
