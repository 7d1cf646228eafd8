"""Rows that are stored in the order of their key are not sorted again, and nobody can tell from the release."""

import json
from contextlib import ExitStack

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import errorfloor as ef
from errorfloor.bulk import release
from errorfloor.bulk.ascent import Step, Stretch, worst_step
from errorfloor.bulk.tables import ROWS, TableFile
from errorfloor.errors import InputError
from releases import wished

COUNT = 2 * ROWS + 1000


@pytest.fixture
def long():
    """A table of three batches in the order of its key, with holes in a public column."""
    number = np.arange(COUNT)
    remarks = pa.array(["", "ä", None, "z" * 40])
    return pa.table(
        {
            "street": pa.array(["Ahornweg", "Zeile", "ä", "€"]).take(pa.array(number * 4 // COUNT)),
            "house": pa.array(number - 1000, pa.int32()),
            "remark": remarks.take(pa.array(number % 4)),
            "kwh": (number * 7919 % 5000) / 100.0,
        }
    )


@pytest.fixture
def sortings(monkeypatch):
    """The orders that tables were read in."""
    orders = []
    read = TableFile.read

    def noted(self, scratch, columns, order=()):
        orders.append(tuple(order))
        return read(self, scratch, columns, order)

    monkeypatch.setattr(TableFile, "read", noted)
    return orders


def released(table, ring, folder, ending=".parquet", name="out", **options):
    source = folder / f"{name}-in.parquet"
    pq.write_table(table, source, row_group_size=100_000)
    target = folder / f"{name}{ending}"
    wanted = {"columns": {"kwh": ef.Interval(0, 0.5)}, "key": ["street", "house"], "batch": name, "keys": ring}
    options = {"public": ["remark"], "again": True} | wanted | options
    release(source, target, **wished(**options))
    return target


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".csv"])
def test_rows_in_order_give_the_same_bytes_as_rows_that_are_sorted(long, ring_in, tmp_path, sortings, ending):
    contents = []
    for name, table in (("ordered", long), ("shuffled", long.take(np.random.default_rng(1).permutation(COUNT)))):
        (tmp_path / name).mkdir()
        target = released(table, ring_in(tmp_path / name), tmp_path / name, ending)
        contents.append(target.read_bytes())
    assert sortings == [(), (), ("street", "house")]
    assert contents[0] == contents[1]


def test_one_row_out_of_place_at_the_end_is_sorted_in(long, ring_in, tmp_path, sortings):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    expected = released(long, ring_in(tmp_path / "a"), tmp_path / "a").read_bytes()
    late = pa.concat_tables([long.slice(0, 3), long.slice(4), long.slice(3, 1)])
    progress = []
    target = released(late, ring_in(tmp_path / "b"), tmp_path / "b", progress=progress.append)
    assert target.read_bytes() == expected
    assert sortings[-2:] == [(), ("street", "house")]
    assert progress[-1] == COUNT
    entries = (tmp_path / "b" / "keys.json.releases").read_text().splitlines()
    assert [json.loads(line)["batch"] for line in entries] == ["out"]
    assert not list((tmp_path / "b").glob(".out*"))


@pytest.mark.parametrize("place", [5, ROWS - 1, COUNT - 2])
@pytest.mark.parametrize("shuffled", [False, True])
def test_a_repeated_key_is_found_wherever_it_stands(long, ring, tmp_path, place, shuffled):
    rows = np.insert(np.arange(COUNT), place, place)
    if shuffled:
        rows = np.random.default_rng(2).permutation(rows)
    with pytest.raises(InputError, match="the row key street, house is not unique: some keys name several rows"):
        released(long.take(rows), ring, tmp_path)
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_source_that_changes_is_refused_sorted_or_not(long, ring, tmp_path, shuffled):
    table = long.take(np.random.default_rng(3).permutation(COUNT)) if shuffled else long
    with pytest.raises(InputError, match="changed while it was read"):
        released(table, ring, tmp_path, progress=lambda rows: (tmp_path / "out-in.parquet").touch())
    assert not (tmp_path / "out.parquet").exists()


KEYS = {
    "text": (pa.string(), st.text(max_size=3)),
    "integer": (pa.int64(), st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1)),
    "unsigned": (pa.uint8(), st.integers(0, 255)),
    "truth": (pa.bool_(), st.booleans()),
    "moment": (pa.timestamp("us", "UTC"), st.integers(-5, 5)),
    "day": (pa.date32(), st.integers(-5, 5)),
    "money": (pa.decimal128(10, 2), st.decimals("-9.99", "9.99", places=2)),
}


