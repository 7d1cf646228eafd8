"""One Spark in a process, started quietly; each engine has a session of its own in it."""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from typing import Any

from py4j.clientserver import SHUTDOWN_FINALIZER_WORKER
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

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
