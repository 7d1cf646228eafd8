"""The answer: released numbers, what is certain of them, and what nobody can learn from them.

``stated`` gives all of it as plain JSON types, so that a client can say the same.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from errorfloor.accounts import Account, Charge
from errorfloor.answering.cells import CellFacts, QuantileFacts
from errorfloor.answering.unions import parts_of
from errorfloor.answering.words import DIRECT, in_full, in_short, is_direct, remarks
from errorfloor.charging import QuotaStanding, Standing
from errorfloor.checks import Array
from errorfloor.display import ReleasedTable, Stated
from errorfloor.floors import Floor
from errorfloor.preparing.cost import Setting, setting
from errorfloor.preparing.derived import is_null
from errorfloor.preparing.joint_noise import apart_since
from errorfloor.preparing.preparation import Prepared, PreparedOutput, ReadQuestion
from errorfloor.preparing.quantiles import described
from errorfloor.sql.question import Derived

if TYPE_CHECKING:
    from errorfloor.answering.keeping import Keeper
    from errorfloor.preparing.noises import QuestionWish


@dataclass(frozen=True, repr=False)
class Price(Stated):
    """What an answer would state and cost; nothing has been charged.

    >>> from errorfloor.service.example import example_database
    >>> with example_database() as db:
    ...     price = db.price("SELECT tariff, avg(kwh) AS mean FROM meters GROUP BY tariff", max_error=0.5)
    >>> price.affordable, price.max_error
    (True, {'mean': 0.5})
    """

    prepared: Prepared
    standings: tuple[Standing, ...]
    quotas: tuple[QuotaStanding, ...]
    dry: bool

    @property
    def affordable(self) -> bool:
        """Whether the allowance and every quota suffice."""
        found: list[Standing | QuotaStanding] = [*self.standings, *self.quotas]
        return self.dry or all(one.used <= 1 for one in found)

    @property
    def max_error(self) -> dict[str, float]:
        """The bound on |released − true| for every output; infinite for one-sided noise, 0 for public outputs.

        Where bounds differ from group to group it is the largest. For one that no private value moves it is at most a
        step of the lattice.
        Of a quantile it is that of the shares that it is located by, times the width of the range: how far off it is
        depends on the values around it. Of what is computed from parts it is how far off that would be if every part
        were as large as it can be.
        """
        return {o.output.asked_as: _scaled(_reach(o), self.prepared.scale(o)) for o in self.shown}

    @property
    def charge(self) -> dict[Account, Charge]:
        """What is charged to each account."""
        return {standing.account: standing.charge for standing in self.standings}

    @property
    def promised(self) -> Floor:
        """The floor under what can be learnt of an entry of each private column, whatever is asked: at the allowance.

        Its entries are the private columns in order of name.
        """
        return self._floor({name: one.capped for name, one in self._most_exposed.items()})

    @property
    def floor(self) -> Floor:
        """The same at the amount spent: from all answers so far, had their questions been fixed beforehand.

        For a divided account it is that of its most exposed part.
        """
        return self._floor({name: one.spent for name, one in self._most_exposed.items()})

    @property
    def _most_exposed(self) -> dict[str, Standing]:
        worst: dict[str, Standing] = {}
        for standing in self.standings:
            name = standing.account.column
            if name and (name not in worst or standing.used > worst[name].used):
                worst[name] = standing
        return dict(sorted(worst.items()))

    def _floor(self, charged: Mapping[str, Charge]) -> Floor:
        columns = [self.prepared.table.private[name] for name in charged]
        return Floor(
            root=np.diag([math.sqrt(one.information + one.raised_cosine) for one in charged.values()]),
            raised_cosine=np.array([one.raised_cosine for one in charged.values()])
            if self.prepared.table.exact
            else None,
            exposed=np.zeros(len(charged), dtype=bool),
            known=np.zeros((0, len(charged))),
            low=np.array([float(column.low) for column in columns]),
            high=np.array([float(column.high) for column in columns]),
            spacing=np.array([float(c.resolution) if c.resolution > c.floor / 10 else 0.0 for c in columns]),
            evaluation=max((one.evaluation for one in charged.values()), default=0.0),
            linear=False,
        )

    @cached_property
    def setting(self) -> Setting | None:
        """The group that sets the price, and the price without small groups; None for one group."""
        return setting(self.prepared)

    def explain(self) -> str:
        """Say in sentences what is certain, what nobody can learn, and what it costs."""
        return in_full(self)

    def summary(self) -> str:
        """Say the same in two short sentences, and in a line what was used."""
        return in_short(self)

    def remarks(self) -> list[str]:
        """Say what may have been overlooked: values that no row has, and bounds that promise nothing.

        They are in the other sentences, too.
        """
        return remarks(self)

    def outputs(self) -> list[dict[str, Any]]:
        """Give what is stated of each output, as plain JSON types."""
        return list({one.output.asked_as: self._output(one) for one in self.shown}.values())

    @property
    def shown(self) -> list[PreparedOutput]:
        """The outputs of columns that are shown; counts may be there for averages of totals alone."""
        return [one for one in self.prepared.outputs if one.output.asked_as in self.prepared.question.selected]

    def _output(self, one: PreparedOutput) -> dict[str, Any]:
        plain, parts = _output(one), self.prepared.scale(one)
        plain |= {"family": one.output.family} if one.output.family else {}
        if is_direct(one, self.prepared):
            plain |= {"way": "direct", "why": DIRECT}
        if isinstance(one.output.part_of, Derived):
            plain["may_be_null"] = is_null(one.output.part_of, self.prepared) != "never"
        if one.output.part_of is not None or one.added is None or parts == 1:
            return plain
        return (
            plain
            | {name: _scaled(getattr(one.added.widest, name), parts) for name in ("low", "high")}
            | {"parts": int(parts)}
            | ({"why_apart": why} if (why := apart_since(one, self.prepared)) else {})
        )

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain JSON types."""
        return {
            "table": self.prepared.question.table,
            "version": self.prepared.question.version,
            "groups": self.prepared.rows,
            "left_out": self.prepared.bounds.left_out,
            "set_by": None if self.setting is None else self.setting.to_dict(),
            "outputs": self.outputs(),
            "accounts": [standing.to_dict() for standing in self.standings],
            "quotas": [quota.to_dict() for quota in self.quotas],
            "affordable": self.affordable,
            "dry": self.dry,
        }


