"""The release of whole columns: bounded, sticky, unique, complete or absent."""

import json

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import errorfloor as ef
from errorfloor.bulk import Perturbation, ReleasedColumn, release
from errorfloor.errors import InputError
from errorfloor.noise import Airy, Gaussian, Maxwell, RaisedCosine, Uniform
from releases import wished

KEY = ["household", "day"]


def write(table, path, name="meters"):
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".csv":
        pa.csv.write_csv(table, path)
    elif path.suffix == ".arrow":
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    else:
        with duckdb.connect(str(path)) as connection:
            connection.register("given", table)
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
    return path


def read(path, name="meters"):
    if path.suffix == ".parquet":
        return pq.read_table(path)
    if path.suffix == ".csv":
        return pa.csv.read_csv(path)
    if path.suffix == ".arrow":
        with pa.OSFile(str(path)) as source:
            return pa.ipc.open_file(source).read_all()
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.table(name).to_arrow_table()


def named(path):
    return path.with_name(f"{path.name}::meters") if path.suffix == ".duckdb" else path


def released(meters, ring, folder, ending=".parquet", target_ending=None, **options):
    source = write(meters, folder / f"in{ending}")
    target = folder / f"out{target_ending or ending}"
    options = {
        "columns": {"kwh": ef.Interval(0, 0.5)},
        "key": KEY,
        "batch": "2013-q1",
        "keys": ring,
        "public": [name for name in meters.column_names if name not in ("household", "day", "kwh", "gas")],
    } | options
    report = release(named(source), named(target), **wished(**options))
    return read(target), report


def test_each_number_stays_in_its_certain_interval_and_on_the_lattice(meters, ring, tmp_path):
    table, report = released(meters, ring, tmp_path, steps={"kwh": "0.1"})
    difference = table["kwh"].to_numpy() - meters["kwh"].to_numpy()
    assert report.rows == 6000
    assert difference.min() >= -1e-12
    assert difference.max() <= 0.5 + 1e-12
    assert difference.std() > 0.05
    tenths = table["kwh"].to_numpy() * 10
    assert np.array_equal(table["kwh"].to_numpy(), np.rint(tenths) / 10)
    assert table.drop_columns("kwh").equals(meters.drop_columns("kwh"))


def test_noise_without_room_for_rounding_would_break_the_bound():
    # the reason for designing on the interval less half a step: ±0.5 noise rounded to 0.1 reaches ±0.54
    draws = RaisedCosine(-0.5, 0.5).sample(2_000_000, rng=1)
    x = 0.04
    worst = np.abs(np.rint((x + draws) * 10) / 10 - x).max()
    assert worst > 0.53


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".arrow", ".duckdb"])
def test_every_format_gives_the_same_numbers(meters, ring_in, tmp_path, ending):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    reference, _ = released(meters, ring_in(tmp_path / "a"), tmp_path / "a")
    table, _ = released(meters, ring_in(tmp_path / "b"), tmp_path / "b", ending)
    assert table["kwh"].to_numpy().tobytes() == reference["kwh"].to_numpy().tobytes()
    assert table.column_names == reference.column_names


def test_formats_can_be_mixed(meters, ring, tmp_path):
    table, _ = released(meters, ring, tmp_path, ".csv", ".duckdb")
    assert table.num_rows == 6000


def test_the_same_release_is_the_same_file_and_another_batch_is_not(meters, ring, tmp_path):
    first, _ = released(meters, ring, tmp_path)
    content = (tmp_path / "out.parquet").read_bytes()
    released(meters, ring, tmp_path, overwrite=True)
    assert (tmp_path / "out.parquet").read_bytes() == content
    other, _ = released(meters, ring, tmp_path, overwrite=True, batch="2013-q2", again=True)
    noise = [t["kwh"].to_numpy() - meters["kwh"].to_numpy() for t in (first, other)]
    assert abs(np.corrcoef(*noise)[0, 1]) < 0.08  # 6,000 rows: six standard errors


@pytest.mark.parametrize(
    "change",
    [
        {"columns": {"kwh": ef.Interval(0, 0.5 + 1e-9)}},
        {"steps": {"kwh": "0.01"}},
        {"ranges": {"kwh": (0, 50)}},
        {"ranges": {"kwh": (0, 1)}, "out_of_range": "clamp"},
        {"nulls": "refuse"},
    ],
)
def test_whatever_decides_the_numbers_decides_the_noise_and_a_batch_keeps_it(meters, ring_in, tmp_path, change):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    ring = ring_in(tmp_path / "a")
    first, _ = released(meters, ring, tmp_path / "a")
    with pytest.raises(InputError, match="column kwh of batch 2013-q1 was released with another noise, step or range"):
        released(meters, ring, tmp_path / "a", overwrite=True, **change)
    # even without the register the noise would be another: two clampings never share it
    other, _ = released(meters, ring_in(tmp_path / "b"), tmp_path / "b", **change)
    small = meters["kwh"].to_numpy() <= 1.0
    assert small.sum() > 5
    noise = [t["kwh"].to_numpy()[small] - meters["kwh"].to_numpy()[small] for t in (first, other)]
    assert not np.isclose(*noise, atol=0.006).all()