@given(st.data())
def test_the_order_that_is_checked_is_the_order_that_duckdb_sorts_in(data):
    kinds = data.draw(st.lists(st.sampled_from(sorted(KEYS)), min_size=1, max_size=3))
    rows = data.draw(st.lists(st.tuples(*(KEYS[kind][1] for kind in kinds)), min_size=1, max_size=6))
    names = [f"k{i}" for i in range(len(kinds))]
    arrays = [pa.array(column, KEYS[kind][0]) for kind, column in zip(kinds, zip(*rows, strict=True), strict=True)]
    table = pa.table(arrays, names=names)
    with duckdb.connect() as connection:
        in_order = connection.from_arrow(table).order(", ".join(names)).to_arrow_table().cast(table.schema)
        different = len(connection.from_arrow(table).distinct().fetchall())
    expected = Step.ASCENDS if table.equals(in_order) and different == len(rows) else None
    assert (worst_step([c.combine_chunks() for c in table.columns]) is Step.ASCENDS) == (expected is Step.ASCENDS)
    after = worst_step([c.combine_chunks() for c in in_order.columns])
    assert after is (Step.ASCENDS if different == len(rows) else Step.REPEATS)


def test_stretches_meet_as_if_they_were_one():
    generator = np.random.default_rng(4)
    for _ in range(200):
        rows = pa.record_batch({"a": generator.integers(0, 2, 4), "b": generator.integers(0, 6, 4)})
        rows = rows.sort_by([("a", "ascending"), ("b", "ascending")]) if generator.random() < 0.7 else rows
        one, two = (Stretch.of(part, ["a", "b"]) for part in (rows.slice(0, 2), rows.slice(2)))
        steps = {one.step, two.step, one.then(two)}
        worst = next(s for s in (Step.DESCENDS, Step.REPEATS, Step.ASCENDS) if s in steps)
        assert Stretch.of(rows, ["a", "b"]).step is worst


def test_texts_sort_byte_by_byte_whatever_a_database_declares(ring, tmp_path):
    source = tmp_path / "in.duckdb"
    with duckdb.connect(str(source)) as connection:
        connection.execute("CREATE TYPE street AS ENUM ('Zeile', 'Ahornweg')")
        connection.execute("CREATE TABLE meters (name VARCHAR COLLATE NOCASE, street street, kwh DOUBLE)")
        rows = "('a', 'Zeile', 1), ('B', 'Zeile', 2), ('A', 'Zeile', 3), ('A', 'Ahornweg', 4)"
        connection.execute(f"INSERT INTO meters VALUES {rows}")
    common = {"columns": {"kwh": ef.Interval(0, 0.5)}, "keys": ring}
    source = source.with_name(f"{source.name}::meters")
    release(source, tmp_path / "names.parquet", key=["name", "street"], batch="names", **common)
    names = pq.read_table(tmp_path / "names.parquet")
    assert names["name"].to_pylist() == ["A", "A", "B", "a"]
    assert names["street"].to_pylist() == ["Ahornweg", "Zeile", "Zeile", "Zeile"]
    assert names.schema.field("street").type == pa.string()  # the order of an enumeration's values is not published


def test_the_place_of_the_machine_is_not_in_the_file(ring, tmp_path, monkeypatch):
    monkeypatch.setenv("TZ", "America/New_York")
    moments = pa.array([0, 10**6], pa.timestamp("us", "Europe/Rome"))
    pq.write_table(pa.table({"moment": moments, "kwh": [1.0, 2.0]}), tmp_path / "in.parquet")
    common = {"columns": {"kwh": ef.Interval(0, 0.5)}, "key": ["moment"], "batch": "b", "keys": ring}
    release(tmp_path / "in.parquet", tmp_path / "out.parquet", **common)
    assert pq.read_schema(tmp_path / "out.parquet").field("moment").type == pa.timestamp("us", "UTC")


def test_a_database_that_is_read_shows_no_progress_bar_of_its_own(tmp_path):
    (tmp_path / "in.csv").write_text("id,kwh\n1,2.0\n")
    with ExitStack() as stack:
        connection = TableFile.of(tmp_path / "in.csv")._connect(stack, tmp_path)
        assert connection.execute("SELECT current_setting('enable_progress_bar')").fetchone() == (False,)
