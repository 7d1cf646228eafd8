"""Prices and answers that came over the network, with the face of those that did not."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from errorfloor.accounts import Account, Charge
from errorfloor.client.standing import AFFORDABLE, QUOTAS, STANDINGS, Sent
from errorfloor.display import ReleasedTable, Stated
from errorfloor.floors import Floor

ADDED = ("max_error", "promised", "floor", "explain", "summary", "remarks", "columns", "rows")  # by the server


@dataclass(frozen=True, repr=False)
class RemotePrice(Stated):
    """What an answer would state and cost; nothing has been charged.

    >>> RemotePrice({"affordable": True, "max_error": {"mean": None}, "explain": "mean is …"}).max_error
    {'mean': inf}
    """

    facts: Mapping[str, Any] = field(repr=False)

    standings, quotas, affordable = STANDINGS, QUOTAS, AFFORDABLE
    dry = Sent(lambda said: bool(said["dry"]), "Whether dummy rows stand in for the tables.")

    @property
    def max_error(self) -> dict[str, float]:
        """The bound on |released − true| for every output; 0 for public ones, infinite for one-sided noise."""
        return {name: math.inf if bound is None else bound for name, bound in self.facts["max_error"].items()}

    @property
    def charge(self) -> dict[Account, Charge]:
        """What is charged to each account."""
        return {standing.account: standing.charge for standing in self.standings}

    @property
    def floor(self) -> Floor:
        """The same at the amount spent: from all answers so far, had their questions been fixed beforehand."""
        return self._floor("floor")

    @property
    def promised(self) -> Floor:
        """The floor under what can be learnt of an entry of each column, whatever is asked: at the allowance."""
        return self._floor("promised")

    def _floor(self, name: str) -> Floor:
        plain = self.facts[name]
        count = len(plain["root"])
        return Floor(
            root=np.diag(np.array(plain["root"], dtype=float)),
            exposed=np.zeros(count, dtype=bool),
            known=np.zeros((0, count)),
            low=np.array(plain["low"], dtype=float),
            high=np.array(plain["high"], dtype=float),
            spacing=np.array(plain["spacing"], dtype=float),
            evaluation=plain["evaluation"],
            linear=False,
            raised_cosine=np.array(plain["raised_cosine"], dtype=float) if "raised_cosine" in plain else None,
        )

    def explain(self) -> str:
        """Say in sentences what is certain, what nobody can learn, and what it costs."""
        return str(self.facts["explain"])

    def summary(self) -> str:
        """Say the same in two short sentences, and in a line what was used."""
        return str(self.facts["summary"])

    def remarks(self) -> list[str]:
        """Say what may have been overlooked: values that no row has, and bounds that promise nothing."""
        return list(self.facts.get("remarks", []))

    def outputs(self) -> list[dict[str, Any]]:
        """Give what is stated of each output, as plain JSON types."""
        return list(self.facts["outputs"])

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain JSON types."""
        plain = {name: value for name, value in self.facts.items() if name not in ADDED}
        return plain | {
            "accounts": [standing.to_dict() for standing in self.standings],
            "quotas": [quota.to_dict() for quota in self.quotas],
        }


@dataclass(frozen=True, repr=False)
class RemoteAnswer(ReleasedTable, RemotePrice):
    """Released numbers with their certain intervals, and what is stated about them.

    ``to_arrow`` has the keys and, for every output with noise, the released number and its certain interval as
    ``<name>``, ``<name>_low`` and ``<name>_high``; ``cells`` has all that is stated of each cell.

    >>> RemoteAnswer({"fresh": [True]}, pa.table({"n": [1000]})).fresh
    (True,)
    """

    table: pa.Table
    agreeing: Callable[[], pa.Table] | None = field(default=None, repr=False, compare=False)
    fresh = Sent[tuple[bool, ...]](
        lambda said: tuple(said["fresh"]), "Which outputs were charged now; the others had been before."
    )

    def reconciled(self) -> pa.Table:
        """Give the table with numbers that agree with other answers that you may see; nothing is charged.

        Those are your own and the ones of tables that share theirs, and with an owner's token all.
        """
        return self.table if self.agreeing is None else self.agreeing()

    def cells(self) -> list[dict[str, Any]]:
        """Give, for each released row, its keys and for each output all that is stated of that cell."""
        rows = self.table.to_pylist()  # dates and infinite ends are taken from the table: JSON has neither
        return [
            {
                "keys": {name: row[name] for name in cell["keys"]},
                "outputs": {name: _cell(name, one, row) for name, one in cell["outputs"].items()},
            }
            for cell, row in zip(self.facts["cells"], rows, strict=True)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain JSON types."""
        return super().to_dict() | {"cells": self.cells()}


def _cell(name: str, stated: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    if "certain_interval" not in stated:
        return {**stated, "answer": row[name]}
    return {**stated, "answer": row[name], "certain_interval": [row[f"{name}_low"], row[f"{name}_high"]]}
