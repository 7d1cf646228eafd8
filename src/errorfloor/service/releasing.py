"""From a charge to released numbers: draw, look, add, round, lay out the table. Its cost is public."""

import hmac
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from errorfloor.charging import look
from errorfloor.checks import Array
from errorfloor.engines import Engine
from errorfloor.identity import Key, Label, Part, encode
from errorfloor.random import RowBits
from errorfloor.service.noises import Added
from errorfloor.service.preparation import Prepared, PreparedOutput, Released
from errorfloor.service.rounding import released
from errorfloor.sql import evaluate, fixed_width
from errorfloor.sql.double_words import DoubleWord
from errorfloor.sql.question import Question
from errorfloor.vault import is_current

Numbers = list[Any]
FORMULA = "=+-@\t\r"  # how a formula begins


def look_and_release(prepared: Prepared, engine: Engine, key: Key, kept: Released | None = None) -> Released:
    """Draw, read the private columns, and give the released table; to be called once the charge is durable.

    What was released before and ``kept`` is given again instead.

    Raises AnswerFailedError, always the same, if anything fails: what is said of it could depend on private values. It
    fails too if a snapshot was made anew since it was first looked up: the noise belongs to the one that was priced.
    """

    def work() -> Released | None:
        found = kept
        if found is None:
            noises = [_drawn(one, prepared, key) for one in prepared.looked_up]
            found = release(prepared, values_before_noise(prepared, engine), noises)
        return found if all(is_current(one, engine) for one in prepared.plan.snapshots) else None

    return look(work)


def release(prepared: Prepared, values: list[DoubleWord], noises: list[Array | None]) -> Released:
    """Give the released table, and which group each of its rows is."""
    question, groups = prepared.question, prepared.bounds.groups
    outputs = {one.output.name: one for one in prepared.outputs}
    found = iter(zip(values, noises, strict=True))
    numbers = {
        one.output.name: _numbers(one, *next(found), prepared) if one.constant is None else list(one.constant.numbers)
        for one in prepared.outputs
    }
    places = arranged(question, groups, numbers)
    keys = {one.name: index for index, one in enumerate(question.keys)}
    columns: dict[str, list[Any]] = {}
    for name in question.selected:
        if name in outputs:
            columns |= _shown(outputs[name], [numbers[name][place] for place in places])
        else:
            columns[name] = [plain_key(groups[place][keys[name]]) for place in places]
    return pa.table(columns), places


def _drawn(one: PreparedOutput, prepared: Prepared, key: Key) -> Array | None:
    if one.added is None or one.label is None:
        return None
    return draw(key, one.label, prepared.bounds.groups, one.added)


def _numbers(one: PreparedOutput, value: DoubleWord, noise: Array | None, prepared: Prepared) -> Numbers:
    defined = prepared.bounds_of(one).defined
    if one.added is None or noise is None:
        return _where(defined, _plain_numbers(value))
    safe = DoubleWord(np.where(defined, value.high, 0.0), np.where(defined, value.low, 0.0))
    return _where(defined, released(safe, noise, one.added.offset, one.added.lattice).tolist())


def _where(defined: Array, numbers: Numbers) -> Numbers:
    """Put None where public facts make an output NULL."""
    return [number if there else None for number, there in zip(numbers, defined.tolist(), strict=True)]


def _shown(one: PreparedOutput, values: Numbers) -> dict[str, Numbers]:
    name, added = one.output.name, one.added
    if added is None:
        return {name: values}
    low = [None if value is None else value - added.high for value in values]
    high = [None if value is None else value - added.low for value in values]
    return {name: values, f"{name}_low": low, f"{name}_high": high}


def _plain_numbers(value: DoubleWord) -> Numbers:
    """Give public numbers, as integers where they are whole."""
    if np.all((value.low == 0) & (np.rint(value.high) == value.high) & (np.abs(value.high) < 2**53)):
        whole: list[int] = value.high.astype(np.int64).tolist()
        return list(whole)
    return list(map(_plain, value.high.tolist(), value.low.tolist()))


