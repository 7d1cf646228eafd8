"""What is stated of each cell of an answer: its certain interval, and what nobody learns from that cell alone.

Cells of one kind are moved alike, so that what is stated is worked out once for each kind; and where there are very
many kinds, once for all whose slopes are about the same.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from errorfloor.accounts import Charge
from errorfloor.arithmetic.double_words import two_product
from errorfloor.catalogue import PrivateColumn, stored_distance
from errorfloor.charging.standing import entry_floor
from errorfloor.checks import Array
from errorfloor.floors.adversary import best_success, counted_apart
from errorfloor.floors.two_point import success, told_apart
from errorfloor.floors.words import rounded_down, times_in_hundred
from errorfloor.preparing.preparation import Prepared, PreparedOutput
from errorfloor.preparing.rounding import centred
from errorfloor.pricing.interval import quiet
from errorfloor.pricing.keys import kinds_of
from errorfloor.pricing.owners import OwnerCounts
from errorfloor.pricing.records import signs
from errorfloor.sql.question import Located

MOST_STATED = 1000  # kinds of cells that each have facts of their own
EVERYWHERE = (-math.inf, math.inf)
AN_OCTAVE = 32  # steps of slopes where there are more: the next is 2.2 % larger


@dataclass(frozen=True)
class EntryFacts:
    """What is learnt of an entry of one private column: ``stated[index[k]]`` for cells of kind k."""

    stated: Sequence[Mapping[str, float]]
    index: Array


class CellFacts:
    """States the facts of the cells of one output, as columns or one by one."""

    def __init__(self, prepared: Prepared, one: PreparedOutput) -> None:
        self.one, self.kind = one, prepared.bounds.kind
        self._private, self._owners = prepared.table.private, prepared.bounds.owners
        self._bounds = prepared.bounds.outputs[prepared.outputs.index(one)]
        cut = (
            prepared.table.hides_records
            and not prepared.question.sets
            and signs(one.output.formula, prepared.plan.domains) != EVERYWHERE
        )
        self._stated = None if prepared.table.owner is None else prepared.table.owner.stated
        self.is_cut = cut  # at 0, so that what is added has no mean of its own
        self._apart = prepared.table.exact and one.added is not None and counted_apart(one.added.widest.noise)

    @cached_property
    def entries(self) -> dict[str, EntryFacts]:
        """What is learnt of an entry of each private column that moves the output."""
        added = self.one.added
        assert added is not None
        errors = self._bounds.error + added.grain / 2
        root, information = np.ones(len(errors)), added.widest.information
        if added.varies:  # as if every cell had noise of information 1
            root, information = np.sqrt(added.information) * (1 + 2.0**-50), 1.0
        return {
            column: self._entries(column, slopes.by_group(len(errors)) * root, errors * root, information)
            for column, slopes in self._bounds.slopes.items()
        }

    @cached_property
    def owner(self) -> Array | None:
        """How many times in 100 two histories of an owner are told apart by the cell of each group."""
        if self._owners is None:
            return None
        added = self.one.added
        assert added is not None
        error = (self._bounds.error + added.grain / 2)[self.kind]
        rows = most_rows(self._owners, len(self.kind)) * self._bounds.owner[self.kind]
        told = added.information[self.kind] * (rows + 2 * error) ** 2
        information, off = added.widest.beside or (0.0, 0.0)
        other = information * (rows + 2 * (error + off)) ** 2
        found = np.asarray(best_success(told, other) if self._apart else success(np.sqrt(told + other) / 2))
        return in_hundred(found if self._stated is None else np.vectorize(self._stated.told)(found, 1.0))

    @cached_property
    def bounds(self) -> Array:
        """How far off the cell of each kind of group is at most."""
        added = self.one.added
        assert added is not None
        return np.maximum(-added.of_kind("low"), added.of_kind("high"))

    def of(self, row: Mapping[str, Any], group: int) -> dict[str, Any]:
        """Give the facts of the cell in a released row, which is that of a group."""
        added, name, unit = self.one.added, self.one.output.name, self.one.output.unit
        if added is None or row[name] is None:
            return {"answer": row[name], "exact": added is None, "unit": unit}
        cell = {"answer": row[name], "exact": False, "unit": unit}
        cell["certain_interval"] = [row[f"{name}_low"], row[f"{name}_high"]]
        if group < 0:  # a total tells no more than its parts
            return cell
        kind = self.kind[group]
        own = added.each[added.level[kind]]
        cell |= {
            "max_error": None if math.isinf(bound := float(self.bounds[kind])) else bound,
            "standard_error": own.standard_error,
            "bias": None if self.is_cut else own.bias,
            "centred": None if self.is_cut else float(centred(np.array([row[name]]), own.bias, own.lattice)[0]),
            "entries": {column: dict(facts.stated[facts.index[kind]]) for column, facts in self.entries.items()},
        }
        if self.owner is not None:
            cell["owner"] = {"told_apart_in_100": float(self.owner[group])}
        return cell

    def _entries(self, column: str, slopes: Array, errors: Array, information: float) -> EntryFacts:
        kinds = None
        if len(slopes) > MOST_STATED:
            kinds = kinds_of([slopes.view(np.int64), errors.view(np.int64)])
            if kinds is None or len(kinds[1]) > MOST_STATED:
                slopes, errors = coarser(slopes), np.full_like(errors, errors.max())
                kinds = kinds_of([slopes.view(np.int64)])
        index, first = (np.arange(len(slopes)),) * 2 if kinds is None else kinds
        stated = [
            _entry_facts(self._private[column], self._booked(slope, error, information))
            for slope, error in zip(slopes[first].tolist(), errors[first].tolist(), strict=True)
        ]
        return EntryFacts(stated, index)

    def _booked(self, slope: float, error: float, information: float) -> Charge:
        charge = Charge(information * slope**2, information * error**2)
        charge = charge.as_raised_cosine() if self._apart else charge
        beside = None if self.one.added is None else self.one.added.widest.beside
        return charge if beside is None else charge + Charge(beside[0] * slope**2, beside[0] * (error + beside[1]) ** 2)


@dataclass(frozen=True)
class QuantileFacts:
    """States the facts of the cells of a quantile; what is learnt of an entry is stated of the whole answer."""

    quantile: Located

    def of(self, row: Mapping[str, Any], group: int) -> dict[str, Any]:
        """Give the facts of the cell in a released row."""
        name = self.quantile.name
        cell = {"answer": row[name], "exact": False, "unit": self.quantile.unit}
        return cell if row[name] is None else cell | {"certain_interval": [row[f"{name}_low"], row[f"{name}_high"]]}


@quiet
def coarser(slopes: Array) -> Array:
    """Round numbers up to 32 steps an octave; zeros stay.

    >>> coarser(np.array([0.0, 1.001, 1.002])).round(4).tolist()
    [0.0, 1.0219, 1.0219]
    """
    steps = np.exp2(np.ceil(np.log2(slopes) * AN_OCTAVE) / AN_OCTAVE) * (1 + 2.0**-40)
    return np.where(slopes > 0, steps, 0.0)


def in_hundred(probability: Array) -> Array:
    """Give probabilities as times in 100, to a tenth, never below them.

    >>> in_hundred(np.array([0.50801, 1.0, 0.5])).tolist()
    [50.9, 100.0, 50.0]
    """
    product, rest = two_product(probability, np.asarray(1000.0))
    tenths: Array = np.ceil(product) + ((product == np.ceil(product)) & (rest > 0))
    return tenths / 10


def most_rows(owners: OwnerCounts, groups: int) -> Array:
    """Give, for each group, the most rows that one owner has in it."""
    most = np.zeros(groups, dtype=np.int64)
    np.maximum.at(most, owners.group, owners.count)
    return most


def _entry_facts(declared: PrivateColumn, charge: Charge) -> dict[str, float]:
    told = told_apart(stored_distance(declared), **charge.amounts())
    return {
        "distance": declared.example,
        "told_apart_in_100": float(times_in_hundred(float(told))),
        "floor": float(rounded_down(entry_floor(declared, charge))),
    }
