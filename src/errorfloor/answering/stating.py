"""Prices, answers and accounts as plain JSON types: everything that they state, so that a client can say the same."""

import math
from typing import Any

import numpy as np

from errorfloor.answering.answer import Price
from errorfloor.charging import QuotaStanding, Standing
from errorfloor.floors import Floor


def standing_facts(standing: Standing, plain: dict[str, Any] | None = None) -> dict[str, Any]:
    """Give how an account stands, in numbers and in words; ``plain`` is its dictionary, if that was made already."""
    exact = {
        "promised": standing.promised.told_apart,
        "promised_floor": standing.promised.floor,
        "told_apart": standing.told_apart,
        "told_apart_by_this": standing.told_apart_by_this,
        "floor": standing.floor,
        **({} if standing.stated is None else {"promised_epsilon": standing.promised.epsilon}),
    }
    facts = standing.to_dict() if plain is None else plain
    return {"name": standing.name, **facts, "exact": exact, "explain": standing.explain()}


def quota_facts(quota: QuotaStanding) -> dict[str, Any]:
    """Give how a quota stands, in numbers and in words."""
    return {"name": quota.name, **quota.to_dict(), "explain": quota.explain()}


def stated(price: Price, plain: dict[str, Any] | None = None) -> dict[str, Any]:
    """Give all that is stated of a price or an answer; ``plain`` is its dictionary, or as much of it as is wanted."""
    plain = price.to_dict() if plain is None else plain
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
        "summary": price.summary(),
        "remarks": price.remarks(),
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
