"""Spark gives the numbers that a file gives, from rows that are read once. The Spark is real."""

import json
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import errorfloor as ef
from errorfloor.bulk import release
from errorfloor.errors import EngineError, InputError, MissingExtraError
from releases import wished

KEY = ["street", "house"]


@pytest.fixture
def spark(spark_place):
    from errorfloor.engines.spark_session import new_session

    session = new_session()
    session.conf.set("spark.sql.shuffle.partitions", "3")
    session.conf.set("spark.sql.adaptive.enabled", "false")  # it would put so few rows into one file
    return session


@pytest.fixture
def houses():
    """600 houses, in the order of their key, with a text in it that sorts by its bytes."""
    number = np.arange(600)
    return pa.table(
        {
            "street": pa.array(["Ahornweg", "Zeile", "ahornweg", "ä", "€"]).take(pa.array(number // 120)),
            "house": pa.array(number % 120 - 20, pa.int32()),
            "tariff": pa.array(["flat", None, "night"] * 200),
            "kwh": pa.array((number * 7919 % 5000) / 100.0, mask=number % 97 == 5),
            "gas": pa.array(number % 40, pa.int64()),
        }
    )


@pytest.fixture
def frame_of(spark, tmp_path):
    """Give a table as a frame, mixed up and divided."""

    def make(table, seed=1, parts=3):
        path = tmp_path / f"frame-{seed}-{parts}.parquet"
        pq.write_table(table.take(np.random.default_rng(seed).permutation(table.num_rows)), path)
        return spark.read.parquet(str(path)).repartition(parts)

    return make


def wanted(ring, **options):
    common = {"columns": {"kwh": ef.Interval(0, 0.5)}, "key": KEY, "batch": "2013-q1", "keys": ring}
    return wished(**(common | {"ranges": {"kwh": (0, 50)}} | options))


def standing(ring):
    path = ring.path.with_name(f"{ring.path.name}.releases")
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    gone = [line["withdrawn"] for line in lines if "withdrawn" in line]
    return [line for line in lines if "withdrawn" not in line and line not in gone]


def left_in(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith((".out", "out"))]


def test_spark_and_a_file_give_identical_rows_in_one_order(houses, ring_in, frame_of, tmp_path):
    moments = pa.array(np.arange(600) * 10**6, pa.timestamp("us", "UTC"))
    money = pa.array([f"{i}.25" for i in range(600)]).cast(pa.decimal128(9, 2))
    table = houses.append_column("moment", moments).append_column("money", money)
    options = {
        "columns": {"kwh": ef.Interval(0, 0.5), "gas": ef.noise.Gaussian(0.04)},
        "key": [*KEY, "moment", "money"],
    }
    options |= {"public": ["tariff"], "ranges": {"kwh": (0, 50)}, "units": {"kwh": "kWh"}}
    (tmp_path / "file").mkdir()
    pq.write_table(table, tmp_path / "file" / "in.parquet")
    target = tmp_path / "file" / "out.parquet"
    expected = release(tmp_path / "file" / "in.parquet", target, **wanted(ring_in(tmp_path / "file"), **options))
    report = release(frame_of(table), tmp_path / "out", **wanted(ring_in(tmp_path), **options))
    files = sorted((tmp_path / "out").glob("*.parquet"))
    assert len(files) == 3
    released = pa.concat_tables([pq.read_table(file) for file in files])
    assert released.replace_schema_metadata(None).equals(pq.read_table(target).replace_schema_metadata(None))
    assert report.to_dict() == expected.to_dict()
    assert json.loads((tmp_path / "out" / "_errorfloor.json").read_text()) == report.to_dict()
    assert left_in(tmp_path) == ["out"]


def test_a_frame_that_changes_is_read_once(houses, ring, spark, frame_of, tmp_path):
    readings = tmp_path / "readings"
    readings.mkdir()

    def change(batches):
        import uuid

        (readings / uuid.uuid4().hex).touch()
        turn = len(list(readings.iterdir()))
        for batch in batches:
            yield batch.set_column(3, "kwh", pa.array(np.full(batch.num_rows, 10.0 * turn)))

    source = frame_of(houses, parts=1)
    changing = source.mapInArrow(change, source.schema)
    report = release(changing, tmp_path / "out", **wanted(ring))
    assert len(list(readings.iterdir())) == 1
    numbers = pq.read_table(tmp_path / "out")["kwh"].to_numpy()
    assert report.rows == 600
    assert numbers.min() >= 10.0
    assert numbers.max() <= 10.5
    with pytest.raises(InputError, match="batch 2013-q1 names other data"):
        release(changing, tmp_path / "again", **wanted(ring))


def test_the_register_knows_a_frame_by_its_rows(houses, ring, frame_of, tmp_path):
    release(frame_of(houses), tmp_path / "out", **wanted(ring))
    first = pq.read_table(tmp_path / "out")
    mixed = frame_of(houses, seed=2, parts=5)
    release(mixed, tmp_path / "out", **wanted(ring, public=["tariff"], overwrite=True))
    assert pq.read_table(tmp_path / "out").select(first.column_names).equals(first)
    assert len(standing(ring)) == 1
    with pytest.raises(
        InputError, match="kwh of this table was released as batch 2013-q1: a second draw would reveal more"
    ):
        release(mixed, tmp_path / "second", **wanted(ring, batch="2013-q2"))
    numbers = houses["kwh"].to_pylist()
    edited = houses.set_column(3, "kwh", pa.array([*numbers[:-1], 1.0]))
    with pytest.raises(InputError, match="batch 2013-q1 names other data"):
        release(frame_of(edited, seed=3), tmp_path / "second", **wanted(ring))
    release(mixed, tmp_path / "gas", **wanted(ring, columns={"gas": ef.Interval(-1, 1)}, ranges={}))  # another column
    assert [list(entry["columns"]) for entry in standing(ring)] == [["kwh"], ["gas"]]
    assert {entry["key_id"] for entry in standing(ring)} == {ring.current.id}


def test_a_file_and_a_frame_of_the_same_rows_are_the_same_to_the_register(houses, ring, frame_of, tmp_path):
    pq.write_table(houses, tmp_path / "in.parquet")
    release(tmp_path / "in.parquet", tmp_path / "file.parquet", **wanted(ring))
    mixed = frame_of(houses, seed=2)
    release(mixed, tmp_path / "out", **wanted(ring))
    expected = pq.read_table(tmp_path / "file.parquet")
    assert pq.read_table(tmp_path / "out").equals(expected.replace_schema_metadata(None))
    with pytest.raises(
        InputError, match="kwh of this table was released as batch 2013-q1: a second draw would reveal more"
    ):
        release(mixed, tmp_path / "second", **wanted(ring, batch="2013-q2"))


def test_a_frame_that_an_older_register_knows_by_its_sum_is_known_again(houses, ring, frame_of, tmp_path):
    """Sums were taken in the order in which the key's columns were named, and no rows were recorded."""
    from errorfloor.bulk import ReleasedColumn
    from errorfloor.bulk.content import Content, digest

    rules = {"range": (0.0, 50.0), "out_of_range": "refuse", "nulls": "keep"}
    column = ReleasedColumn.plan("kwh", ef.Interval(0, 0.5), **rules)
    content = Content.prepare(houses.schema, [column], KEY, ring.current, in_order=False)
    (batch,) = houses.combine_chunks().to_batches()
    entry = {"batch": "2013-q1", "source": digest("kwh", content.of(batch)["kwh"], ring.current), "key": KEY}
    entry |= {"columns": {"kwh": column.fingerprint}, "by_column": True, "key_id": ring.current.id}
    ring.path.with_name("keys.json.releases").write_text(json.dumps(entry) + "\n")
    with pytest.raises(
        InputError, match="kwh of this table was released as batch 2013-q1: a second draw would reveal more"
    ):
        release(frame_of(houses), tmp_path / "out", **wanted(ring, batch="2013-q2"))
    release(frame_of(houses), tmp_path / "out", **wanted(ring))
    assert len(standing(ring)) == 2


def test_a_frame_without_rows_can_be_released(houses, ring, frame_of, tmp_path):
    report = release(frame_of(houses.slice(0, 0), parts=2), tmp_path / "out 100%", **wanted(ring, public=["tariff"]))
    table = pq.read_table(tmp_path / "out 100%")
    assert report.rows == table.num_rows == 0
    assert table.column_names == ["street", "house", "tariff", "kwh"]


def test_rows_keep_their_order_if_it_is_public(houses, ring, spark, frame_of, tmp_path):
    by_value = frame_of(houses).orderBy("gas", "street", "house")
    release(by_value, tmp_path / "out", **wanted(ring, order_is_public=True, public=["gas"]))
    order = [(name, "ascending") for name in ("gas", "street", "house")]
    expected = houses.select([*KEY, "gas"]).sort_by(order)
    files = sorted((tmp_path / "out").glob("*.parquet"))
    assert pa.concat_tables([pq.read_table(file) for file in files]).select([*KEY, "gas"]).equals(expected)


def broken(houses, what):
    if what == "repeated":
        return pa.concat_tables([houses, houses.slice(17, 1)])
    if what == "no key":
        return houses.set_column(0, "street", pa.array([None, *houses["street"].to_pylist()[1:]], pa.string()))
    value = {"outside": 4321.125, "infinite": float("inf"), "too exact": 2**53 + 1, "too large": 2.0**31}[what]
    kind = pa.int64() if what == "too exact" else pa.float64()
    return houses.set_column(3, "kwh", pa.array([1, value, *[1] * 598], kind))


@pytest.mark.parametrize(
    ("what", "options", "message"),
    [
        ("repeated", {}, "the row key street, house is not unique: some keys name several rows"),
        ("no key", {}, "key column street has nulls: every row needs its own key"),
        ("outside", {}, "column kwh has a value outside its declared range 0 … 50, which its rule refuses"),
        ("infinite", {}, "column kwh has a value that is not a finite number"),
        ("too exact", {"ranges": {}}, "column kwh has an integer that double precision cannot hold exactly"),
        ("too large", {"ranges": {}}, "a number is too large to be rounded to steps of 0.001"),
    ],
)
def test_what_a_file_is_refused_for_a_frame_is_too_and_nothing_is_left(
    houses, ring, frame_of, tmp_path, what, options, message
):
    table = broken(houses, what)
    (tmp_path / "file").mkdir()
    pq.write_table(table, tmp_path / "file" / "in.parquet")
    with pytest.raises(InputError) as by_file:
        release(tmp_path / "file" / "in.parquet", tmp_path / "file" / "out.parquet", **wanted(ring, **options))
    with pytest.raises(InputError) as by_frame:
        release(frame_of(table), tmp_path / "out", **wanted(ring, **options))
    assert str(by_frame.value).startswith(message)
    assert str(by_frame.value) == str(by_file.value)
    assert by_frame.value.__context__ is by_frame.value.__cause__ is None
    assert left_in(tmp_path) == []
    assert standing(ring) == []


def test_a_frame_that_fails_says_no_more_than_that(houses, ring, frame_of, tmp_path):
    from pyspark.sql.functions import col

    failing = frame_of(houses).withColumn("kwh", col("street").cast("double"))
    with pytest.raises(EngineError, match="spark could not read the frame and write it down") as caught:
        release(failing, tmp_path / "out", **wanted(ring))
    assert "Ahornweg" not in str(caught.value)
    assert caught.value.__context__ is caught.value.__cause__ is None
    assert left_in(tmp_path) == []
    assert standing(ring) == []


def test_bad_requests_are_named(houses, ring, spark, frame_of, tmp_path):
    frame = frame_of(houses)
    gas = {"columns": {"gas": ef.Interval(0, 1)}, "ranges": {}}
    (tmp_path / "taken").mkdir()
    (tmp_path / "file").write_text("mine")
    cases = [
        (frame, tmp_path / "taken", {}, "exists already: choose another name, or overwrite the folder"),
        (frame, tmp_path / "file", {"overwrite": True}, "exists already"),
        (frame, tmp_path / "no" / "out", {}, "there is no folder"),
        (frame, tmp_path / "out*", {}, "has a pattern in its name"),
        (frame, "hdfs://there/out", {}, "is not a path: name a folder on a file system that all machines"),
        (frame, tmp_path / "out", {"columns": {"kw": ef.Interval(0, 1)}, "ranges": {}}, "did you mean kwh"),
        (frame, tmp_path / "out", {"key": ["kwh"]} | gas, "holds double"),
        (houses, tmp_path / "out", {}, "a file or a Spark data frame, got Table"),
        (spark.readStream.format("rate").load(), tmp_path / "out", {}, "a streaming frame has no end"),
    ]
    for source, target, options, message in cases:
        with pytest.raises(InputError, match=message):
            release(source, target, **wanted(ring, **options))
    assert left_in(tmp_path) == []


def test_tasks_carry_the_batchs_secrets_and_never_the_key(houses, ring):
    from pyspark import cloudpickle

    from errorfloor.bulk import Perturbation, ReleasedColumn
    from errorfloor.bulk.content import Content
    from errorfloor.bulk.tasks import Inspecting, Releasing

    column = ReleasedColumn.plan("kwh", ef.Interval(0, 1), out_of_range="refuse", nulls="keep")
    work = Perturbation.prepare(houses.schema, [column], KEY, "b", ring.current)
    content = Content.prepare(houses.schema, [column], KEY, ring.current)
    releasing, inspecting = Releasing(work, "folder"), Inspecting(content, "folder")
    assert ring.current.secret not in cloudpickle.dumps([releasing.run, inspecting.run])
    assert work.row_key.derived in cloudpickle.dumps(releasing.run)
    for derived in (work.row_key.derived, work.columns[0].derived, content.row_keys[0].derived):
        assert repr(derived) not in repr([releasing, inspecting])


@pytest.mark.parametrize("text", ["4321.125", "Oak Road 7"])
def test_a_task_that_fails_keeps_the_reason_to_itself(tmp_path, text):
    from errorfloor.bulk import tasks

    def fail(batch):
        raise pa.ArrowInvalid(f"cannot use {text}")

    with pytest.raises(tasks.TaskFailedError) as caught:
        list(tasks._silenced(iter([None]), fail, str(tmp_path)))
    assert text not in str(caught.value)
    assert caught.value.__context__ is caught.value.__cause__ is None
    assert tasks.refusal(tmp_path) is None


PLAIN = """
import sys
from pyspark.sql import SparkSession
import errorfloor as ef
from errorfloor.errors import EngineError, InputError
spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
         .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1").getOrCreate())
spark.sparkContext.setLogLevel("INFO")
rows = spark.read.parquet(sys.argv[1])
options = {"columns": {"kwh": ef.Interval(0, 1)}, "key": ["street", "house"], "batch": "b", "keys": sys.argv[3]}
try:
    columns = {"kwh": ef.Column(ef.Interval(0, 1), range=(0, 50))}
    ef.release(rows, sys.argv[2], **(options | {"columns": columns}))
except InputError as refused:
    print("refused:", refused)
spark.sparkContext.setLogLevel("OFF")  # what the frame itself fails at is in the hands of whoever runs that Spark
try:
    ef.release(rows.withColumn("kwh", rows["street"].cast("double")), sys.argv[2], **options)
except EngineError as failed:
    print("failed:", failed)
spark.stop()
"""


def test_the_logs_of_a_spark_that_logs_everything_hold_no_value(spark, houses, tmp_path):
    from errorfloor.identity import KeyRing

    ring = KeyRing.create(tmp_path / "keys.json")
    values = np.full(600, 4321.125)
    pq.write_table(houses.set_column(3, "kwh", pa.array(values)), tmp_path / "in.parquet")
    command = [sys.executable, "-c", PLAIN, str(tmp_path / "in.parquet"), str(tmp_path / "out"), str(ring.path)]
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert "refused: column kwh has a value outside its declared range 0 … 50" in done.stdout
    assert "failed: spark could not read the frame and write it down (CAST_INVALID_INPUT)" in done.stdout
    assert "TaskFailedError: the rows could not be released" in done.stderr  # the log is there, and says that much
    for private in ("4321", "Ahornweg", ring.current.secret.hex()):
        assert private not in done.stdout + done.stderr
    assert left_in(tmp_path) == []


def test_release_on_spark_from_the_shell(spark, houses, ring, tmp_path):
    from typer.testing import CliRunner

    from errorfloor.cli.app import app

    (tmp_path / "in").mkdir()
    pq.write_table(houses.slice(0, 300), tmp_path / "in" / "a.parquet")
    pq.write_table(houses.slice(300), tmp_path / "in" / "b.parquet")
    common = ["--column", "kwh", "--noise", "0..0.5", "--key", "street,house", "--batch", "q", "--keys", str(ring.path)]
    command = ["release", str(tmp_path / "in"), str(tmp_path / "out"), *common, "--engine", "spark"]
    done = CliRunner().invoke(app, command, catch_exceptions=False)
    assert done.exit_code == 0
    assert "600 rows" in done.stdout
    assert pq.read_table(tmp_path / "out").column_names == [*KEY, "kwh"]
    with pytest.raises(InputError, match="--engine must be duckdb or spark, got 'flink'"):
        CliRunner().invoke(app, [*command[:-1], "flink"], catch_exceptions=False)
    with pytest.raises(InputError, match="there is no file or folder"):
        CliRunner().invoke(app, ["release", "nowhere", *command[2:]], catch_exceptions=False)


def test_without_spark_the_extra_is_named(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("pyspark") or name == "errorfloor.bulk.spark"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'errorfloor\[spark\]'"):
        import errorfloor.bulk.spark  # noqa: F401
