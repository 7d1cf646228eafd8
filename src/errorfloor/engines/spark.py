"""Spark on this machine: a folder of Parquet folders.

A process has one Spark, started quietly; each engine has a session of its own in it.
"""

import atexit
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, final

from py4j.clientserver import SHUTDOWN_FINALIZER_WORKER
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from errorfloor.catalogue.columns import PublicType
from errorfloor.catalogue.reading import Reading
from errorfloor.engines.allotment import attempt
from errorfloor.engines.base import PLAIN, Engine
from errorfloor.engines.dialects import SparkDialect
from errorfloor.engines.sources import (
    NAMED,
    Source,
    arrow_files,
    check_path,
    find_files,
    finer_than_microseconds,
    identified,
    kind_of,
)
from errorfloor.engines.text_tables import as_parquet
from errorfloor.errors import CatalogueError, EngineError

UNFINISHED = ".unfinished-"
STARTED = threading.Lock()
TALKATIVE = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")  # they print statements that fail, with values
SETTINGS = {
    # arithmetic that would overflow, or a text that is no number, fails instead of giving NULL or a wrong number
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.legacy.parquet.nanosAsLong": "true",  # the only way in for nanoseconds; they are cut when read
    "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
}


def new_session() -> Any:
    """Give a session whose settings and views are its own; Spark itself is started at the first call.

    A Spark that the process runs already is used. Otherwise one is started on this machine alone, with its log cut off:
    it would quote statements, and it prints warnings that are nobody's concern.
    """
    for name in TALKATIVE:
        PySparkLogger.getLogger(name).disabled = True
    with STARTED:
        context = SparkContext._active_spark_context or _start()
    session = SparkSession(context).newSession()
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    return session


def _start() -> SparkContext:
    workplace = tempfile.mkdtemp(prefix="errorfloor-spark-")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault(
        "SPARK_LOCAL_IP", "127.0.0.1"
    )  # it would look up this machine's name, which may have no address
    configuration = SparkConf().setAll(
        [
            ("spark.master", "local[*]"),
            ("spark.app.name", "errorfloor"),
            ("spark.driver.host", "127.0.0.1"),
            ("spark.driver.bindAddress", "127.0.0.1"),
            ("spark.ui.enabled", "false"),
            ("spark.local.dir", workplace),
            ("spark.sql.warehouse.dir", f"{workplace}/warehouse"),
        ]
    )
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        gateway = launch_gateway(configuration, silent)  # type: ignore[no-untyped-call]
    except BaseException:
        shutil.rmtree(workplace)
        raise
    atexit.register(_end, gateway, workplace)
    return SparkContext(conf=configuration, gateway=gateway)


def _end(gateway: Any, workplace: str) -> None:
    """Let Java end, as it does when nobody holds its input, and clear away what it left.

    What tells Java of objects that are gone is stopped first, or it would print that nobody listens.
    """
    java: subprocess.Popen[bytes] = gateway.proc
    gateway._gateway_client.finalizer_deque.append(SHUTDOWN_FINALIZER_WORKER)  # taken before all that waits
    if java.stdin is not None:
        java.stdin.close()
    try:
        java.wait(timeout=20)
    except subprocess.TimeoutExpired:
        java.kill()
        java.wait()
    shutil.rmtree(workplace, ignore_errors=True)