def test_a_batch_belongs_to_its_data(meters, ring, tmp_path):
    released(meters, ring, tmp_path)
    edited = meters.set_column(3, "kwh", pc.add(meters["kwh"], 1.0))
    with pytest.raises(InputError, match="batch 2013-q1 names other data"):
        released(edited, ring, tmp_path, overwrite=True)
    with pytest.raises(
        InputError, match="kwh of this table was released as batch 2013-q1: a second draw would reveal more"
    ):
        released(meters, ring, tmp_path, overwrite=True, batch="2013-q2")
    with pytest.raises(InputError, match="was released with the row key household, day: keep it"):
        released(meters, ring, tmp_path, overwrite=True, key=["day", "household"])


def test_a_batch_keeps_the_key_that_it_was_drawn_with(meters, tmp_path):
    from errorfloor.identity import KeyRing

    ring = KeyRing.create(tmp_path / "keys.json")
    first, report = released(meters, ring, tmp_path)
    ring.rotate()
    again, second = released(meters, KeyRing(ring.path), tmp_path, overwrite=True)
    assert again.equals(first)
    assert second.key_id == report.key_id


def test_rows_leave_in_the_order_of_their_key(meters, ring, tmp_path):
    by_value = meters.sort_by("kwh")
    table, _ = released(by_value, ring, tmp_path)
    assert table.select(KEY).equals(meters.select(KEY))


