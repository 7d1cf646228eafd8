"""Replies written from columns say what ``Answer.cells`` and the table say, cell by cell."""

import datetime
import json
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from errorfloor.access.replies import body_of
from errorfloor.access.size import _written, reply_bytes
from errorfloor.answering.cells import CellFacts, coarser, in_hundred
from errorfloor.floors.words import times_in_hundred
from errorfloor.pricing.keys import KeyColumn
from errorfloor.server import statements
from errorfloor.server.statements import facts_json, json_parts, json_texts
from recorded import QUESTIONS, TOWNS, WIDE, opened

VALUES = {
    "double": (pa.float64(), st.floats()),
    "whole": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "text": (pa.string(), st.text(st.characters(exclude_categories=["Cs"]))),
    "date": (pa.date32(), st.dates()),
    "moment": (pa.timestamp("us"), st.datetimes(datetime.datetime(1000, 1, 1))),
    "flag": (pa.bool_(), st.booleans()),
}


@pytest.mark.parametrize("kind", VALUES)
@given(data=st.data())
def test_a_column_in_json_is_what_each_value_is_in_json(kind, data):
    type_, values = VALUES[kind]
    column = pa.array(data.draw(st.lists(st.none() | values, max_size=8)), type_)
    texts = json_texts(column).to_pylist()
    expected = json.loads(body_of(column.to_pylist()))
    assert [json.loads(text) for text in texts] == expected
    assert [type(json.loads(text)) for text in texts] == list(map(type, expected))


def test_a_whole_number_of_128_bits_keeps_all_its_digits():
    assert json_texts(pa.array([Decimal(-(10**37)), None], pa.decimal128(38, 0))).to_pylist() == [
        str(-(10**37)),
        "null",
    ]


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        ([0, -1, 9, 10, 99_999, -(10**18), 2**63 - 1, -(2**63), None], pa.int64()),
        (["ab", "plain", 'say "no"', None], pa.string()),
        ([datetime.date(2013, 1, 20)], pa.date32()),
    ],
)
def test_the_bound_of_a_reply_counts_the_digits_and_letters_of_its_keys(values, type_):
    column = pa.array(values, type_)
    bound = _written(KeyColumn(column, 1 if type_ == pa.int64() else None))
    lengths = [len(text) for text in json_texts(column).to_pylist()]
    escapes = [0 if value is None else 4 * str(value).count('"') for value in values]
    assert bound.tolist() == [length + more for length, more in zip(lengths, escapes, strict=True)]


MEDIAN = "SELECT tariff, median(kwh) AS a FROM meters GROUP BY tariff"


@pytest.mark.parametrize("town", TOWNS)
def test_replies_state_of_each_cell_what_the_answer_states(tmp_path, monkeypatch, town):
    monkeypatch.setattr(statements, "AT_ONCE", 7)
    with opened(tmp_path / "town", town) as database:
        some = QUESTIONS[:: 6 if town == "plain" else 12]
        by_share = ("SELECT rooms, avg(kwh) AS a, count(*) AS n FROM meters GROUP BY rooms", {"spend": 1e-3})
        for text, wish in [by_share, *((text, {"max_error": WIDE[town]}) for text in (MEDIAN, *some))]:
            answer = database.ask(text, **wish)
            reply = json.loads(b"".join(json_parts(answer)))
            assert len(b"".join(json_parts(answer))) < reply_bytes(answer.prepared)
            assert reply["cells"] == json.loads(body_of(answer.cells()))
            assert reply["rows"] == json.loads(body_of([list(row.values()) for row in answer.table.to_pylist()]))
            assert json.loads(facts_json(answer))["cells"] == reply["cells"]


@given(st.lists(st.floats(0, 1) | st.integers(0, 1000).map(lambda k: k / 1000), min_size=1, max_size=20))
def test_times_in_a_hundred_are_those_in_words(probabilities):
    assert in_hundred(np.array(probabilities)).tolist() == [float(times_in_hundred(p)) for p in probabilities]


@given(st.lists(st.floats(1e-300, 1e300), min_size=1, max_size=20))
def test_slopes_are_made_coarser_upwards_and_by_less_than_a_fortieth(slopes):
    found = coarser(np.array(slopes))
    assert (found >= slopes).all() and (found <= np.array(slopes) * 1.025).all()


def test_with_very_many_kinds_of_cells_floors_are_stated_no_higher_than_one_by_one(tmp_path, monkeypatch):
    with opened(tmp_path / "town", "plain") as database:
        answer = database.ask(
            "SELECT household, day, sum(kwh * area) AS a FROM meters GROUP BY household, day", max_error=2e3
        )
        one = answer.prepared.outputs[0]
        exact = CellFacts(answer.prepared, one).entries["kwh"]
        monkeypatch.setattr("errorfloor.answering.cells.MOST_STATED", 10)
        coarse = CellFacts(answer.prepared, one).entries["kwh"]
    assert len(coarse.stated) < len(exact.stated) / 2
    for kind, place in enumerate(exact.index):
        mine, other = exact.stated[place], coarse.stated[coarse.index[kind]]
        assert 0.97 * mine["floor"] <= other["floor"] <= mine["floor"]
        assert mine["told_apart_in_100"] <= other["told_apart_in_100"]
