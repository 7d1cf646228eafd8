"""Bounds of every output of a question, from declarations and public facts; and the charges that follow from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from errorfloor.accounts import Account, cell_text
from errorfloor.catalogue.model import Catalogue
from errorfloor.catalogue.promise import owner_distance
from errorfloor.checks import Array
from errorfloor.engines import Engine
from errorfloor.engines.allotment import allotment
from errorfloor.identity import Part
from errorfloor.pricing.facts import Facts, FactsCache, fetch
from errorfloor.pricing.formulas import final_error, formula_bound
from errorfloor.pricing.interval import largest_at, quiet, up
from errorfloor.pricing.keys import GroupKeys, kinds_of
from errorfloor.pricing.owners import OwnerCounts, owners_in, public_column
from errorfloor.pricing.rows import MOST_NUMBERS, Ranges
from errorfloor.pricing.scene import FormulaBound, Scene, Storage, crowded, polynomials, requested
from errorfloor.pricing.words import no_number
from errorfloor.sql.plan import Call
from errorfloor.sql.question import Question, QuestionOutput, aggregates
from errorfloor.sql.sums import Layout, needed, stored_layout, with_columns
from errorfloor.vault import Snapshot

LEAST, MOST = 2.0**-450, 2.0**450  # of scales: their squares are normal numbers, and so are products with information


@dataclass(frozen=True, eq=False)
class RowSlopes:
    """sup|∂f/∂x| of one entry, for each part.

    ``slopes[group]`` are those of the parts of one group, 0 if it has none.

    >>> example().outputs[0].slopes["kwh"][0]
    array([0.5])
    """

    values: Array
    group: Array
    cell: Array
    shape: tuple[int, int]

    def __getitem__(self, group: int) -> Array:
        first, last = np.searchsorted(self.group, [group, group + 1])
        return self.values[first:last] if last > first else np.zeros(1)

    def by_group(self, groups: int) -> Array:
        """Give the largest of each group's parts, 0 if it has none."""
        return largest_at(self.group, self.values, groups)

    @property
    def dense(self) -> Array:
        """All of them as an array of groups × cells, 0 where a cell has no row of the group."""
        array = np.zeros(self.shape)
        array[self.group, self.cell] = self.values
        return array


@dataclass(frozen=True, eq=False)
class RowCurve:
    """An output that moves by at most ``scale`` · |Δg| when a row changes, g a function of one entry of the row.

    On each piece of the range of ``column``, g is between ``low`` and ``high`` and at most as steep as ``slope``, which
    is about 1 where it is largest, so that squares do not underflow. There is a ``scale`` for each part. In two
    histories of an owner the entry differs by at most ``reach`` of its range, and where rows ``move`` they may be in
    different groups.
    """

    column: str
    low: Array
    high: Array
    slope: Array
    scale: Array
    reach: float = 1.0
    move: bool = False


@dataclass(frozen=True, eq=False)
class OutputBounds:
    """What holds for one output, whatever the private values are within their declared ranges.

    By kind of group: ``low`` and ``high`` enclose its value; ``error`` bounds |computed − exact|, never 0; ``owner`` is
    how far one row can move it when all its private entries change; ``defined`` is False where the answer is NULL by
    public facts. ``slopes`` holds sup|∂f/∂x| of one entry for each private column that occurs; ``curve``, where it is
    known, how the output follows the entry through its range.

    >>> example().outputs[0].high
    array([50.])
    """

    slopes: Mapping[str, RowSlopes]
    owner: Array
    error: Array
    low: Array
    high: Array
    defined: Array
    curve: RowCurve | None = None

    @property
    def farthest(self) -> float:
        """The number farthest from 0 that it can be in any group."""
        low, high = self.low[self.defined].min(initial=0.0), self.high[self.defined].max(initial=0.0)
        return float(high if high >= -low else low)

    @property
    def is_moved(self) -> bool:
        """Whether anything private is in it."""
        return bool(self.slopes) or bool(self.owner.any())

    def of_kinds(self, before: Array) -> "OutputBounds":
        """Give the bounds of more kinds of groups, each in one cell of accounts, from those they had ``before``."""
        place, curve = np.arange(len(before)), self.curve
        slopes = {
            name: RowSlopes(one.values[before], place, one.cell[before], (len(before), one.shape[1]))
            for name, one in self.slopes.items()
        }
        owner, error, low, high, defined = (
            each[before] for each in (self.owner, self.error, self.low, self.high, self.defined)
        )
        curve = None if curve is None else replace(curve, scale=np.broadcast_to(curve.scale, self.error.shape)[before])
        return OutputBounds(slopes, owner, error, low, high, defined, curve)


