"""The register of releases knows rows by what they hold: the same ones are never drawn twice in silence."""

import hashlib
import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import errorfloor as ef
from errorfloor.bulk import ReleasedColumn, release
from errorfloor.bulk import content as adding
from errorfloor.errors import InputError
from errorfloor.identity import Key, KeyRing, Label
from releases import wished

KEY = ["household", "day"]
KWH = {"kwh": ef.Interval(0, 0.5)}


def mixed(table):
    return table.take(np.random.default_rng(5).permutation(table.num_rows))


def corrected(table, rows=6):
    numbers = table["kwh"].to_numpy().copy()
    numbers[:rows] += 0.125
    return table.set_column(table.schema.get_field_index("kwh"), "kwh", pa.array(numbers))


def publish(folder, table, ring, name, **options):
    source, target = folder / f"in-{name}", folder / f"out-{name}"
    if name.endswith(".csv"):
        pa.csv.write_csv(table, source)
    else:
        pq.write_table(table, source)
    wanted = {"columns": KWH, "key": KEY, "batch": "q1", "keys": ring, "overwrite": True} | options
    release(source, target, **wished(**wanted))
    return pa.csv.read_csv(target) if name.endswith(".csv") else pq.read_table(target)


def lines(ring):
    return ring.path.with_name("keys.json.releases").read_text().splitlines()


SAME_ROWS = [
    ("mixed.parquet", mixed),
    ("rows.csv", lambda table: table),
    ("mixed.csv", mixed),
    ("narrow.parquet", lambda table: table.drop_columns(["tariff"])),
]


@pytest.mark.parametrize(("name", "change"), SAME_ROWS)
def test_the_same_rows_under_their_batch_give_the_same_numbers_however_they_are_stored(
    meters, ring, tmp_path, name, change
):
    first = publish(tmp_path, meters, ring, "first.parquet")
    again = publish(tmp_path, change(meters), ring, name)
    assert again["kwh"].to_pylist() == first["kwh"].to_pylist()


@pytest.mark.parametrize(("name", "change"), SAME_ROWS)
def test_the_same_rows_under_another_batch_are_a_second_draw(meters, ring, tmp_path, name, change):
    publish(tmp_path, meters, ring, "first.parquet")
    with pytest.raises(InputError, match="kwh of this table was released as batch q1: a second draw would reveal more"):
        publish(tmp_path, change(meters), ring, name, batch="q2")
    assert not (tmp_path / f"out-{name}").exists()
    second = publish(tmp_path, change(meters), ring, name, batch="q2", again=True)
    assert second["kwh"].to_pylist() != meters["kwh"].to_pylist()


@pytest.mark.parametrize(
    "change",
    [corrected, lambda table: table.slice(0, 7), lambda table: corrected(table, 5999)],
    ids=["0.1 % changed", "a few of them", "one row is left as it was"],
)
def test_one_row_that_was_released_is_enough_for_a_refusal(meters, ring, tmp_path, change):
    publish(tmp_path, meters, ring, "first.parquet")
    written = lines(ring)
    with pytest.raises(
        InputError, match="same key and the same kwh, were released as batch q1: a second draw would reveal"
    ):
        publish(tmp_path, mixed(change(meters)), ring, "second.csv", batch="q2")
    assert lines(ring) == written
    assert len(list((tmp_path / "keys.json.releases.rows").iterdir())) == 1


def test_a_corrected_table_is_released_by_the_rows_that_changed(meters, ring, tmp_path):
    first = publish(tmp_path, meters, ring, "first.parquet")
    changed = corrected(meters)
    with pytest.raises(InputError, match=r"batch q1 names other data.*release only the changed rows"):
        publish(tmp_path, changed, ring, "second.parquet")
    part = publish(tmp_path, changed.slice(0, 6), ring, "part.parquet", batch="q1 corrected")
    moved = part["kwh"].to_numpy() - first["kwh"].to_numpy()[:6]
    assert not np.isclose(moved, 0.125).any()  # noise that was shared would give the correction away
    again = publish(tmp_path, mixed(meters), ring, "first.parquet")
    assert again.equals(first)


def test_other_readings_of_the_same_households_are_another_batch(meters, ring, tmp_path):
    publish(tmp_path, meters, ring, "first.parquet")
    publish(tmp_path, corrected(meters, 6000), ring, "second.parquet", batch="q2")
    assert len(lines(ring)) == 2


def test_rows_without_a_value_are_not_drawn_and_not_recorded(meters, ring, tmp_path):
    place = meters.schema.get_field_index("kwh")
    half = meters.set_column(place, "kwh", pa.array(meters["kwh"].to_numpy(), mask=np.arange(6000) < 3000))
    other = corrected(meters, 6000)
    other = other.set_column(place, "kwh", pa.array(other["kwh"].to_numpy(), mask=np.arange(6000) < 3000))
    publish(tmp_path, half, ring, "first.parquet")
    publish(tmp_path, other, ring, "second.parquet", batch="q2")
    assert [json.loads(line)["words"] for line in lines(ring)] == [3000, 3000]


def test_a_column_added_to_a_batch_is_compared_with_all_other_batches(meters, ring, tmp_path):
    both = meters.append_column("gas", pa.array(np.linspace(0, 20, 6000)))
    publish(tmp_path, both, ring, "first.parquet")
    publish(tmp_path, both, ring, "gas.parquet", batch="q2", columns={"gas": ef.Interval(-1, 1)})
    with pytest.raises(InputError, match="kwh of this table was released as batch q1"):
        publish(tmp_path, mixed(both), ring, "second.parquet", batch="q2")


