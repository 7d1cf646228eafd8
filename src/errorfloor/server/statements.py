"""Prices, answers and accounts as JSON: everything that they state, so that a client can say the same."""

import math
from typing import Any

import numpy as np
import pyarrow as pa

from errorfloor.floors import Floor
from errorfloor.service import Price, Standing
from errorfloor.service.quota import QuotaStanding


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
    """Give what is stated of a price or of an answer."""
    plain = price.to_dict()
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
    }


def released_rows(table: pa.Table) -> dict[str, Any]:
    """Give a released table as names and rows."""
    columns = [column.to_pylist() for column in table.columns]
    return {"columns": table.column_names, "rows": [list(row) for row in zip(*columns, strict=True)]}
