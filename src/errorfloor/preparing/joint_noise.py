"""Noise on all cells of an output at once, so that sums of them keep the bound of a single cell.

Totals of independent cells are as far off as all their cells together; here they are as near as each cell. The law is
normal, cut off where that is hardly ever noticed, and the exact account counts it with raised cosines.
"""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from errorfloor.checks import Array
from errorfloor.floors.words import rounded_up
from errorfloor.noise import Gaussian
from errorfloor.noise.lattice import MARGIN, Lattice
from errorfloor.preparing.noises import Added
from errorfloor.preparing.record_noise import NAME as TAPERED
from errorfloor.preparing.record_noise import tapered_of
from errorfloor.preparing.rounding import grain
from errorfloor.preparing.totals import Chains, Totals
from errorfloor.random import Bits, StickyBits
from errorfloor.sql.plan import Sum

if TYPE_CHECKING:
    from errorfloor.preparing.preparation import Prepared, PreparedOutput

MOST_CELLS = 500  # cells of a joint noise, which takes the square of them
MOST_STRUCTURED = 100_000  # cells whose totals lie in each other, or that are all of a table
INSIDE = 1 - 1e-9  # of a bound: sums of doubles are rounded
STEPS_DIFFER = 1.01  # the steps of two bounds may take parts of them that differ by less than this
NAME = "JointNormal"


class LawOfSums(Protocol):
    """A law of noise on cells whose sums keep bounds; they are within ±1."""

    def sample(self, count: int, bits: Bits) -> Array:
        """Draw the cells so many times, a row for each."""


