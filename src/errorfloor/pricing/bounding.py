"""Bounds of every output of a question, from declarations and public facts; and the charges that follow from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from errorfloor.accounts import Account, Charge, cell_text
from errorfloor.catalogue.model import Catalogue
from errorfloor.checks import Array
from errorfloor.engines import Engine
from errorfloor.engines.allotment import allotment
from errorfloor.errors import InputError
from errorfloor.identity import Part
from errorfloor.pricing.facts import Facts, aggregates, polynomials, requested
from errorfloor.pricing.fetch import FactsCache, fetch
from errorfloor.pricing.formulas import final_error, formula_bound
from errorfloor.pricing.interval import Enclosure, quiet, up
from errorfloor.pricing.keys import GroupKeys, kinds_of
from errorfloor.pricing.owners import OwnerCounts, owner_counts
from errorfloor.pricing.refusals import no_number
from errorfloor.pricing.rows import MOST_NUMBERS, Ranges
from errorfloor.pricing.scene import Scene, Storage, crowded
from errorfloor.sql.evaluate import needed
from errorfloor.sql.layout import Layout, stored_layout
from errorfloor.sql.plan import Call, DatePart, RoundedDown, TableColumn
from errorfloor.sql.question import Question, QuestionOutput
from errorfloor.vault import Snapshot

SLACK = 1 + 2.0**-48  # more than the roundings of a product of a few factors


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
        return _largest(self.values, self.group, groups)

    @property
    def dense(self) -> Array:
        """All of them as an array of groups × cells, 0 where a cell has no row of the group."""
        array = np.zeros(self.shape)
        array[self.group, self.cell] = self.values
        return array


@dataclass(frozen=True, eq=False)
class OutputBounds:
    """What holds for one output, whatever the private values are within their declared ranges.

    By kind of group: ``low`` and ``high`` enclose its value; ``error`` bounds |computed − exact|, never 0; ``owner`` is
    how far one row can move it when all its private entries change; ``defined`` is False where the answer is NULL by
    public facts. ``slopes`` holds sup|∂f/∂x| of one entry for each private column that occurs.

    >>> example().outputs[0].high
    array([50.])
    """

    slopes: Mapping[str, RowSlopes]
    owner: Array
    error: Array
    low: Array
    high: Array
    defined: Array


@dataclass(frozen=True, eq=False)
class Bounds:
    """Bounds of all outputs of a question; groups and cells in canonical order.

    Groups that public facts do not tell apart have equal bounds: they are of one kind, and there is one bound for each
    kind. Group j is of the kind ``kind[j]``; part i of the rows, those of one kind in one cell of accounts, is kind
    ``group[i]`` and cell ``cell[i]``. Groups of kind k have ``rows[k]`` rows each.

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

    @cached_property
    def pairs(self) -> tuple[Array, Array, Array]:
        """What tells pairs of an owner and a group apart, a kind and a count, and which of these each pair has."""
        assert self.owners is not None
        kind, count = self.kind[self.owners.group], self.owners.count
        alike, first = kinds_of([kind, count]) or (np.arange(len(kind)),) * 2
        return kind[first], count[first], alike


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
    by = [_column(table.public[name].type, name, table.public[name].step) for name in table.account_by]
    stored = _with_columns(stored, by, snapshots[0])
    facts = fetch(question, by, requested(question), snapshots, engine, stored, cache)
    ranges = {name: (column.low, column.high) for name, column in table.private.items()}
    owners = None
    if table.owner is not None:
        public = table.public[table.owner.column]
        owner = _column(public.type, table.owner.column, public.step)
        layout = _with_columns(stored, [owner], snapshots[0])
        owners = owner_counts(question, owner, len(facts.groups), snapshots, engine, layout, cache)
    kinds, kind = facts.kinds
    return replace(bounds_from_facts(question, kinds, ranges, stored, owners), groups=facts.groups, kind=kind)


