"""Spark gives the numbers that a file gives. A real Spark is started; where Java is missing the skip says so."""

import shutil
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest

import errorfloor as ef
from errorfloor.bulk import release
from errorfloor.bulk.spark import release_frame
from errorfloor.errors import InputError
from errorfloor.noise import Gaussian

pytestmark = [
    pytest.mark.skipif(
        shutil.which("java") is None, reason="Spark is not tested: it needs Java (openjdk-17-jre-headless)"
    ),
    pytest.mark.filterwarnings("ignore"),  # Spark warns about its own dependencies
]
KEY = ["household", "day"]


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("errorfloor tests")
    options = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
        "spark.sql.session.timeZone": "UTC",
    }
    for name, value in options.items():
        builder = builder.config(name, value)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYSPARK_PYTHON", sys.executable)
        session = builder.getOrCreate()
        yield session
        session.stop()


def test_spark_and_a_file_give_identical_numbers(spark, meters, ring, tmp_path):
    pq.write_table(meters, tmp_path / "in.parquet")
    options = {
        "columns": {"kwh": ef.Interval(0, 0.5)},
        "key": [*KEY, "tariff"],
        "batch": "2013-q1",
        "keys": ring,
        "ranges": {"kwh": (0, 50)},
    }
    release(tmp_path / "in.parquet", tmp_path / "out.parquet", **options)
    frame = spark.read.parquet(str(tmp_path / "in.parquet")).repartition(3)
    released = release_frame(frame, **options).orderBy(*KEY).toPandas()
    expected = pq.read_table(tmp_path / "out.parquet").sort_by([(name, "ascending") for name in KEY])
    assert released["kwh"].to_numpy().tobytes() == expected["kwh"].to_numpy().tobytes()
    assert list(released.columns) == meters.column_names


def test_spark_draws_again_what_it_drew(spark, meters, ring, tmp_path):
    pq.write_table(meters, tmp_path / "in.parquet")
    frame = spark.read.parquet(str(tmp_path / "in.parquet"))
    noisy = release_frame(frame, columns={"kwh": Gaussian(0.01)}, key=KEY, batch="b", keys=ring)
    one, two = (noisy.orderBy(*KEY).toPandas()["kwh"].to_numpy() for _ in range(2))
    assert np.array_equal(one, two)


def test_spark_refuses_what_a_file_refuses(spark, meters, ring, tmp_path):
    pq.write_table(meters, tmp_path / "in.parquet")
    frame = spark.read.parquet(str(tmp_path / "in.parquet"))
    common = {"batch": "b", "keys": ring}
    with pytest.raises(InputError, match="row key household is not unique"):
        release_frame(frame, columns={"kwh": ef.Interval(0, 1)}, key=["household"], **common)
    with pytest.raises(InputError, match="no column kw: did you mean kwh"):
        release_frame(frame, columns={"kw": ef.Interval(0, 1)}, key=KEY, **common)
