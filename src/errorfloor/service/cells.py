"""What is stated of one cell of an answer: its certain interval, and what nobody learns from that cell alone."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from errorfloor.accounts import Charge
from errorfloor.catalogue import PrivateColumn, stored_distance
from errorfloor.charging.standing import entry_floor
from errorfloor.checks import Array
from errorfloor.floors.two_point import angle, success
from errorfloor.floors.words import rounded_down, times_in_hundred
from errorfloor.pricing.owners import OwnerCounts
from errorfloor.service.preparation import Prepared, PreparedOutput


class CellFacts:
    """States the facts of the cells of one output; those of groups that move it alike are worked out once."""

    def __init__(self, prepared: Prepared, one: PreparedOutput) -> None:
        self._one, self._private, self._owners = one, prepared.table.private, prepared.bounds.owners
        self._most = _most_rows(self._owners, len(prepared.bounds.groups))
        self._bounds = prepared.bounds.outputs[prepared.outputs.index(one)]
        self._known: dict[tuple[str, float, float], dict[str, float]] = {}

    def of(self, row: Mapping[str, Any], group: int) -> dict[str, Any]:
        """Give the facts of the cell in a released row, which is that of a group."""
        added, name, unit = self._one.added, self._one.output.name, self._one.output.unit
        if added is None or row[name] is None:
            return {"answer": row[name], "exact": added is None, "unit": unit}
        error = float(self._bounds.error[group]) + added.grain / 2
        cell = {
            "answer": row[name],
            "exact": False,
            "unit": unit,
            "certain_interval": [row[f"{name}_low"], row[f"{name}_high"]],
            "standard_error": added.standard_error,
            "bias": added.bias,
            "centred": row[name] - added.bias,
            "entries": {
                column: self._entry(column, float(slopes[group].max()), error, added.information)
                for column, slopes in self._bounds.slopes.items()
            },
        }
        if self._owners is not None:
            moved = int(self._most[group]) * float(self._bounds.owner[group]) + 2 * error
            told = success(angle(1.0, added.information * moved**2))
            cell["owner"] = {"told_apart_in_100": float(times_in_hundred(float(told)))}
        return cell

    def _entry(self, column: str, slope: float, error: float, information: float) -> dict[str, float]:
        key = column, slope, error
        if key not in self._known:
            charge = Charge(information * slope**2, information * error**2)
            self._known[key] = _entry_facts(self._private[column], charge)
        return dict(self._known[key])


def _most_rows(owners: OwnerCounts | None, groups: int) -> Array:
    """Give, for each group, the most rows that one owner has in it."""
    most = np.zeros(groups, dtype=np.int64)
    if owners is not None:
        np.maximum.at(most, owners.group, owners.count)
    return most


def _entry_facts(declared: PrivateColumn, charge: Charge) -> dict[str, float]:
    told = success(angle(stored_distance(declared), charge.information, charge.evaluation))
    return {
        "distance": declared.example,
        "told_apart_in_100": float(times_in_hundred(float(told))),
        "floor": float(rounded_down(entry_floor(declared, charge))),
    }
