"""Answers as JSON, some rows at a time: whole columns become text and are joined, with no object for a row or cell.

Arrow does it outside the interpreter's lock, so that somebody's large table does not hold up others.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from errorfloor.access.replies import body_of
from errorfloor.answering.answer import stated
from errorfloor.answering.cells import CellFacts
from errorfloor.arithmetic import arrow
from errorfloor.preparing.rounding import centred
from errorfloor.service import Answer, Price

AT_ONCE = 5000  # rows that are written at a time
CONTROLS = "[\\x00-\\x1f]"
Part = Any  # a text, or an Arrow array of texts


def json_parts(answer: Answer) -> Iterator[bytes]:
    """Write an answer as JSON, some rows at a time: what is stated of it and of each cell, then the released table."""
    yield from _fact_parts(answer)
    yield b", "
    yield from _table_parts(answer.to_arrow())


def table_parts(table: pa.Table) -> Iterator[bytes]:
    """Write a table alone."""
    yield b"{"
    yield from _table_parts(table)


def _table_parts(table: pa.Table) -> Iterator[bytes]:
    yield b'"columns": ' + body_of(table.column_names) + b', "rows": ['
    yield from _listed(lambda first: json_rows(table.slice(first, AT_ONCE)), table.num_rows)
    yield b"]}"


def facts_json(answer: Answer) -> bytes:
    """Write what is stated of an answer and of each cell as JSON."""
    return b"".join(_fact_parts(answer)) + b"}"


def _fact_parts(answer: Answer) -> Iterator[bytes]:
    yield body_of(stated(answer, Price.to_dict(answer)) | {"fresh": list(answer.fresh)})[:-1] + b', "cells": ['
    facts = facts_of(answer)
    yield from _listed(lambda first: json_cells(answer, facts, first, AT_ONCE), len(answer.places))
    yield b"]"


def _listed(written: Callable[[int], bytes], rows: int) -> Iterator[bytes]:
    """Give the items of a list, some at a time; each is written with a comma and a space, which the last has not."""
    for first in range(0, rows, AT_ONCE):
        some = written(first)
        yield some if first + AT_ONCE < rows else some[:-2]


def json_texts(column: Any) -> Any:
    r"""Give each value of a column as JSON; what is no finite number is null, a date or moment its ISO text.

    >>> json_texts(pa.array([1.0, float("inf"), None])).to_pylist()
    ['1.0', 'null', 'null']
    >>> json_texts(pa.array(['say "é"', "a\tb\\", None])).to_pylist() == ['"say \\"é\\""', '"a\\tb\\\\"', "null"]
    True
    """
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    kind = array.type
    if pa.types.is_floating(kind):
        finite = pc.if_else(pc.is_finite(array), array, pa.nulls(1, kind)[0])
        texts = pc.replace_substring_regex(finite.cast(pa.string()), "^(-?[0-9]+)$", "\\1.0")
    elif pa.types.is_string(kind):
        texts = _joined('"', _escaped(array), '"')
    elif pa.types.is_date(kind):
        texts = _joined('"', array.cast(pa.string()), '"')
    elif pa.types.is_timestamp(kind):
        moments = pc.replace_substring(array.cast(pa.string()), " ", "T")
        texts = _joined('"', pc.replace_substring_regex(moments, "\\.000000$", ""), '"')
    else:
        texts = array.cast(pa.string())
    return texts.fill_null("null")


def json_rows(table: pa.Table) -> bytes:
    """Write the rows of a table as lists, with a comma and a space after each.

    >>> json_rows(pa.table({"town": ["Ely", None], "n": [3, 4]}))
    b'["Ely", 3], [null, 4], '
    """
    parts: list[Part] = ["["]
    for column in table.columns:
        parts += [json_texts(column), ", "]
    parts[-1] = "], "
    return _bytes(_joined(*parts))


def json_cells(answer: Answer, facts: Sequence[CellFacts], first: int, count: int) -> bytes:
    """Write what is stated of the cells of some rows, with a comma and a space after each row; as ``Answer.cells``."""
    table, places = answer.to_arrow().slice(first, count), answer.places[first : first + count]
    parts: list[Part] = ['{"keys": {']
    for key in (key.name for key in answer.prepared.question.keys if key.name in table.column_names):
        parts += [f"{_quoted(key)}: ", json_texts(table.column(key)), ", "]
    parts[-1] = '}, "outputs": {' if len(parts) > 1 else '{"keys": {}, "outputs": {'
    cells = {one.one.output.name: _cell(one, table, places) for one in facts}
    cells |= {one.name: _located(one.name, _quoted(one.unit), table) for one in answer.prepared.question.quantiles}
    for name, cell in cells.items():
        parts += [f"{_quoted(name)}: ", cell, ", "]
    parts[-1] = "}}, " if cells else parts[-1] + "}}, "
    return _bytes(_joined(*parts))


def facts_of(answer: Answer) -> list[CellFacts]:
    """Give what states the facts of each output that is shown."""
    shown = answer.prepared.question.selected
    return [CellFacts(answer.prepared, one) for one in answer.prepared.outputs if one.output.name in shown]


def _cell(facts: CellFacts, table: pa.Table, places: Any) -> Any:
    """Write the facts of an output's cells."""
    added, name, unit = facts.one.added, facts.one.output.name, _quoted(facts.one.output.unit)
    values = table.column(name).combine_chunks()
    if added is None:
        return _joined('{"answer": ', json_texts(values), f', "exact": true, "unit": {unit}}}')
    parts: list[Part] = ['{"answer": ', json_texts(values), f', "exact": false, "unit": {unit}, "certain_interval": [']
    parts += [json_texts(table.column(f"{name}_low")), ", ", json_texts(table.column(f"{name}_high")), "], "]
    bias = added.widest.bias  # those that differ are all 0
    wide, off = (
        json_texts(pa.array(each[facts.kind[places]])) for each in (facts.bounds, added.of_kind("standard_error"))
    )
    parts += [
        '"max_error": ',
        wide,
        ', "standard_error": ',
        off,
        f', "bias": {_quoted(None if facts.is_cut else bias)}, "centred": ',
    ]
    middle = (
        values
        if bias == 0
        else arrow.column(centred(arrow.values_of(arrow.without_nulls(values)), bias, added.widest.lattice))
    )
    parts += ["null" if facts.is_cut else json_texts(middle), ', "entries": {']
    for column, entries in facts.entries.items():
        stated = pa.array([json.dumps(one) for one in entries.stated])
        parts += [f"{_quoted(column)}: ", stated.take(pa.array(entries.index[facts.kind[places]])), ", "]
    parts[-1] = "}" if facts.entries else parts[-1] + "}"
    if facts.owner is not None:
        parts += [', "owner": {"told_apart_in_100": ', json_texts(pa.array(facts.owner[places])), "}"]
    cells, is_total = _joined(*parts, "}"), pa.array(places < 0)
    if pc.any(is_total).as_py():
        cells = pc.if_else(is_total, _located(name, unit, table), cells)
    return pc.if_else(values.is_valid(), cells, f'{{"answer": null, "exact": false, "unit": {unit}}}')