def test_the_order_of_the_keys_columns_or_other_key_columns_hide_nothing(meters, ring, tmp_path):
    publish(tmp_path, meters, ring, "first.parquet")
    with pytest.raises(InputError, match="kwh of this table was released as batch q1"):
        publish(tmp_path, mixed(meters), ring, "second.parquet", batch="q2", key=["day", "household"])
    with pytest.raises(InputError, match="kwh of this table was released as batch q1"):  # the file itself is known
        publish(tmp_path, meters, ring, "second.parquet", batch="q2", key=[*KEY, "tariff"])


def test_a_rotated_key_forgets_no_rows(meters, tmp_path):
    ring = KeyRing.create(tmp_path / "keys.json")
    publish(tmp_path, meters, ring, "first.parquet")
    ring.rotate()
    with pytest.raises(InputError, match="were released as batch q1"):
        publish(tmp_path, corrected(meters), KeyRing(ring.path), "second.csv", batch="q2")


def test_shared_rows_of_large_tables_are_found_by_the_part_that_is_kept(meters, ring, tmp_path, monkeypatch):
    """Of 6,000 rows about 375 are kept: 3,000 shared ones all escape with probability (1 − 1/16)³⁰⁰⁰ < 1e-80."""
    monkeypatch.setattr(adding, "MOST", 500)
    publish(tmp_path, meters, ring, "first.parquet")
    assert json.loads(lines(ring)[0])["words"] <= 500
    with pytest.raises(InputError, match="were released as batch q1"):
        publish(tmp_path, corrected(meters, 3000), ring, "second.parquet", batch="q2")


def test_recorded_rows_that_are_lost_are_missed(meters, ring, tmp_path):
    publish(tmp_path, meters, ring, "first.parquet")
    (kept,) = (tmp_path / "keys.json.releases.rows").iterdir()
    assert (kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    content = kept.read_bytes()
    for left in (content[:-8], None):
        kept.unlink() if left is None else kept.write_bytes(left)
        with pytest.raises(InputError, match=r"restore the folder keys.json.releases.rows"):
            publish(tmp_path, corrected(meters), ring, "second.parquet", batch="q2")
    publish(tmp_path, mixed(meters), ring, "first.parquet")
    assert kept.read_bytes() == content


def test_a_release_that_is_refused_after_it_was_entered_leaves_nothing(meters, ring, tmp_path, monkeypatch):
    from errorfloor.bulk import tables

    def full(*_):
        raise OSError

    with monkeypatch.context() as patched:
        patched.setattr(tables, "_place", full)
        with pytest.raises(InputError, match="is there room"):
            publish(tmp_path, meters, ring, "first.parquet")
    assert [list(json.loads(line)) == ["withdrawn"] for line in lines(ring)] == [False, True]
    assert list((tmp_path / "keys.json.releases.rows").iterdir()) == []
    publish(tmp_path, corrected(meters), ring, "second.parquet", batch="q2")


@pytest.fixture
def older(meters, ring, tmp_path):
    """A register as earlier versions wrote it: a batch that is known by the bytes of its file alone."""
    pq.write_table(meters, tmp_path / "in-first.parquet")
    content = hashlib.sha256((tmp_path / "in-first.parquet").read_bytes()).digest()
    column = ReleasedColumn.plan("kwh", KWH["kwh"], out_of_range="refuse", nulls="keep")
    entry = {
        "batch": "q1",
        "source": ring.keys[0].derive(Label("release source", (content, None))).hex(),
        "key": KEY,
        "columns": {"kwh": column.fingerprint},
        "key_id": ring.current.id,
    }
    ring.path.with_name("keys.json.releases").write_text(json.dumps(entry) + "\n")
    return ring


def test_an_older_register_is_not_forgotten(meters, older, tmp_path):
    for batch, message in (("q1", "batch q1 names other data"), ("q2", "did not record its rows.*once more")):
        with pytest.raises(InputError, match=message):
            publish(tmp_path, mixed(meters), older, "mixed.parquet", batch=batch)
    with pytest.raises(InputError, match="kwh of this table was released as batch q1"):
        publish(tmp_path, meters, older, "same.parquet", batch="q2")
    with pytest.raises(InputError, match="did not record its rows"):  # though they are others
        publish(tmp_path, corrected(meters, 6000), older, "others.parquet", batch="q2")
    publish(tmp_path, corrected(meters, 6000), older, "others.parquet", batch="q2", again=True)


def test_an_older_batch_that_is_released_once_more_is_known_by_its_rows(meters, older, tmp_path):
    first = publish(tmp_path, meters, older, "first.parquet")
    assert publish(tmp_path, mixed(meters), older, "mixed.csv")["kwh"].to_pylist() == first["kwh"].to_pylist()
    with pytest.raises(InputError, match="were released as batch q1"):
        publish(tmp_path, corrected(meters), older, "second.parquet", batch="q2")
    publish(tmp_path, corrected(meters, 6000), older, "second.parquet", batch="q2")


def test_what_is_recorded_says_nothing_without_the_key(meters, tmp_path):
    kept = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        ring = KeyRing.create(tmp_path / name / "keys.json")
        assert isinstance(ring.current, Key)
        publish(tmp_path / name, meters, ring, "first.parquet")
        (file,) = (tmp_path / name / "keys.json.releases.rows").iterdir()
        kept.append(np.fromfile(file, dtype="<u8"))
    assert not np.intersect1d(*kept).size
    for words in kept:  # uniform on 64 bits: the mean of 6,000 within seven standard errors
        assert abs(words.astype(float).mean() / 2.0**64 - 0.5) < 7 / np.sqrt(12 * 6000)
