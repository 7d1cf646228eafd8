"""The answer: released numbers, what is certain of them, and what nobody can learn from them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from errorfloor.accounts import Account, Charge, explained
from errorfloor.charging import QuotaStanding, Standing
from errorfloor.checks import Array
from errorfloor.display import ReleasedTable, Stated
from errorfloor.floors import Floor
from errorfloor.floors.words import rounded_down, rounded_up
from errorfloor.service.advice import advice
from errorfloor.service.cells import CellFacts, QuantileFacts
from errorfloor.service.preparation import Prepared, PreparedOutput
from errorfloor.service.quantiles import described, located_where
from errorfloor.service.setting import Setting
from errorfloor.service.unions import parts_of

DRY = "dry run: dummy rows made from the catalogue alone; nothing here is about anybody, and nothing is charged."


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
        depends on the values around it.
        """
        return {o.output.asked_as: _reach(o) * self.prepared.scale(o) for o in self._shown}

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

    @property
    def setting(self) -> Setting | None:
        """The group that sets the price, and the price without small groups; None for one group."""
        return self.prepared.setting

    @property
    def _left_out(self) -> list[str]:
        left, least = self.prepared.bounds.left_out, self.prepared.question.least
        if not left:
            return []
        groups = "group" if left == 1 else "groups"
        return [f"{left:,} {groups} of fewer than {least:,} rows {'is' if left == 1 else 'are'} left out."]

    def explain(self) -> str:
        """Say in sentences what is certain, what nobody can learn, and what it costs."""
        said = {one.output.asked_as: self._certain(one) for one in self._shown}
        lines = [*self._left_out, *said.values()]
        if self.dry:
            return "\n".join([DRY, *lines])
        if self.setting is not None:
            lines.append(self.setting.explain())
        if not self.affordable:  # what would be learnt from it is never learnt
            return "\n".join([*lines, f"Refused if asked: {advice(self.prepared, self.standings, self.quotas)}."])
        lines += explained(self.standings)
        lines += [quota.explain() for quota in self.quotas]
        return "\n".join(lines)

    def outputs(self) -> list[dict[str, Any]]:
        """Give what is stated of each output, as plain JSON types."""
        return list({one.output.asked_as: self._output(one) for one in self._shown}.values())

    @property
    def _shown(self) -> list[PreparedOutput]:
        """The outputs of columns that are shown; counts may be there for averages of totals alone."""
        return [one for one in self.prepared.outputs if one.output.asked_as in self.prepared.question.selected]

    def _certain(self, one: PreparedOutput) -> str:
        parts = self.prepared.scale(one)
        if one.output.part_of is not None or one.added is None or parts == 1:
            return _certain(one)
        unit, widest = f" {one.output.unit}" if one.output.unit else "", one.added.widest
        return (
            f"{one.output.name} is certainly within ±{rounded_up(widest.high * parts, 6)}{unit} of the truth: within "
            f"±{rounded_up(widest.high, 6)}{unit} for each of the finest groups (standard error "
            f"{widest.standard_error:.3g}{unit}), of which a total has up to {parts:g}."
        )

    def _output(self, one: PreparedOutput) -> dict[str, Any]:
        plain, parts = _output(one), self.prepared.scale(one)
        if one.output.part_of is not None or one.added is None or parts == 1:
            return plain
        return (
            plain | {name: parts * getattr(one.added.widest, name) for name in ("low", "high")} | {"parts": int(parts)}
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
    mean is certainly within ±0.5 kWh of the truth (standard error 0.181 kWh).
    Whatever is asked, even someone who knows all other entries cannot tell which of two values of kwh, 5 kWh apart, is
    the true one more than 88.1
    """

    table: pa.Table
    places: Array
    fresh: tuple[bool, ...]

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


def _reach(one: PreparedOutput) -> float:
    if one.constant is not None:
        return one.constant.error
    return 0.0 if one.added is None else max(-one.added.widest.low, one.added.widest.high)


def _certain(one: PreparedOutput) -> str:
    if one.output.part_of is not None:
        return located_where(one.output.part_of, one)
    unit = f" {one.output.unit}" if one.output.unit else ""
    if one.constant is not None:
        if one.constant.is_empty:
            return f"{one.output.name} has no value: there are no rows, or too few, to compute it from."
        off = (
            f", and it is within ±{rounded_up(one.constant.error, 6)}{unit} of the truth" if one.constant.error else ""
        )
        return f"{one.output.name} follows from public facts: no private value moves it{off}."
    if one.added is None:
        return f"{one.output.name} is public and exact."
    added = one.added.widest
    if one.added.varies:
        least = one.added.narrowest
        return (
            f"{one.output.name} is certainly within ±{rounded_up(least.high, 6)} to ±{rounded_up(added.high, 6)}{unit} "
            f"of the truth, by group (standard error {least.standard_error:.3g} to {added.standard_error:.3g}{unit})."
        )
    if added.low == -added.high:
        where = f"certainly within ±{rounded_up(added.high, 6)}{unit} of the truth"
    elif math.isinf(added.high):
        where = f"certainly not below the truth, and above it by {added.bias:.3g}{unit} on average"
    else:
        where = (
            f"certainly between {_signed(rounded_down(added.low, 6))} and {_signed(rounded_up(added.high, 6))}{unit} "
            f"off the truth, {added.bias:+.3g}{unit} on average"
        )
    said = f"{one.output.name} is {where} (standard error {added.standard_error:.3g}{unit})."
    if (made := parts_of(one)) is not None:
        cells = f"{made.parts} cell{'s' if made.parts != 1 else ''}"
        return f"{said} It follows from up to {cells} released on {made.time[:10]}, and costs nothing."
    return said


def _signed(written: str) -> str:
    return written if written.startswith("-") else f"+{written}"


def _output(one: PreparedOutput) -> dict[str, Any]:
    if one.output.part_of is not None:
        return described(one.output.part_of, one)
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
    if (made := parts_of(one)) is not None:
        plain["from"] = made.source
    return plain