def _plain(high: float, low: float) -> int | float:
    """Give a public number, as an integer where it is whole: nearer to one than its evaluation is off by."""
    if not math.isfinite(high + low):
        return high
    exact = Fraction(high) + Fraction(low)
    whole = round(exact)
    return whole if abs(whole) < 2**63 and abs(exact - whole) <= abs(exact) / 2**80 else float(exact)


def draw(key: Key, label: Label, groups: Sequence[tuple[Part, ...]], added: Added) -> Array:
    """Draw the noise of each group's cell from the key, the label and the group's own key values."""
    tagging = key.derive(Label("answer groups", (label.encoded,)))
    digests = b"".join(hmac.digest(tagging, encode(group), "sha256")[:16] for group in groups)
    tags = np.frombuffer(digests, dtype="<u8").reshape(-1, 2)
    return added.noise.sample(len(groups), rng=RowBits(key.derive(label), tags))


def values_before_noise(prepared: Prepared, engine: Engine) -> list[DoubleWord]:
    """Run the scan and evaluate the formulas: for each output that is looked up, its value for every group.

    To be called once the charge is durable. What a failure says could depend on private values: it must not get out.

    *Guarantee*: after the scan the number of operations, their precision and the memory that they use follow from the
    question and from public facts.
    """
    question, layout = prepared.question, prepared.bounds.layout
    formulas = [one.output.formula for one in prepared.looked_up]
    if not formulas:
        return []
    result = engine.query(prepared.statement)
    row_of = {group: row for row, group in enumerate(prepared.bounds.keys_of(result, question, layout))}
    order = np.array([row_of[group] for group in prepared.bounds.groups], dtype=np.int64)
    sums = {}
    for j, wanted in enumerate(prepared.sums):
        total = fixed_width.read(result.column(f"s{j}"))
        sums[wanted] = DoubleWord(total.high[order], total.low[order])
    shape = (len(order),)
    values = evaluate(formulas, sums, layout)
    return [DoubleWord(np.broadcast_to(one.high, shape), np.broadcast_to(one.low, shape)) for one in values]


def arranged(
    question: Question, groups: Sequence[tuple[Part, ...]], released: Mapping[str, Sequence[Any]]
) -> tuple[int, ...]:
    """Give the groups that are shown, in the order in which they are shown.

    Without ORDER BY they come in the order of the keys shown. A null counts as smaller than everything else.
    """
    columns: dict[str, Sequence[Any]] = {
        key.name: [group[place] for group in groups] for place, key in enumerate(question.keys)
    }
    shown = [name for name in question.selected if name in columns and name not in released]
    columns |= released
    places = np.arange(len(groups))
    for name in reversed(shown):
        places = places[_order(columns[name], places, descending=False)]
    for wanted in reversed(question.order):
        places = places[_order(columns[wanted.name], places, descending=wanted.descending)]
    return tuple(places[: question.limit].tolist())


def _order(values: Sequence[Any], places: Array, *, descending: bool) -> Array:
    """Give the stable order of the values in some places; of a large table without holding other threads up."""
    try:
        column = pa.array(values).take(pa.array(places))
    except (pa.ArrowException, OverflowError):  # numbers that Arrow does not hold
        ranks = [(False, 0) if values[place] is None else (True, values[place]) for place in places.tolist()]
        return np.array(sorted(range(len(ranks)), key=ranks.__getitem__, reverse=descending), dtype=int)
    order, nulls = ("descending", "at_end") if descending else ("ascending", "at_start")
    return np.asarray(pc.array_sort_indices(column, order=order, null_placement=nulls))


def plain_key(value: Part) -> Any:
    """Give a key as a type that Arrow has: numbers that are not whole become doubles."""
    return float(value) if isinstance(value, (Decimal, Fraction)) else value


def without_formulas(table: pa.Table) -> pa.Table:
    """Put a quote before texts that a spreadsheet would take for a formula, and could be made to run.

    >>> without_formulas(pa.table({"area": ["=HYPERLINK(1)", "north", None]})).column(0).to_pylist()
    ["'=HYPERLINK(1)", 'north', None]
    """
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            values = [f"'{one}" if one and one[0] in FORMULA else one for one in table.column(place).to_pylist()]
            table = table.set_column(place, field, pa.array(values, field.type))
    return table