@dataclass(frozen=True)
class JointAdded(Added):
    """Joint noise: released − true lies in [low, high] for every cell, and for every sum of cells that is shown.

    ``noise`` is normal with the information that all cells together give about an entry. ``deviation`` is the largest
    standard deviation of a number, ``bound`` that of the noise of every sum. ``form`` draws, on the groups ``cells``;
    it is None for what was released before.

    >>> pair = Totals((np.zeros(2, dtype=np.int64),), ((),), (1,))
    >>> added = joint_noise(pair, np.ones(2, dtype=bool), 10.0, evaluation_error=0.0)
    >>> added.high, added.lattice.step, round(added.deviation, 1)
    (10.0, '0.01', 1.2)
    """

    deviation: float = 0.0
    bound: float = 0.0
    sums: str = ""
    form: LawOfSums | None = field(default=None, compare=False, repr=False)
    cells: Any = field(default=None, compare=False, repr=False)

    @cached_property
    def standard_error(self) -> float:
        """The largest standard deviation of a number."""
        return self.deviation

    @cached_property
    def described(self) -> dict[str, Any]:
        """The noise's law, as plain JSON types."""
        return {"type": NAME, "sums": self.sums, "bound": self.bound, "deviation": self.deviation}

    @property
    def keeps_sums(self) -> bool:
        """All of them."""
        return True

    @property
    def beside(self) -> tuple[float, float]:
        """What is booked beside the normal noise for its bounds: an information, and an evaluation error."""
        return beside(self.information)

    def bound_at(self, share: float, evaluation_error: float) -> float:
        """Give a round bound of which joint noise has at most a share of this information."""
        return float(rounded_up(self.high / math.sqrt(share) * STEPS_DIFFER))

    def information_at(self, bound: float, evaluation_error: float) -> float:
        """Give about the information of joint noise with another bound."""
        return self.information * (self.high / bound) ** 2

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain JSON types, but how it is drawn."""
        return {**super().to_dict(), "information": self.information}

    def draws(self, derived: bytes, tags: Array) -> Array:
        """Draw the noise of all groups from a derived key."""
        assert self.form is not None
        noise = np.zeros(len(tags))
        noise[self.cells] = self.form.sample(1, StickyBits(derived))[0] * self.bound
        return noise


@dataclass(frozen=True)
class Groupings:
    """The sums of so many cells by several groupings: ``keys`` has the number of every cell's sum in each of them.

    ``parts`` are the most cells of a sum; ``table`` has the shape and the margins of a full table, if it is one.
    """

    cells: int
    keys: tuple[bytes, ...]
    parts: int
    table: tuple[tuple[int, ...], tuple[tuple[int, ...], ...]] | None


def beside(information: float) -> tuple[float, float]:
    """Give the information and the evaluation error that bounds are booked with, of joint noise of an information.

    >>> other, error = beside(4.0)
    >>> other, round(4e9 * other * error**2, 6)
    (0.008, 1.0)
    """
    from errorfloor.joint.normal import BESIDE, CONSTANT  # loaded where it is needed: most questions do without

    other = information * BESIDE
    return other, math.sqrt(CONSTANT / (4 * other)) * (1 + 2.0**-40)


def added_of(plain: Mapping[str, Any]) -> Added:
    """Read what ``to_dict`` of any kind gave."""
    noise = plain["noise"]
    if noise["type"] == TAPERED:
        return tapered_of(plain)
    if noise["type"] != NAME:
        return Added.from_dict(plain)
    lattice, own = Lattice(plain["step"]), Gaussian([[1 / plain["information"]]])
    return JointAdded(own, lattice, plain["low"], plain["high"], 0.0, noise["deviation"], noise["bound"], noise["sums"])


def joint_noise(
    sums: Totals | Chains, defined: Array, bound: float, *, evaluation_error: float, together: float = 0.0
) -> JointAdded | None:
    """Give joint noise for cells and totals of them, all within a bound; None where there are too many cells, or one.

    ``defined`` says which groups have a value; ``together`` is by how many deviations somebody moves several of them.
    """
    cells = np.flatnonzero(defined)
    if not 2 <= len(cells) <= (MOST_CELLS if isinstance(sums, Chains) else MOST_STRUCTURED):
        return None
    if isinstance(sums, Chains):
        chains = sums.only(defined)
        digest = hashlib.sha256(repr(chains.lengths).encode() + chains.order.astype("<i8").tobytes()).hexdigest()[:32]
        return _added(chains, chains.order, f"running totals {digest}", bound, evaluation_error, together)
    places = [np.unique(place[cells], return_inverse=True)[1].astype("<i8") for place in sums.places]
    parts = max(int(np.bincount(place).max()) for place in places)
    keys = tuple(sorted({place.tobytes() for place in places}))
    full = None if len(cells) <= MOST_CELLS else _full_table(sums, cells)
    digest = hashlib.sha256(b"".join(keys)).hexdigest()[:32]
    summed = Groupings(len(cells), keys, parts, None if full is None else full[:2])
    cells = cells if full is None else full[2]
    return _added(summed, cells, f"totals {digest}", bound, evaluation_error, together)


def _full_table(sums: Totals, cells: Array) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...], Array] | None:
    """Give the shape of a table whose margins are asked for, their axes, and its cells in order; None if any lacks.

    >>> rows, columns = np.array([0, 0, 1, 1]), np.array([1, 0, 1, 0])
    >>> margins = Totals((rows, columns), (("a",), ("b",)), (2, 2))
    >>> _full_table(margins, np.arange(4))
    ((2, 2), ((0, 1), (0,), (1,)), array([1, 0, 3, 2]))
    >>> _full_table(Totals((columns, rows), (("a",), ("b",)), (2, 2)), np.arange(4))[2]
    array([1, 0, 3, 2])
    >>> _full_table(margins, np.arange(3)) is None
    True
    """
    alone = {kept[0]: place[cells] for kept, place in zip(sums.kept, sums.places, strict=True) if len(kept) == 1}
    if len(alone) < 2 or not set().union(*sums.kept) <= set(alone):
        return None
    names = sorted(alone, key=lambda name: alone[name].tobytes())  # whatever keys are called, it is the same draw
    codes = [np.unique(alone[name], return_inverse=True)[1] for name in names]
    shape = tuple(int(code.max()) + 1 for code in codes)
    flat = np.ravel_multi_index(codes, shape)
    if not len(cells) == np.unique(flat).size == math.prod(shape):
        return None
    sets = {tuple(sorted(names.index(name) for name in kept)) for kept in sums.kept}
    return shape, (tuple(range(len(names))), *sorted(sets)), cells[np.argsort(flat)]


def too_many(sums: Totals | Chains, defined: Array) -> str:
    """Say that there are too many cells, of how many there may be; nothing where there are not.

    >>> rows, columns = np.divmod(np.arange(900), 30)
    >>> margins = Totals((rows, columns), (("a",), ("b",)), (30, 30))
    >>> too_many(margins, np.ones(900, dtype=bool))
    ''
    >>> too_many(margins, np.arange(900) > 0)[:70]
    '899 cells, with gaps, are too many for noise that keeps totals as near'
    """
    cells, gaps, where = np.flatnonzero(defined), "", ""
    if len(cells) <= MOST_CELLS:
        return ""
    if isinstance(sums, Totals):
        if len(cells) <= MOST_STRUCTURED:
            if _full_table(sums, cells) is not None or _are_nested([place[cells] for place in sums.places]):
                return ""
            gaps = ", with gaps,"
        where = (
            f", and up to {MOST_STRUCTURED:,} where all combinations of keys have rows, or groupings lie in each other "
            f"as with ROLLUP"
        )
    return (
        f"{len(cells):,} cells{gaps} are too many for noise that keeps totals as near as cells: up to {MOST_CELLS} can "
        f"have it{where}"
    )


def apart_since(one: "PreparedOutput", prepared: "Prepared") -> str:
    """Say why cells of a sum with totals cannot have joint noise; nothing where they can, or it has no totals."""
    question = prepared.question
    if prepared.table.hides_records or not isinstance(one.output.formula, Sum):
        return ""
    defined = prepared.bounds_of(one).defined[prepared.bounds.kind]
    if question.sets:
        return too_many(prepared.totals, defined)
    return too_many(prepared.plan.chains, defined) if question.sharing(one.output) else ""


def _are_nested(places: list[Array]) -> bool:
    order = sorted(places, key=lambda one: int(one.max()))
    for coarse, fine in pairwise(order):
        above = np.zeros(int(fine.max()) + 1, dtype=np.int64)
        above[fine] = coarse
        if (above[fine] != coarse).any():
            return False
    return True


def horizon_noise(parts: int, bound: float, *, evaluation_error: float, together: float) -> JointAdded | None:
    """Give joint noise for so many numbers to come, one after another, and their running totals."""
    order = np.arange(parts)
    return _added(Chains(order, (parts,)), order, "running totals to come", bound, evaluation_error, together)


def _added(
    summed: Chains | Groupings, cells: Array, sums: str, bound: float, error: float, together: float
) -> JointAdded | None:
    """Give the noise for a bound, of which every cell of a sum takes a little for rounding; None if there is no law."""
    from errorfloor.joint import normal  # loaded where it is needed: most questions do without

    reach, parts = math.ceil(together * 8) / 8, summed.parts
    if isinstance(summed, Chains):
        law = normal.running(summed.lengths, reach)
    elif summed.table is not None:
        law = normal.table(*summed.table, reach)
    elif summed.cells <= MOST_CELLS:
        law = normal.totals(summed.cells, summed.keys, reach)
    elif (nested := normal.nested(summed.cells, summed.keys, reach)) is not None:
        law = nested
    else:
        return None
    lattice = Lattice.for_width(2 * bound / parts)
    inner = (bound - parts * (lattice.size / 2 * (1 + MARGIN) + grain(lattice) + error)) * INSIDE
    if not inner > bound / 2:
        return None
    own = Gaussian([[inner**2 / law.information]])
    deviation = float(law.deviations.max()) * inner
    text = f"{sums} cut {law.cut:g} of {len(cells)}"
    return JointAdded(own, lattice, -bound, bound, 0.0, deviation, inner, text, law.form, cells)