@dataclass(frozen=True, repr=False)
class Answer(ReleasedTable, Price):
    """Released numbers with their certain intervals, and what is stated about them.

    ``to_arrow`` has the keys and, for every output with noise, the released number and its certain interval as
    ``<name>``, ``<name>_low`` and ``<name>_high``; ``cells`` has all that is stated of each cell.

    >>> from errorfloor.service.example import example_database
    >>> with example_database() as db:
    ...     answer = db.ask("SELECT avg(kwh) AS mean FROM meters", max_error=0.5)
    >>> row = answer.to_arrow().to_pylist()[0]
    >>> row["mean_low"] <= 12.994 <= row["mean_high"]  # the truth
    True
    >>> print(answer.explain().split(" times in 100, and any estimate")[0])  # doctest: +NORMALIZE_WHITESPACE
    mean is certainly within ±0.5 kWh of the truth with kwh clamped to 0 … 50 kWh (standard error 0.181 kWh).
    Clamped means: a value of kwh below 0 kWh counts as 0 kWh, one above 50 kWh as 50 kWh. Whether there are any is not
    said.
    Whatever is asked, even someone who knows all other entries cannot tell which of two values of kwh, 5 kWh apart, is
    the true one more than 88.1
    """

    table: pa.Table
    places: Array
    fresh: tuple[bool, ...]
    kept_by: "tuple[Keeper, ReadQuestion, QuestionWish, str | None] | None" = field(default=None, compare=False)

    def reconciled(self) -> pa.Table:
        """Give the table with numbers that agree with other answers that are kept; nothing is charged.

        Those are an analyst's own and the ones of tables that share theirs, and for the custodian all.
        Where answers about the same rows have a sum in common (parts and a total asked apart, one sum by two keys),
        their certain intervals are intersected, and the numbers nearest to the released ones that agree are taken. A
        number then is between its ends as before, but no longer within ``max_error`` of the truth.
        """
        from errorfloor.answering.reconciling import KeptBy, reconciled  # loaded where it is needed: few answers do

        return self.table if self.kept_by is None else reconciled(self, KeptBy(*self.kept_by))

    def cells(self, first: int = 0, count: int | None = None) -> list[dict[str, Any]]:
        """Give, for each released row, its keys and for each output all that is stated of that cell.

        ``first`` and ``count`` choose some of the rows.
        """
        end = None if count is None else first + count
        selected, keys = self.prepared.question.selected, [key.name for key in self.prepared.question.keys]
        shown: list[tuple[str, CellFacts | QuantileFacts]]
        shown = [(one.output.name, CellFacts(self.prepared, one)) for one in self.prepared.outputs]
        shown = [(name, facts) for name, facts in shown if name in selected]
        shown += [(one.name, QuantileFacts(one)) for one in self.prepared.question.quantiles]
        rows = self.table.slice(first, count).to_pylist()
        return [
            {
                "keys": {key: row[key] for key in keys if key in row},
                "outputs": {name: facts.of(row, place) for name, facts in shown},
            }
            for row, place in zip(rows, self.places[first:end].tolist(), strict=True)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain JSON types."""
        return super().to_dict() | {"fresh": list(self.fresh), "cells": self.cells()}


def _scaled(bound: float, parts: float) -> float:
    """Give a bound on a total from that on its parts, with the digits that were asked for."""
    whole = bound * parts
    return float(f"{whole:.15g}") if parts != 1 else whole


def _reach(one: PreparedOutput) -> float:
    if one.constant is not None:
        return one.constant.error
    return 0.0 if one.added is None else max(-one.added.widest.low, one.added.widest.high)


def _output(one: PreparedOutput) -> dict[str, Any]:
    made = parts_of(one)
    source = {} if made is None else {"from": made.source}
    if one.output.part_of is not None:
        return described(one.output.part_of, one) | source
    plain: dict[str, Any] = {"name": one.output.name, "unit": one.output.unit, "exact": one.added is None}
    if one.added is not None:
        added = one.added.widest
        if one.added.varies:
            plain |= {"least": one.added.narrowest.high}
        plain |= {
            "noise": added.described,
            "step": added.lattice.step,
            "low": added.low,
            "high": None if math.isinf(added.high) else added.high,
            "bias": added.bias,
            "standard_error": added.standard_error,
            "information": added.information,
        }
    return plain | source


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