def _located(name: str, unit: str, table: pa.Table) -> Any:
    """Write the facts of cells of which the certain interval alone is stated."""
    value, low, high = (table.column(f"{name}{end}").combine_chunks() for end in ("", "_low", "_high"))
    begin = f', "exact": false, "unit": {unit}'
    known = ['{"answer": ', json_texts(value), f'{begin}, "certain_interval": [', json_texts(low), ", "]
    return pc.if_else(value.is_valid(), _joined(*known, json_texts(high), "]}"), f'{{"answer": null{begin}}}')


def _escaped(texts: Any) -> Any:
    texts = pc.replace_substring(pc.replace_substring(texts, "\\", "\\\\"), '"', '\\"')
    if pc.any(pc.match_substring_regex(texts, CONTROLS)).as_py():
        for letter in map(chr, range(32)):
            texts = pc.replace_substring(texts, letter, json.dumps(letter)[1:-1])
    return texts


def _quoted(content: Any) -> str:
    return body_of(content).decode()


def _joined(*parts: Part) -> Any:
    """Put texts and columns of texts together, row by row."""
    return pc.binary_join_element_wise(*parts, "")


def _bytes(texts: Any) -> bytes:
    """Give all texts of a column one after another, which is how Arrow holds them."""
    if not len(texts):
        return b""
    _, offsets, content = texts.buffers()
    ends = np.frombuffer(offsets, dtype="<i4")
    return bytes(memoryview(content)[ends[texts.offset] : ends[texts.offset + len(texts)]])