def bounds_from_facts(
    question: Question, facts: Facts, ranges: Ranges, stored: Layout, owners: OwnerCounts | None = None
) -> Bounds:
    """Bound a question whose public facts are known; ``stored`` bounds the integers of columns."""
    rows = np.bincount(facts.group, weights=facts.rows, minlength=1)
    scene = _scene(question, facts, ranges, {})
    sums = [monomial for output in question.outputs for monomial, _ in needed(output.formula)]
    fewer = crowded(sums, scene.storage.layout(stored, int(rows.max())))
    if fewer:
        scene = _scene(question, facts, ranges, fewer)
    scene.layout = scene.storage.layout(stored, int(rows.max()))
    return Bounds(
        table=question.table,
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


def _scene(question: Question, facts: Facts, ranges: Ranges, fewer: Mapping[Call, int]) -> Scene:
    """Look at the rows of every aggregate, and decide how functions are stored."""
    walks = {
        (polynomial, aggregate.where): None
        for output in question.outputs
        for aggregate in aggregates(output.formula)
        for polynomial in polynomials(aggregate)
    }
    scene = Scene(facts, ranges, Storage(fewer), most=MOST_NUMBERS // max(1, len(walks)))
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
    owner = np.zeros(scene.groups)
    moved = np.minimum(bound.move, _moved_by_row(slopes, scene))
    np.maximum.at(owner, group, np.where(live, moved, 0.0))
    error = np.where(bound.defined, final_error(bound), 0.0)
    low, high = (np.where(bound.defined, end, 0.0) for end in (bound.value.low, bound.value.high))
    if not all(np.isfinite(array).all() for array in (owner, error**2, owner**2, low, high)):
        raise no_number(output.formula)
    return OutputBounds(slopes, owner, error, low, high, bound.defined)


def _moved_by_row(slopes: Mapping[str, RowSlopes], scene: Scene) -> Array:
    """Bound, for each part, how far one row moves the output when all its private entries change: Σ slope·width."""
    moved = np.zeros(len(scene.facts.rows))
    for name, slope in slopes.items():
        low, high = scene.ranges[name]
        moved = up(moved + up(slope.values * Enclosure.exact(high - low).high))
    return moved


def _column(type: str, name: str, step: Fraction | None) -> TableColumn:
    return TableColumn(0, name, "number" if step is not None else type, step=step)  # type: ignore[arg-type]


def _with_columns(stored: Layout, columns: Sequence[TableColumn], snapshot: Snapshot) -> Layout:
    found: dict[TableColumn | DatePart | RoundedDown | Call, int] = {
        column: max(map(abs, snapshot.extent.get(column.name, (0, 0)))) for column in columns if column.step is not None
    }
    return Layout({**stored.largest, **found}, stored.bits, stored.rows)


def example() -> Bounds:
    """Bounds of an average of two readings between 0 and 50, for documentation."""
    group = np.zeros(1, dtype=np.int64)
    half = RowSlopes(np.array([0.5]), group, group, (1, 1))
    ends = np.array([0.0]), np.array([50.0])
    output = OutputBounds({"kwh": half}, np.array([25.0]), np.array([1e-14]), *ends, np.array([True]))
    return Bounds("meters", GroupKeys((), 1), [()], group, group, group, group + 2, Layout({}, {}, rows=2), (output,))


@dataclass(frozen=True, eq=False)
class Noised:
    """Noise of some information on one output, by its number; ``apart`` if it is booked as raised-cosine noise.

    ``rounding`` is what the value is rounded by before noise is added. That and the information may be one number for
    all groups, or an array with one for each kind of group; information 0 is a group whose value is not looked up.

    >>> Noised(0, 4.0).rounding
    0.0
    """

    output: int
    information: float | Array
    rounding: float | Array = 0.0
    apart: bool = False


@quiet
def charges(bounds: Bounds, noised: Sequence[Noised]) -> dict[Account, Charge]:
    """Give what some outputs of a question cost each account together, with noise on them.

    η is the evaluation error and the rounding. For an entry, A = max over parts of Σ over outputs of I·L² and
    E = max over parts of Σ I·η², over the parts in the account's cell: a row is in one group. For owners, A = max over
    owners of Σ over groups and outputs of I·(n·M + 2η)², n the owner's rows in the group and M the largest Σ
    |∂f/∂x|·width over the private columns of a row; E = 0, since A holds the error. Information of either kind is
    summed apart.

    *Guarantee*: each number is rounded up; ``formulas.proof.md``.

    Raises ``InputError`` for an information that is not a number above 0 anywhere, or below it somewhere.

    >>> from errorfloor.pricing.bounding import example
    >>> charges(example(), [Noised(0, 4.0)])[Account("meters", "kwh", "")].information > 4.0 * 0.5**2
    True
    """
    live = [_live(bounds, one) for one in noised]
    slack = SLACK * (1 + (len(noised) - 1) * 2.0**-52)
    result: dict[Account, Charge] = {}
    for column in sorted({column for bound, _ in live for column in bound.slopes}):
        spent = np.zeros((3, len(bounds.group)))
        reached = np.zeros(len(bounds.group), dtype=bool)
        for one, (bound, information) in zip(noised, live, strict=True):
            if column in bound.slopes:
                each = np.where(bound.defined, information, 0.0)[bounds.group]
                spent[2 if one.apart else 0] += each * bound.slopes[column].values ** 2 * slack
                spent[1] += each * bound.error[bounds.group] ** 2 * slack
                reached |= bound.defined[bounds.group]
        worst = [_largest(values, bounds.cell, len(bounds.cells)) for values in spent]
        for place in np.unique(bounds.cell[reached]).tolist():
            account = Account(bounds.table, column, cell_text(bounds.cells[place]))
            result[account] = Charge(*(float(values[place]) for values in worst))
    if bounds.owners is not None:
        kinds = [
            [pair for one, pair in zip(noised, live, strict=True) if one.apart is apart and pair[0].slopes]
            for apart in (False, True)
        ]
        other, apart = (_owner_charge(bounds, kind) if kind else 0.0 for kind in kinds)
        if other > 0 or apart > 0:
            result[Account(bounds.table, "", "")] = Charge(other, 0.0, apart)
    return result


def _live(bounds: Bounds, one: Noised) -> tuple[OutputBounds, Array]:
    """Give the bounds of an output with its rounding, defined where it is looked up, and the information there."""
    bound = bounds.outputs[one.output]
    each = np.broadcast_to(np.asarray(one.information, dtype=float), bound.error.shape)
    if not ((each >= 0) & (each < np.inf)).all() or not each.any():
        raise InputError(f"information must be a positive number, got {one.information}")
    return replace(bound, error=up(bound.error + one.rounding), defined=bound.defined & (each > 0)), each


def _largest(values: Array, place: Array, count: int) -> Array:
    """Give the largest value at each place, 0 where there is none."""
    worst = np.zeros(count)
    np.maximum.at(worst, place, values)
    return worst


def _moved_by_owner(count: Array, moved: Array, error: Array) -> Array:
    """Bound how far an owner moves the computed output of a group: the rows' moves add up before they are squared."""
    total: Array = count * moved + 2 * error
    return total


def _owner_charge(bounds: Bounds, outputs: Sequence[tuple[OutputBounds, Array]]) -> float:
    counts = bounds.owners
    assert counts is not None
    kind, count, alike = bounds.pairs
    most = max(float(information.max()) for _, information in outputs)
    squares = np.zeros(len(kind))
    for bound, information in outputs:
        moved = _moved_by_owner(count, bound.owner[kind], bound.error[kind])
        squares += np.where(bound.defined[kind], information[kind] / most * moved**2, 0.0)
    each = np.bincount(counts.owner, weights=squares[alike], minlength=counts.owners)
    roundings = 1 + (len(bounds.groups) + len(outputs) + 15) * 2.0**-52  # of a sum over groups, and of its terms
    return float(each.max(initial=0.0) * most * SLACK * roundings)
