"""Groups as columns: what tells them apart, whatever the width, the order or the batch they come in."""

import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from errorfloor.pricing.keys import GroupKeys, KeyColumn, kinds_of

KEY = bytes(range(32))
MOMENT = datetime.datetime(1969, 12, 31, 23, 59, 59, 999999)
COLUMNS = {
    "whole": KeyColumn(pa.array([0, 1, -1, 2**62, -(2**63) + 1, None]), 1),
    "wide": KeyColumn(pa.array([Decimal(v) for v in (0, 1, -1, 2**64, -(10**37))] + [None], pa.decimal128(38, 0)), 1),
    "text": KeyColumn(pa.array(["", "a", "b", "a\0", "sixteen letters!!", None])),
    "date": KeyColumn(pa.array([datetime.date(1970, 1, 1), datetime.date(1969, 12, 31), None])),
    "moment": KeyColumn(pa.array([MOMENT, MOMENT.replace(year=1), None], pa.timestamp("us"))),
    "flag": KeyColumn(pa.array([True, False, None])),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_different_keys_have_different_words_and_null_has_its_own(kind):
    words = COLUMNS[kind].words(KEY)
    assert len({tuple(pair) for pair in words.tolist()}) == len(words)
    assert words[-1].tolist() == [0, 2**63]


def test_a_number_has_the_same_words_in_one_word_as_in_two():
    values = [0, 5, -7, 2**63 - 1, None]
    narrow = KeyColumn(pa.array(values), 1)
    wide = KeyColumn(pa.array([None if v is None else Decimal(v) for v in values], pa.decimal128(38, 0)), 1)
    assert (narrow.words(KEY) == wide.words(KEY)).all()


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_group_keeps_its_tag_in_another_order_and_in_another_batch(kind):
    column = COLUMNS[kind]
    keys = GroupKeys((column, KeyColumn(pa.array(range(len(column.values))), 1)), len(column.values))
    tags = keys.tags(KEY)
    assert (keys.taken(np.arange(len(tags))[::-1]).tags(KEY) == tags[::-1]).all()
    later = GroupKeys(tuple(KeyColumn(one.values.slice(1), one.unit) for one in keys.columns), len(tags) - 1)
    assert (later.tags(KEY) == tags[1:]).all()


def test_two_keys_do_not_change_places_unnoticed():
    one, two = KeyColumn(pa.array([1]), 1), KeyColumn(pa.array([2]), 1)
    assert (GroupKeys((one, two), 1).tags(KEY) != GroupKeys((two, one), 1).tags(KEY)).any()


def test_groups_without_keys_have_one_tag_that_follows_from_the_derived_key():
    assert GroupKeys((), 1).tags(KEY).shape == (1, 2)
    assert (GroupKeys((), 1).tags(KEY) != GroupKeys((), 1).tags(bytes(32))).any()


def test_keys_are_numbers_texts_and_days_when_they_are_asked_for():
    area = KeyColumn(pa.array([125, None]), 100)
    keys = GroupKeys((KeyColumn(pa.array(["x", None])), area), 2)
    assert list(keys) == [keys[0], keys[1]] == [("x", Decimal("1.25")), (None, None)]
    assert area.shown.to_pylist() == [1.25, None]
    assert keys.are(keys.taken(np.array([0, 1]))) and not keys.are(keys.taken(np.array([1, 0])))


@given(st.lists(st.tuples(st.none() | st.integers(0, 2), st.sampled_from(["a", "b", None])), max_size=30))
def test_rows_of_a_group_have_one_number_and_the_next_group_the_next(rows):
    rows.sort(key=lambda row: (row[0] is not None, row[0] or 0, row[1] or ""))
    columns = [KeyColumn(pa.array([row[0] for row in rows], pa.int64()), 1)]
    columns.append(KeyColumn(pa.array([row[1] for row in rows], pa.string())))
    expected = [sum(rows[i] != rows[i + 1] for i in range(place)) for place in range(len(rows))]
    assert GroupKeys(tuple(columns), len(rows)).numbered().tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 1)), min_size=1, max_size=40))
def test_groups_of_a_kind_have_equal_facts_and_others_have_not(rows):
    columns = [np.array([row[i] for row in rows]) for i in range(2)]
    found = kinds_of(columns)
    if found is None:
        assert 2 * len(set(rows)) > len(rows)
        return
    kind, first = found
    assert [rows[first[k]] for k in kind] == rows and len(first) == len(set(rows))
    assert all(rows.index(rows[place]) == place for place in first)