@dataclass(frozen=True, eq=False)
class Bounds:
    """Bounds of all outputs of a question; groups and cells in canonical order.

    Groups that public facts do not tell apart have equal bounds: they are of one kind, and there is one bound for each
    kind. Group j is of the kind ``kind[j]``; part i of the rows, those of one kind in one cell of accounts, is kind
    ``group[i]`` and cell ``cell[i]``. Groups of kind k have ``rows[k]`` rows each; ``left_out`` groups were too small.
    All of it is about one ``version`` of the table's values; ``owners_of`` is what the accounts of owners are kept for.

    >>> example().outputs[0].error > 0
    array([ True])
    """

    table: str
    groups: GroupKeys
    cells: Sequence[tuple[Part, ...]]
    group: Array
    cell: Array
    kind: Array
    rows: Array
    layout: Layout
    outputs: tuple[OutputBounds, ...]
    owners: OwnerCounts | None = field(default=None)
    left_out: int = 0
    version: str = ""
    owners_of: str = ""

    def of_kinds(self, before: Array, kind: Array) -> "Bounds":
        """Give the same with more kinds: each group is of another ``kind``, which has the bounds of the one ``before``.

        Groups that are in several cells of accounts are of kinds of their own already.
        """
        if len(self.group) != len(self.rows):
            assert (self.kind == before[kind]).all() and len(before) == len(self.rows)
            return self
        return replace(
            self,
            group=np.arange(len(before)),
            cell=self.cell[before],
            kind=kind,
            rows=self.rows[before],
            outputs=tuple(one.of_kinds(before) for one in self.outputs),
        )

    @cached_property
    def pairs(self) -> tuple[Array, Array, Array]:
        """What tells pairs of an owner and a group apart, a kind and a count, and which of these each pair has."""
        assert self.owners is not None
        kind, count = self.kind[self.owners.group], self.owners.count
        alike, first = kinds_of([kind, count]) or (np.arange(len(kind)),) * 2
        return kind[first], count[first], alike

    @property
    def owner_accounts(self) -> list[Account]:
        """The accounts of owners whose rows are in some group: one, or one for each period."""
        cells = () if self.owners is None else self.owners.cells
        return [self.owner_account(cell) for cell in cells]

    def owner_account(self, cell: tuple[Part, ...]) -> Account:
        """Give the account of owners in one cell: the table's, or that of the register that they are in."""
        return Account(self.owners_of or self.table, "", cell_text(cell))


def bounds(
    question: Question,
    catalogue: Catalogue,
    snapshots: Sequence[Snapshot],
    engine: Engine,
    cache: FactsCache | None = None,
) -> Bounds:
    r"""Bound derivatives, values and evaluation errors of a question; reads public columns only.

    *Guarantee*: for all private values within the declared ranges, |∂f/∂x| ≤ slope for every entry of a part, and the
    value that the compiled plan computes differs from f by at most ``error``; ``formulas.proof.md``. Equal questions on
    equal snapshots have bit-identical bounds, whatever the engine and the order of its rows.

    Parameters: ``snapshots`` are the table's and then the joined tables', in order; ``cache`` keeps public facts.

    Raises ``RefusedError`` (``unbounded``) where a derivative has no bound, naming the expression and what to ask.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from errorfloor.engines import open_engine
    >>> from errorfloor.sql import parse
    >>> from errorfloor.vault import register, snapshot
    >>> kwh = {"range": [0, 50], "resolution": 0.001, "floor": 2}
    >>> table = {"source": "meters.csv", "version": "1", "row_key": ["id"], "public": {"id": "whole"}}
    >>> table["private"] = {"kwh": kwh}
    >>> with tempfile.TemporaryDirectory() as name:
    ...     _ = Path(name, "meters.csv").write_text("id,kwh\n1,7.5\n2,12\n")
    ...     catalogue = Catalogue.model_validate({"tables": {"meters": table}, "folder": Path(name)})
    ...     with open_engine(catalogue.place, catalogue.folder, read_only=False) as engine:
    ...         _ = register(catalogue, "meters", engine=engine)
    ...         question = parse("SELECT avg(kwh) AS mean FROM meters", catalogue)
    ...         found = bounds(question, catalogue, [snapshot(catalogue, "meters", engine)], engine)
    >>> found.outputs[0].slopes["kwh"].dense.round(6)
    array([[0.5]])
    """
    table = catalogue.tables[question.table]
    stored = stored_layout(question, snapshots)
    by = [public_column(table, name) for name in table.account_by]
    stored = with_columns(stored, by, snapshots)
    facts = fetch(question, by, requested(question), snapshots, engine, stored, cache)
    kept = facts.kept(question.least)
    ranges = {name: (column.low, column.high) for name, column in table.private.items()}
    owners = None
    if table.owner is not None:
        owners = owners_in(table, table.owner, question, len(facts.groups), snapshots, engine, stored, cache).only(kept)
    facts = facts.only(kept)
    kinds, kind = facts.kinds
    apart = {} if table.owner is None else {name: owner_distance(table, name) for name in table.owner.apart}
    found = bounds_from_facts(question, kinds, ranges, stored, owners, apart)
    whose = "" if table.owner is None else table.owner.accounts_of(question.table)
    left_out, state = int((~kept).sum()), snapshots[0].state
    return replace(found, groups=facts.groups, kind=kind, left_out=left_out, owners_of=whose, version=state)