def test_a_row_keeps_its_noise_in_any_company(meters, ring_in, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    whole, _ = released(meters, ring_in(tmp_path / "a"), tmp_path / "a")
    rows = np.sort(np.random.default_rng(1).permutation(6000)[:1000])
    part, _ = released(meters.take(rows), ring_in(tmp_path / "b"), tmp_path / "b")
    assert part["kwh"].to_numpy().tolist() == whole["kwh"].to_numpy()[rows].tolist()


def test_the_width_and_encoding_of_a_key_do_not_matter(meters, ring_in, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    key = ["household", "day", "tariff"]
    reference, _ = released(meters, ring_in(tmp_path / "a"), tmp_path / "a", key=key)
    wide = meters.set_column(0, "household", meters["household"].cast(pa.int64()))
    wide = wide.set_column(2, "tariff", wide["tariff"].dictionary_encode())
    table, _ = released(wide, ring_in(tmp_path / "b"), tmp_path / "b", key=key)
    assert table["kwh"].to_numpy().tolist() == reference["kwh"].to_numpy().tolist()


def test_undeclared_columns_and_the_sources_metadata_stay_behind(meters, ring, tmp_path):
    secret = meters.append_column("wage", meters["kwh"]).replace_schema_metadata({"max kwh": "48.009"})
    table, report = released(secret, ring, tmp_path, public=["tariff"])
    assert table.column_names == ["household", "day", "tariff", "kwh"]
    assert report.left_out == ("wage",)
    assert set(table.schema.metadata) == {b"errorfloor"}
    assert "left out, because they are not declared public: wage" in report.explain()


def test_released_numbers_are_pinned(meters, ring, tmp_path):
    table, _ = released(meters, ring, tmp_path)
    noise = np.round(table["kwh"].to_numpy() - meters["kwh"].to_numpy(), 3)[:4]
    assert noise.tolist() == PINNED


PINNED = [0.21, 0.247, 0.334, 0.39]


def test_noise_has_its_law_over_the_rows(ring):
    schema = pa.schema([("id", pa.int64()), ("x", pa.float64())])
    column = ReleasedColumn.plan("x", ef.Interval(-0.5, 0.5), step="0.000001", out_of_range="refuse", nulls="keep")
    work = Perturbation.prepare(schema, [column], ["id"], "b", ring.current)
    count = 200_000
    batch = pa.record_batch([pa.array(np.arange(count)), pa.array(np.zeros(count))], schema=schema)
    noise = np.sort(work.apply(batch)[0].column(1).to_numpy())
    reached = np.abs(np.arange(1, count + 1) / count - column.noise.cdf(noise)).max()
    assert reached < np.sqrt(np.log(2 / 1e-9) / (2 * count)) + 2e-6  # plus a step of the lattice


def test_several_columns_have_noises_of_their_own(meters, ring, tmp_path):
    both = meters.append_column("gas", meters["kwh"])
    noises = {"kwh": ef.Interval(0, 0.5), "gas": Gaussian(0.04)}
    table, report = released(both, ring, tmp_path, columns=noises)
    one, two = (table[c].to_numpy() - meters["kwh"].to_numpy() for c in ("kwh", "gas"))
    assert abs(np.corrcoef(one, two)[0, 1]) < 0.08
    assert two.std() == pytest.approx(0.2, rel=0.1)
    facts = {c["column"]: c for c in report.to_dict()["columns"]}
    assert facts["gas"]["certain_interval"] is None
    assert facts["kwh"]["certain_interval"] == [0.0, 0.5]
    assert facts["kwh"]["bias"] == pytest.approx(0.25)


def test_the_report_and_the_parquet_metadata_say_what_is_promised(meters, ring, tmp_path):
    _, report = released(meters, ring, tmp_path, ranges={"kwh": (0, 50)}, units={"kwh": "kWh"})
    facts = json.loads(pq.read_schema(tmp_path / "out.parquet").metadata[b"errorfloor"])
    column = facts["columns"][0]
    assert column == report.to_dict()["columns"][0]
    assert column["unit"] == "kWh"
    assert column["standard_error"] == pytest.approx(0.0902, rel=1e-2)
    assert "lies certainly in 0 … 0.5 kWh" in report.explain()
    assert "worst case over 0 … 50 kWh" in column["explanation"]
    assert facts["key_id"] == "0011223344556677"
    assert "secret" not in json.dumps(facts)


def test_nulls_are_kept_or_refused_as_declared(meters, ring, tmp_path):
    holes = pc.if_else(pa.array([True, False] * 3000), meters["kwh"], None)
    holed = meters.set_column(3, "kwh", holes)
    table, _ = released(holed, ring, tmp_path, target_ending=".arrow")
    assert table["kwh"].null_count == 3000
    under = np.frombuffer(table["kwh"].combine_chunks().buffers()[1], dtype=float)[:6000]
    assert not under[table["kwh"].is_null().to_numpy()].any()  # no noise is left where there is no value
    assert table["kwh"].is_null().equals(holed["kwh"].is_null())
    with pytest.raises(InputError, match="column kwh has nulls, which its rule refuses"):
        released(holed, ring, tmp_path, nulls="refuse", batch="b", again=True, overwrite=True)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_what_is_not_finite_is_refused_without_saying_which(meters, ring, tmp_path, value):
    values = meters["kwh"].to_numpy().copy()
    values[4321] = value
    with pytest.raises(InputError, match="not a finite number") as caught:
        released(meters.set_column(3, "kwh", pa.array(values)), ring, tmp_path)
    assert "4321" not in str(caught.value)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert not (tmp_path / "out.parquet").exists()


def test_values_out_of_range_are_clamped_or_refused(meters, ring, tmp_path):
    with pytest.raises(InputError, match="outside its declared range 0 … 5, which its rule refuses"):
        released(meters, ring, tmp_path, ranges={"kwh": (0, 5)})
    clamped = {"ranges": {"kwh": (0, 5)}, "out_of_range": "clamp"}  # what was refused left no trace in the register
    table, report = released(meters, ring, tmp_path, **clamped)
    assert table["kwh"].to_numpy().max() <= 5.5
    assert "minus the true one, clamped to 0 … 5," in report.explain()
    with pytest.raises(InputError, match="clamping needs a range: say which numbers kwh may be"):
        released(meters, ring, tmp_path, out_of_range="clamp", overwrite=True)


def test_a_repeated_key_is_refused_and_nothing_is_left(meters, ring, tmp_path):
    with pytest.raises(InputError, match="row key household is not unique: some keys name several rows"):
        released(meters, ring, tmp_path, key=["household"])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.parquet", "keys.json", "keys.json.releases"]


def test_a_repeated_key_leaves_a_database_as_it_was(meters, ring, tmp_path):
    target = write(meters.slice(0, 5), tmp_path / "out.duckdb")
    source = write(meters, tmp_path / "in.parquet")
    with pytest.raises(InputError, match="not unique"):
        release(
            source,
            named(target),
            columns={"kwh": ef.Interval(0, 0.5)},
            key=["household"],
            batch="b",
            keys=ring,
            overwrite=True,
        )
    assert read(target).num_rows == 5
    new = tmp_path / "new.duckdb"
    with pytest.raises(InputError, match="not unique"):
        release(
            source,
            named(new),
            columns={"kwh": ef.Interval(0, 0.5)},
            key=["household"],
            batch="b",
            keys=ring,
        )
    assert not new.exists()
    with pytest.raises(InputError, match="exists already"):
        release(
            source,
            target.with_name("out.duckdb::METERS"),
            columns={"kwh": ef.Interval(0, 0.5)},
            key=KEY,
            batch="c",
            keys=ring,
            allow=["again"],
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": {}}, "name at least one column"),
        ({"columns": {"kw": ef.Interval(0, 1)}}, "no column kw: did you mean kwh"),
        ({"columns": {"tariff": ef.Interval(0, 1)}}, "column tariff holds string, not numbers"),
        ({"columns": {"kwh": Uniform(low=0, high=1)}}, "cannot be released with this noise: the density jumps"),
        ({"columns": {"kwh": Gaussian(np.eye(2))}}, "a one-dimensional noise"),
        ({"columns": {"kwh": Airy(1.0)}}, "must get the same noise everywhere; an interval, or Maxwell"),
        ({"columns": {"kwh": 0.5}}, "an interval or a one-dimensional noise, got float"),
        ({"key": "household"}, "key must be a list"),
        ({"key": []}, "key must be a list"),
        ({"key": ["household", "household"]}, "different columns"),
        ({"key": ["household", "dya"]}, "no column dya: did you mean day"),
        ({"key": ["kwh"], "columns": {"kwh": ef.Interval(0, 1)}}, "cannot be both key and released"),
        ({"batch": ""}, "batch must be a name"),
        ({"batch": None}, "batch must be a name"),
        ({"ranges": {"kwh": (1, 0)}}, "the range of kwh must be a pair"),
        ({"steps": {"kwh": "wide"}}, "step must be a decimal number"),
        ({"steps": {"kwh": "0.5"}}, "leaves no room for noise"),
        ({"nulls": "drop"}, "nulls must be 'refuse' or 'keep'"),
        ({"out_of_range": "drop"}, "out_of_range must be 'refuse' or 'clamp'"),
        ({"allow": ["order"]}, "allow is \\['again'\\] or nothing, .* rows leave sorted by their key"),
        ({"allow": "again"}, "allow is \\['again'\\] or nothing"),
        ({"public": ["tarif"]}, "no column tarif: did you mean tariff"),
    ],
)
def test_bad_requests_are_named_and_leave_nothing(meters, ring, tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        released(meters, ring, tmp_path, **options)
    assert not (tmp_path / "out.parquet").exists()


def test_keys_made_of_floats_or_with_nulls_are_refused(meters, ring, tmp_path):
    floats = meters.set_column(0, "household", meters["household"].cast(pa.float64()))
    with pytest.raises(InputError, match="key column household holds double"):
        released(floats, ring, tmp_path)
    holes = pc.if_else(pa.array([True] * 5999 + [False]), meters["household"], None)
    with pytest.raises(InputError, match="key column household has nulls"):
        released(meters.set_column(0, "household", holes), ring, tmp_path, overwrite=True)


def test_files_that_are_missing_taken_or_not_what_they_say(meters, ring, tmp_path):
    common = {"columns": {"kwh": ef.Interval(0, 0.5)}, "key": KEY, "batch": "b", "keys": ring}
    source = write(meters, tmp_path / "in.parquet")
    with pytest.raises(InputError, match="there is no file"):
        release(tmp_path / "none.parquet", tmp_path / "out.parquet", **common)
    with pytest.raises(InputError, match="its name must end in"):
        release(tmp_path / "in.xls", tmp_path / "out.parquet", **common)
    with pytest.raises(InputError, match="a release is a copy"):
        release(source, source, **common)
    with pytest.raises(InputError, match="there is no folder"):
        release(source, tmp_path / "no" / "out.parquet", **common)
    (tmp_path / "out.parquet").write_text("mine")
    with pytest.raises(InputError, match="exists already"):
        release(source, tmp_path / "out.parquet", **common)
    assert (tmp_path / "out.parquet").read_text() == "mine"
    (tmp_path / "notes.duckdb").write_text("not a database")
    with pytest.raises(InputError, match="cannot be opened as a DuckDB file"):
        release(source, tmp_path / "notes.duckdb::t", **common)
    (tmp_path / "bad.parquet").write_text("not a table")
    with pytest.raises(InputError, match=r"cannot read .* as parquet"):
        release(tmp_path / "bad.parquet", tmp_path / "new.parquet", **common)


def test_unsigned_and_other_key_kinds_have_tags(ring):
    from errorfloor.bulk.perturbation import RowKey

    moment = pa.array([0, 1], pa.timestamp("us", "UTC"))
    arrays = {
        "small": pa.array([1, 2], pa.uint8()),
        "truth": pa.array([True, False]),
        "moment": moment,
        "money": pa.array(["1.50", "2.50"]).cast(pa.decimal128(10, 2)),
        "text": pa.array(["", "ä long text that needs more than one block of sixteen bytes"]),
    }
    batch = pa.record_batch(list(arrays.values()), names=list(arrays))
    tags = RowKey(tuple(arrays), bytes(32)).tags(batch)
    assert tags.shape == (2, 2)
    assert len(np.unique(tags)) == 4
    seconds = RowKey(("moment",), bytes(32)).tags(
        pa.record_batch([pa.array([0, 1], pa.timestamp("s", "UTC"))], names=["moment"])
    )
    moments = RowKey(("moment",), bytes(32)).tags(batch)
    assert (seconds[0] == moments[0]).all()  # the epoch, in either unit
    assert (seconds[1] != moments[1]).any()  # one second is not one microsecond
    sliced = RowKey(("text",), bytes(32)).tags(batch.slice(1))
    assert (sliced == RowKey(("text",), bytes(32)).tags(batch)[1:]).all()


def test_maxwell_keeps_readings_from_shrinking(meters, ring, tmp_path):
    table, _ = released(meters, ring, tmp_path, columns={"kwh": Maxwell(0.2)}, steps={"kwh": "0.001"})
    assert (table["kwh"].to_numpy() - meters["kwh"].to_numpy()).min() >= -0.0005 - 1e-12


def test_an_empty_table_can_be_released(meters, ring, tmp_path):
    table, report = released(meters.slice(0, 0), ring, tmp_path)
    assert table.num_rows == report.rows == 0


def test_two_releases_to_one_target_do_not_meet(meters, ring, tmp_path):
    from errorfloor.bulk.tables import workplace

    with (
        workplace(tmp_path / "out.parquet"),
        pytest.raises(InputError, match=r"another release to .* is running"),
    ):
        released(meters, ring, tmp_path)
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / ".out.parquet.errorfloor-partial").symlink_to(victim)
    released(meters, ring, tmp_path)
    assert victim.read_text() == "mine"
    assert not list(tmp_path.glob(".out.parquet*"))


def test_a_bound_that_doubles_cannot_keep_is_refused(meters, ring, tmp_path):
    large = meters.set_column(3, "kwh", pc.add(meters["kwh"], 1e9))
    with pytest.raises(InputError, match=r"too large to be rounded to steps of 0\.001: beyond 1\.07374e"):
        released(large, ring, tmp_path)


def test_dictionary_nulls_are_nulls(ring):
    column = ReleasedColumn.plan("x", ef.Interval(0, 1), out_of_range="refuse", nulls="refuse")
    hidden = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array([5.0, None]))
    with pytest.raises(InputError, match="has nulls, which its rule refuses"):
        column.perturb(hidden, np.zeros((3, 2), dtype="<u8"))