@final
class SparkEngine(Engine):
    """Snapshots as Parquet in a folder: ``<name>/rows`` and, beside them, ``<name>/note``.

    Sources: Parquet files, text files or sheets, a folder of Parquet files, or a table that the running Spark knows.
    """

    name = "spark"
    dialect = SparkDialect()
    keeps_order = False  # rows lie in many places

    def __init__(self, place: Path, folder: Path, *, read_only: bool) -> None:
        check_path(place)
        self._place = place
        self._folder = folder
        self._opened: dict[str, str] = {}
        self._writing = None if read_only else _claim(place)
        self._session = attempt(self.name, "start: is Java 17 or newer installed?", new_session)

    def query(self, sql: str) -> Any:
        """Collect the result as Arrow."""
        return attempt(self.name, "answer a query", lambda: self._session.sql(sql).toArrow())

    def execute(self, sql: str) -> None:
        """Run it in the session."""
        attempt(self.name, "carry out a statement", lambda: self._session.sql(sql))

    def close(self) -> None:
        """Free the folder; Spark itself runs until the process ends."""
        if self._writing is not None:
            self._writing.close()

    def identify(self, source: Sequence[str]) -> str:
        """Resolve paths; names of tables ignore capitals."""
        return identified(source, self._folder) or f"table {source[0].lower().removeprefix('default.')}"

    @contextmanager
    def reading(
        self, source: Sequence[str], columns: Mapping[str, PublicType] | None = None, how: Reading = PLAIN
    ) -> Iterator[Source]:
        """Read files in place, through a view."""
        files = find_files(source, self._folder)
        if files is None:
            with self._viewed(lambda: self._table(source[0])) as opened:
                yield opened
            return
        with (
            as_parquet(files, how, columns, self._folder) as parquet,
            self._viewed(lambda: self._rows(parquet.paths)) as opened,
        ):
            yield Source(opened.relation, {**parquet.kinds, **opened.kinds})

    @contextmanager
    def _viewed(self, rows: Callable[[], Any]) -> Iterator[Source]:
        view = f"source_{uuid.uuid4().hex}"
        attempt(self.name, "read the source", rows).createTempView(view)
        try:
            schema = self.query(f"SELECT * FROM {view} LIMIT 0").schema
            yield Source(view, {field.name: kind_of(field.type) for field in schema})
        finally:
            self._session.catalog.dropTempView(view)

    def relation(self, name: str) -> str:
        """Open the Parquet folder once, as a view that all sessions of the process share."""
        if name not in self._opened:
            self._opened[name] = self._view(self._place / name / "rows")
        return self._opened[name]

    def known(self) -> list[str]:
        """Look into the folder."""
        return sorted(note.parent.name for note in self._place.glob("*/note") if not note.parent.name.startswith("."))

    def recall(self, name: str) -> str | None:
        """Read the file beside the rows."""
        note = self._place / name / "note"
        return note.read_text(encoding="utf-8") if note.exists() else None

    def note_anew(self, name: str, note: str) -> None:
        """Replace the file beside the rows."""
        if self._writing is None:
            raise EngineError(f"{self._place} was opened for reading only")
        file = self._place / name / "note"
        file.with_name("note.new").write_text(note, encoding="utf-8")
        file.with_name("note.new").replace(file)

    def _make(self, name: str, select_sql: str, note: Callable[[str], str]) -> None:
        if self._writing is None:
            raise EngineError(f"{self._place} was opened for reading only")
        unfinished = self._place / f"{UNFINISHED}{name}"
        try:
            rows = unfinished / "rows"
            attempt(self.name, "carry out a statement", lambda: self._session.sql(select_sql).write.parquet(_uri(rows)))
            (unfinished / "note").write_text(note(self._view(rows)), encoding="utf-8")
            unfinished.rename(self._place / name)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)

    def _view(self, folder: Path) -> str:
        name = f"v_{hashlib.sha256(str(folder).encode()).hexdigest()[:40]}"
        rows = attempt(self.name, "open a snapshot", lambda: self._session.read.parquet(_uri(folder)))
        rows.createOrReplaceGlobalTempView(name)
        return f"global_temp.{name}"

    def _table(self, source: str) -> Any:
        if self._session.catalog.tableExists(source):
            return self._session.table(source)
        raise CatalogueError(
            f"source {source!r}: not a table that this Spark knows, nor a file in {self._folder.resolve()}: {NAMED}, "
            f"or a table",
            source=source,
        )

    def _rows(self, paths: Sequence[Path]) -> Any:
        quoted = self.dialect.identifier
        rows = self._session.read.parquet(*map(_uri, paths))
        longs = finer_than_microseconds(arrow_files(paths).schema)
        cut = {name: self.dialect.floor_divide(quoted(name), 1000, 2**63 - 1) for name in longs}
        return rows.selectExpr(
            *(
                f"timestamp_micros({cut[name]}) AS {quoted(name)}" if name in cut else quoted(name)
                for name in rows.columns
            )
        )


def _uri(path: Path) -> str:
    return f"file://{path}"


def _claim(place: Path) -> Any:
    """Take the folder's lock for one writer, and sweep away what a killed one left."""
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = (place / ".writer").open("wb")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
    else:
        for left in place.glob(f"{UNFINISHED}*"):
            shutil.rmtree(left)
        return lock
    raise EngineError(f"another registration is in progress in {place}: try again when it is done", engine="spark")
