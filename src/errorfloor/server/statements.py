"""Prices, answers and accounts as JSON: everything that they state, so that a client can say the same."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from errorfloor.floors import Floor
from errorfloor.server.columns import facts_of, json_cells, json_rows
from errorfloor.server.replies import body_of
from errorfloor.service import Answer, Price, QuotaStanding, Standing

AT_ONCE = 5000  # rows that are written at a time


def standing_facts(standing: Standing, plain: dict[str, Any] | None = None) -> dict[str, Any]:
    """Give how an account stands, in numbers and in words; ``plain`` is its dictionary, if that was made already."""
    exact = {
        "promised": standing.promised.told_apart,
        "promised_floor": standing.promised.floor,
        "told_apart": standing.told_apart,
        "told_apart_by_this": standing.told_apart_by_this,
        "floor": standing.floor,
    }
    facts = standing.to_dict() if plain is None else plain
    return {"name": standing.name, **facts, "exact": exact, "explain": standing.explain()}


def quota_facts(quota: QuotaStanding) -> dict[str, Any]:
    """Give how a quota stands, in numbers and in words."""
    return {"name": quota.name, **quota.to_dict(), "explain": quota.explain()}


def stated(price: Price) -> dict[str, Any]:
    """Give what is stated of a price or of an answer as a whole."""
    plain = Price.to_dict(price)
    columns = sorted({standing.account.column for standing in price.standings} - {""})
    accounts = zip(price.standings, plain["accounts"], strict=True)
    return {
        **plain,
        "accounts": [standing_facts(standing, one) for standing, one in accounts],
        "quotas": [quota_facts(quota) for quota in price.quotas],
        "max_error": {name: None if math.isinf(bound) else bound for name, bound in price.max_error.items()},
        "promised": _floor_facts(columns, price.promised),
        "floor": _floor_facts(columns, price.floor),
        "explain": price.explain(),
    }


def _floor_facts(columns: list[str], floor: Floor) -> dict[str, Any]:
    assert floor.low is not None and floor.high is not None and floor.spacing is not None
    root = np.diag(floor.root)
    return {
        "columns": columns,
        "information": np.square(root).tolist(),
        "root": root.tolist(),
        "low": floor.low.tolist(),
        "high": floor.high.tolist(),
        "spacing": floor.spacing.tolist(),
        "evaluation": floor.evaluation,
        **({} if floor.raised_cosine is None else {"raised_cosine": floor.raised_cosine.tolist()}),
    }


def json_parts(answer: Answer) -> Iterator[bytes]:
    """Write an answer as JSON, some rows at a time: what is stated of it and of each cell, then the released table."""
    yield from _fact_parts(answer)
    table = answer.to_arrow()
    yield b', "columns": ' + body_of(table.column_names) + b', "rows": ['
    yield from _listed(lambda first: json_rows(table.slice(first, AT_ONCE)), table.num_rows)
    yield b"]}"


def facts_json(answer: Answer) -> bytes:
    """Write what is stated of an answer and of each cell as JSON."""
    return b"".join(_fact_parts(answer)) + b"}"


def _fact_parts(answer: Answer) -> Iterator[bytes]:
    yield body_of(stated(answer) | {"fresh": list(answer.fresh)})[:-1] + b', "cells": ['
    facts = facts_of(answer)
    yield from _listed(lambda first: json_cells(answer, facts, first, AT_ONCE), len(answer.places))
    yield b"]"


def _listed(written: Callable[[int], bytes], rows: int) -> Iterator[bytes]:
    """Give the items of a list, some at a time; each is written with a comma and a space, which the last has not."""
    for first in range(0, rows, AT_ONCE):
        some = written(first)
        yield some if first + AT_ONCE < rows else some[:-2]