def test_reports_carry_no_key(meters, ring, tmp_path):
    import pickle

    _, report = released(meters, ring, tmp_path)
    assert all(column.derived == b"" for column in report.columns)
    assert pickle.loads(pickle.dumps(report)).rows == 6000


def test_the_identity_of_a_column_is_its_law_and_its_rules():
    options = {"step": "0.001", "out_of_range": "refuse", "nulls": "keep"}
    designed = ReleasedColumn.plan("x", ef.Interval(0, 0.5), **options)
    assert "certificate" not in str(designed.identity)
    stated = ReleasedColumn.plan("x", RaisedCosine(designed.noise.low, designed.noise.high), **options)
    assert stated.identity == designed.identity


def test_a_refused_release_can_be_mended_under_the_same_batch(meters, ring, tmp_path):
    with pytest.raises(InputError, match="outside its declared range"):
        released(meters, ring, tmp_path, ranges={"kwh": (0, 5)})
    released(meters, ring, tmp_path, ranges={"kwh": (0, 50)})
    with pytest.raises(InputError, match="was released with another noise"):
        released(meters, ring, tmp_path, ranges={"kwh": (0, 60)}, overwrite=True)


def test_a_source_that_changes_under_the_release_is_refused(meters, ring, tmp_path):
    def touch(rows):
        (tmp_path / "in.parquet").touch()

    with pytest.raises(InputError, match="changed while it was read"):
        released(meters, ring, tmp_path, progress=touch)
    assert not (tmp_path / "out.parquet").exists()
