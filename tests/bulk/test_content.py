"""The digest of rows: what changes it, and what does not."""

import numpy as np
import pyarrow as pa
import pytest

import errorfloor as ef
from errorfloor.bulk import ReleasedColumn
from errorfloor.bulk import content as adding
from errorfloor.bulk.content import MODULUS, Content, Holding, total
from errorfloor.errors import InputError

RULES = {"range": (0.0, 50.0), "out_of_range": "clamp", "nulls": "keep"}


def sums(rows, ring, key=("id", "street")):
    column = ReleasedColumn.plan("kwh", ef.Interval(0, 0.5), **RULES)
    return Content.prepare(rows.schema, [column], key, ring.current).of(rows)["kwh"].sum


@pytest.fixture
def rows():
    number = np.arange(500)
    streets = pa.array([f"street {i % 7}" for i in number])
    return pa.record_batch({"id": number, "street": streets, "kwh": pa.array(number / 10.0, mask=number % 50 == 0)})


def test_the_sum_depends_on_the_rows_and_not_on_their_order_or_division(rows, ring):
    whole = sums(rows, ring)
    mixed = rows.take(pa.array(np.random.default_rng(1).permutation(500)))
    assert sums(mixed, ring) == whole
    parts = [mixed.slice(0, 1), mixed.slice(1, 300), mixed.slice(301)]
    assert sum(sums(part, ring) for part in parts) % MODULUS == whole
    wide = rows.set_column(0, "id", rows["id"].cast(pa.int16()))
    assert sums(wide, ring) == whole


def test_any_change_of_a_row_changes_the_sum(rows, ring):
    seen = {sums(rows, ring)}
    numbers = rows["kwh"].to_pylist()
    for place, value in [(7, 0.8), (7, 60.0), (7, 70.0), (7, None), (50, 0.0), (50, 1.0)]:  # row 50 has none
        changed = [*numbers[:place], value, *numbers[place + 1 :]]
        seen.add(sums(rows.set_column(2, "kwh", pa.array(changed, pa.float64())), ring))
    exchanged = [*numbers[:8], numbers[9], numbers[8], *numbers[10:]]
    seen.add(sums(rows.set_column(2, "kwh", pa.array(exchanged)), ring))
    seen.add(sums(rows.slice(1), ring))
    seen.add(sums(rows.set_column(1, "street", pa.array(["x", *rows["street"].to_pylist()[1:]])), ring))
    seen.add(sums(rows, ring, key=("id",)))
    assert len(seen) == 11
    assert sums(rows, ring, key=("street", "id")) == sums(rows, ring)  # only how the key is named


def test_a_null_is_no_value_whatever_lies_under_it(rows, ring):
    under = rows["kwh"].fill_null(49.0).to_numpy(zero_copy_only=False)
    masked = pa.array(under, mask=rows["kwh"].is_null().to_numpy(zero_copy_only=False))
    assert sums(rows.set_column(2, "kwh", masked), ring) == sums(rows, ring)
    zeros = rows.set_column(2, "kwh", pa.array(np.zeros(500)))
    assert sums(zeros, ring) == sums(rows.set_column(2, "kwh", pa.array(-np.zeros(500))), ring)


def test_tags_add_up_like_whole_numbers():
    words = ef.random.ReproducibleBits(5).words(20_000).reshape(-1, 2)
    words[:3] = 2**64 - 1
    exact = sum(int(low) + (int(high) << 64) for low, high in words) % MODULUS
    assert total(words) == exact
    assert total(words[:0]) == 0


def test_values_that_break_a_rule_are_refused(rows, ring):
    column = ReleasedColumn.plan("kwh", ef.Interval(0, 0.5), range=(0.0, 5.0), out_of_range="refuse", nulls="keep")
    with pytest.raises(InputError, match="outside its declared range 0 … 5"):
        Content.prepare(rows.schema, [column], ["id"], ring.current).of(rows)


def test_of_many_rows_the_same_part_is_kept_in_whatever_order_they_come(monkeypatch):
    monkeypatch.setattr(adding, "MOST", 1000)
    tags = ef.random.ReproducibleBits(8).words(20_000).reshape(-1, 2)
    mixed = np.random.default_rng(4).permutation(tags)

    def held(rows, size):
        parts = [Holding.of(rows[i : i + size], np.ones(len(rows[i : i + size]), bool)) for i in range(0, 10_000, size)]
        return sum(parts, Holding())

    one, other = held(tags, 900), held(mixed, 3333)
    assert sorted(one.words) == sorted(other.words)
    assert one.sum == other.sum
    assert 400 < one.words.size <= 1000
    assert one.halvings == 4  # 10,000 / 2⁴ = 625