def bounds_from_facts(
    question: Question,
    facts: Facts,
    ranges: Ranges,
    stored: Layout,
    owners: OwnerCounts | None = None,
    apart: Mapping[str, float] | None = None,
) -> Bounds:
    """Bound a question whose public facts are known; ``stored`` bounds the integers of columns.

    ``apart`` is by how much numbers of private columns differ at most in two histories of an owner.
    """
    rows = np.bincount(facts.group, weights=facts.rows, minlength=1)
    scene = _scene(question, facts, ranges, {}, apart or {})
    sums = [monomial for output in question.outputs for monomial, _ in needed(output.formula)]
    fewer = crowded(sums, scene.storage.layout(stored, int(rows.max())))
    if fewer:
        scene = _scene(question, facts, ranges, fewer, apart or {})
    scene.layout = scene.storage.layout(stored, int(rows.max()))
    return Bounds(
        table=question.table,
        version=question.version,
        groups=facts.groups,
        cells=facts.cells,
        group=facts.group,
        cell=facts.cell,
        kind=np.arange(len(facts.groups)),
        rows=facts.by_group(facts.rows) if len(facts.rows) else np.zeros(len(facts.groups), dtype=np.int64),
        layout=scene.layout,
        outputs=tuple(_output(output, scene) for output in question.outputs),
        owners=owners,
    )


def _scene(
    question: Question, facts: Facts, ranges: Ranges, fewer: Mapping[Call, int], apart: Mapping[str, float]
) -> Scene:
    """Look at the rows of every aggregate, and decide how functions are stored."""
    walks = {
        (polynomial, aggregate.where): None
        for output in question.outputs
        for aggregate in aggregates(output.formula)
        for polynomial in polynomials(aggregate)
    }
    scene = Scene(facts, ranges, Storage(fewer), most=MOST_NUMBERS // max(1, len(walks)), apart=apart)
    scene.storage.fill([scene.rows(polynomial, where) for polynomial, where in walks])
    return scene


@quiet
def _output(output: QuestionOutput, scene: Scene) -> OutputBounds:
    allotment().check()
    bound = formula_bound(output.formula, scene)
    group, shape = scene.facts.group, (scene.groups, len(scene.facts.cells))
    live = bound.defined[group]
    slopes = {
        name: RowSlopes(np.where(live, slope.magnitude, 0.0), group, scene.facts.cell, shape)
        for name, slope in bound.slopes.items()
    }
    moved = np.minimum(bound.move, _moved_by_row(slopes, scene))
    owner = largest_at(group, np.where(live, moved, 0.0), scene.groups)
    error = np.where(bound.defined, final_error(bound), 0.0)
    low, high = (np.where(bound.defined, end, 0.0) for end in (bound.value.low, bound.value.high))
    if not all(np.isfinite(array).all() for array in (owner, error**2, owner**2, low, high)):
        raise no_number(output.formula)
    return OutputBounds(slopes, owner, error, low, high, bound.defined, _curve(bound, scene))


def _curve(bound: FormulaBound, scene: Scene) -> RowCurve | None:
    found = None if bound.rise is None else bound.rise[0].curve()
    if found is None or bound.rise is None:
        return None
    column, value, slope = found
    exponent = int(np.frexp(slope.max())[1])  # of two, by which g is divided without rounding: its slopes are about 1
    scale, small = (np.ldexp(one, by) for one, by in ((bound.rise[1], exponent), (slope, -exponent)))
    usual = (bound.rise[1] == 0) | ((scale > LEAST) & (scale < MOST))
    if not (np.isfinite(small).all() and usual.all()):
        return None
    low, high = scene.ranges[column]
    reach = scene.reach(column) / float(high - low) * (1 + 2.0**-40)
    ends = np.ldexp(value.low, -exponent), np.ldexp(value.high, -exponent)
    return RowCurve(column, *ends, small, scale, reach)


def _moved_by_row(slopes: Mapping[str, RowSlopes], scene: Scene) -> Array:
    """Bound, for each part, how far one row moves the output when all its private entries change: Σ slope·reach."""
    moved = np.zeros(len(scene.facts.rows))
    for name, slope in slopes.items():
        moved = up(moved + up(slope.values * scene.reach(name)))
    return moved


def example() -> Bounds:
    """Bounds of an average of two readings between 0 and 50, for documentation."""
    group = np.zeros(1, dtype=np.int64)
    half = RowSlopes(np.array([0.5]), group, group, (1, 1))
    ends = np.array([0.0]), np.array([50.0])
    output = OutputBounds({"kwh": half}, np.array([25.0]), np.array([1e-14]), *ends, np.array([True]))
    return Bounds("meters", GroupKeys((), 1), [()], group, group, group, group + 2, Layout({}, {}, rows=2), (output,))
