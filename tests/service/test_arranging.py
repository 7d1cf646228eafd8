"""Released rows come in the order that was asked for, whatever the types of their keys; a null is the smallest."""

import datetime
from decimal import Decimal
from types import SimpleNamespace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from errorfloor.answering.releasing import arranged
from errorfloor.sql.question import Ordering

KINDS = {
    "whole": st.integers(-3, 3),
    "huge": st.sampled_from([Decimal(2**70), Decimal(-(2**70)), Decimal(0), Decimal(1)]),
    "text": st.sampled_from(["", "a", "Z", "é", "\U0001f600", "\uffff"]),
    "date": st.dates(datetime.date(2026, 1, 1), datetime.date(2026, 1, 4)),
    "moment": st.datetimes(datetime.datetime(2026, 1, 1), datetime.datetime(2026, 1, 4)),
    "fraction": st.sampled_from([1 / 3, 2 / 3, -5.0]),
    "truth": st.booleans(),
}
TYPES = {
    "whole": pa.int64(),
    "huge": pa.decimal128(38, 0),
    "text": pa.string(),
    "date": pa.date32(),
    "moment": pa.timestamp("us"),
    "fraction": pa.float64(),
    "truth": pa.bool_(),
}


def by_hand(columns, by, limit):
    """Sort as Python does, one column after the other."""
    places = list(range(len(columns[by[0][0]])))
    for name, descending in reversed(by):
        rank = [(value is not None, 0 if value is None else value) for value in columns[name]]
        places.sort(key=rank.__getitem__, reverse=descending)
    return tuple(places[:limit])


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_order_is_that_of_python(kind, data):
    keys = data.draw(st.lists(st.tuples(st.none() | KINDS[kind], st.integers(0, 2)), max_size=12))
    numbers = data.draw(st.lists(st.none() | st.floats(-2, 2).map(round), min_size=len(keys), max_size=len(keys)))
    order = data.draw(
        st.lists(st.tuples(st.sampled_from("knm"), st.booleans()), max_size=3, unique_by=lambda one: one[0])
    )
    limit = data.draw(st.none() | st.integers(0, 12))
    question = SimpleNamespace(
        keys=(SimpleNamespace(name="k"), SimpleNamespace(name="n")),
        selected=("n", "m", "k"),
        order=tuple(Ordering(*one) for one in order),
        limit=limit,
    )
    columns = {"k": [one[0] for one in keys], "n": [one[1] for one in keys], "m": numbers}
    arrays = {"k": pa.array(columns["k"], TYPES[kind]), "n": pa.array(columns["n"], pa.int64())}
    found = arranged(question, arrays, {"m": pa.array(numbers, pa.float64())})
    assert tuple(found.tolist()) == by_hand(columns, [*order, ("n", False), ("k", False)], limit)
