"""Answers as JSON, some rows at a time."""

from collections.abc import Callable, Iterator

import pyarrow as pa

from errorfloor.access.replies import body_of
from errorfloor.answering.stating import stated
from errorfloor.server.columns import facts_of, json_cells, json_rows
from errorfloor.service import Answer, Price

AT_ONCE = 5000  # rows that are written at a time


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
