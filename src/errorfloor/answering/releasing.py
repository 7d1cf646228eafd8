"""From a charge to released numbers: draw, look, add, round, lay out the table. Its cost is public."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from errorfloor.answering.packing import Packing
from errorfloor.arithmetic import arrow
from errorfloor.arithmetic.double_words import DoubleWord
from errorfloor.charging import look
from errorfloor.checks import Array
from errorfloor.engines import Engine
from errorfloor.errors import EngineError
from errorfloor.identity import Key, Label
from errorfloor.preparing.preparation import TAGS, Prepared, PreparedOutput
from errorfloor.preparing.quantiles import located
from errorfloor.preparing.totals import NO_GROUP, columns_of, running_columns
from errorfloor.pricing.keys import GroupKeys
from errorfloor.pricing.records import signs
from errorfloor.sql import evaluate
from errorfloor.sql.question import Question
from errorfloor.sql.sums import ROWS, largest
from errorfloor.vault import is_current

MOST_WHOLE = 2.0**62
NEARLY = 2.0**-80  # relative
BLOCK = 2**14  # groups: so many numbers stay in a processor's cache between steps, and in memory that is used again
SMALL = 2**17  # groups: up to so many are left to one thread, for others would take longer to wait for their turns
BLOCK_OF_MANY = 2**16  # groups, where threads share them: each step is then long beside the wait for a turn
BESIDE = 2**14  # groups: from so many on, what is kept is compressed while the table is laid out
MOST_THREADS = 8
FORMULA = "=+-@\t\r"  # how a formula begins
Evaluated = Callable[[slice], Sequence[DoubleWord]]  # some groups' values of the outputs that are looked up
Tell = Callable[[int, Sequence[Any]], None]  # hears what was released for the groups from a place on
Released = tuple[pa.Table, Array]  # the released table, and which group each of its rows is; NO_GROUP for totals


def look_and_release(prepared: Prepared, engine: Engine, keys: Sequence[Key]) -> tuple[Prepared, Released]:
    """Draw, read the private columns, and give the question with what was released; once the charge is durable.

    ``keys`` draw the noise of each output. What was released before is given again instead.

    Raises AnswerFailedError, always the same, if anything fails: what is said of it could depend on private values. It
    fails too if a snapshot was made anew since it was first looked up: the noise belongs to the one that was priced.
    """

    def work() -> tuple[Prepared, Released] | None:
        if prepared.is_kept or len(prepared.bounds.groups) < BESIDE:
            answered = prepared if prepared.is_kept else _answered(prepared, engine, keys)
            found = answered.shown or laid_out(answered)
        else:
            answered, found = _packed_beside(prepared, engine, keys)
        return (answered, found) if all(is_current(one, engine) for one in prepared.plan.snapshots) else None

    return look(work)


def _packed_beside(prepared: Prepared, engine: Engine, keys: Sequence[Key]) -> tuple[Prepared, Released]:
    """Give the question with its numbers and its table; what is kept of it is compressed by a thread meanwhile."""
    packing, turns = Packing(prepared), []
    with ThreadPoolExecutor(1) as thread:

        def tell(start: int, numbers: Sequence[Any]) -> None:
            turns.append(thread.submit(packing.write, start, len(numbers[0]), numbers))

        in_turn = _are_told_in_turn(prepared)
        answered = _answered(prepared, engine, keys, tell if in_turn else None)
        if not in_turn:
            tell(0, [one.kept for one in answered.outputs])
        found = laid_out(answered)
    for turn in turns:
        turn.result()
    return replace(answered, packed=packing.finished()), found


def _are_told_in_turn(prepared: Prepared) -> bool:
    """Whether numbers are released block after block, as they are kept."""
    return (
        len(prepared.bounds.groups) <= SMALL
        and not prepared.table.hides_records
        and all(one in prepared.looked_up and one.added is not None for one in prepared.outputs)
    )


def _answered(prepared: Prepared, engine: Engine, keys: Sequence[Key], tell: Tell | None = None) -> Prepared:
    """Draw, then look: give the question with the numbers of every output."""
    drawn = [(one, key) for one, key in zip(prepared.outputs, keys, strict=True) if one in prepared.looked_up]
    tags = {key.id: tags_of(prepared.bounds.groups, key) for key in {key.id: key for _, key in drawn}.values()}
    noises = [_drawn(one, tags[key.id], key, prepared) for one, key in drawn]
    return release(prepared, scanned(prepared, engine), noises, tell)


def release(
    prepared: Prepared, values: Evaluated, noises: Sequence[Array | None], tell: Tell | None = None
) -> Prepared:
    """Add noise to the values of the outputs that were looked up, round, and give the question with all numbers."""
    found = iter(_numbers(prepared, values, noises, tell))
    outputs = tuple(
        one
        if one.kept is not None
        else replace(
            one,
            kept=next(found) if one.constant is None else one.constant.column.take(arrow.column(prepared.bounds.kind)),
        )
        for one in prepared.outputs
    )
    return replace(prepared, outputs=outputs)


def laid_out(prepared: Prepared) -> Released:
    """Give the released table of a question that has all numbers, and which group each of its rows is."""
    question, groups = prepared.question, prepared.bounds.groups
    outputs = {one.output.name: one for one in prepared.outputs}
    every, running = np.arange(len(groups)), {one.name for one in question.running}
    found = {one.name: located(one, prepared) for one in question.quantiles}
    keys = {one.name: column.shown for one, column in zip(question.keys, groups.columns, strict=True)}
    if question.sets:
        keys = {name: prepared.totals.keys(name, values) for name, values in keys.items()}
    for name in question.selected:
        if name in outputs:
            one = outputs[name]
            if name in running:
                found[name] = running_columns(one, prepared)
                continue
            found[name] = _shown(one, one.kept, prepared)
            if question.sets:
                found[name] = columns_of(one, found[name], prepared)
    places = arranged(question, keys, {name: columns[name] for name, columns in found.items()})
    columns: dict[str, Any] = {}
    for name in question.selected:
        chosen = found.get(name) or {name: keys[name]}
        if places is not None:
            chosen = {each: column.take(arrow.column(places)) for each, column in chosen.items()}
        columns |= chosen
    own = np.concatenate([every, np.full(prepared.rows - len(groups), NO_GROUP)])
    return pa.table(columns), own if places is None else own[places]


def _drawn(one: PreparedOutput, tags: Array, key: Key, prepared: Prepared) -> Array | None:
    if one.added is None or one.label is None:
        return None
    label, added, kind = one.label, one.added, prepared.bounds.kind
    if not added.is_each_its_own:
        return added.draw(key, label, tags, kind)
    return in_blocks(len(tags), lambda places: (added.draw(key, label, tags[places], kind[places]),))[0]


def _numbers(prepared: Prepared, values: Evaluated, noises: Sequence[Array | None], tell: Tell | None) -> Iterator[Any]:
    """Give the numbers of the outputs that were looked up, NULL where public facts make them that."""
    kind = prepared.bounds.kind
    pairs = zip(prepared.looked_up, noises, strict=True)
    outputs = [(one, prepared.bounds_of(one).defined, noise) for one, noise in pairs]

    def numbers(places: slice) -> tuple[Array, ...]:
        found: list[Array] = []
        for (one, defined, noise), value in zip(outputs, values(places), strict=True):
            safe = value
            if not defined.all():
                here = defined[kind[places]]
                safe = DoubleWord(np.where(here, value.high, 0.0), np.where(here, value.low, 0.0))
            if one.added is None or noise is None:
                found += [safe.high, safe.low]
            else:
                found.append(one.added.released(safe, noise[places], kind[places]))
        if tell is not None:
            defined_here = [defined[kind[places]] for _, defined, _ in outputs]
            tell(places.start, [arrow.column(*each) for each in zip(found, defined_here, strict=True)])
        return tuple(found)

    columns = iter(in_blocks(len(kind), numbers))
    for one, defined, noise in outputs:
        if one.added is None or noise is None:
            yield _public_numbers(DoubleWord(next(columns), next(columns)), defined[kind])
            continue
        found = next(columns)
        if prepared.table.hides_records and not prepared.question.sets:  # else totals would not add up
            found = np.clip(found, *signs(one.output.formula, prepared.plan.domains))
        yield arrow.column(found, defined[kind])


def _shown(one: PreparedOutput, values: Any, prepared: Prepared) -> dict[str, Any]:
    """Give the columns of an output in the order of the groups: the numbers and the ends of their intervals."""
    name = one.output.name
    if one.added is None:
        return {name: values}
    there = ~arrow.nulls(values)
    numbers, kind = arrow.values_of(arrow.without_nulls(values)), prepared.bounds.kind
    ends = partial(one.added.interval, bounds=prepared.bounds_of(one))
    low, high = in_blocks(len(kind), lambda places: ends(numbers[places], kind=kind[places]))
    return {name: values, f"{name}_low": arrow.column(low, there), f"{name}_high": arrow.column(high, there)}


def _public_numbers(safe: DoubleWord, defined: Array) -> Any:
    """Give public numbers, as integers if all are whole: nearer to one than their evaluation is off by."""
    if (np.abs(safe.high) < MOST_WHOLE).all():
        whole = safe.nearest_whole()
        off = (safe.high - np.rint(safe.high)) + (safe.low - (whole - np.rint(safe.high)))
        if (np.abs(off) <= np.abs(safe.high) * NEARLY).all():
            return arrow.column(whole, defined)
    return arrow.column(safe.high, defined)


def tags_of(groups: GroupKeys, key: Key) -> Array:
    """Give the tags of groups: the same for every output, whose own key then turns them into bits of its own.

    The key of tags holds the number of keys, so that no group's words are the beginning of another's.
    """
    return groups.tags(key.derive(Label("answer cells", (TAGS, len(groups.columns)))))


def values_before_noise(prepared: Prepared, engine: Engine) -> list[DoubleWord]:
    """Run the scan, and give the value of each output that is looked up for every group."""
    return list(scanned(prepared, engine)(slice(0, len(prepared.bounds.groups))))


def scanned(prepared: Prepared, engine: Engine) -> Evaluated:
    """Run the scan; formulas are then evaluated for as many groups at a time as are wanted.

    To be called once the charge is durable. What a failure says could depend on private values: it must not get out.

    *Guarantee*: after the scan the number of operations, their precision and the memory that they use follow from the
    question and from public facts.
    """
    question, layout, groups = prepared.question, prepared.bounds.layout, prepared.bounds.groups
    formulas = [one.output.formula for one in prepared.looked_up]
    if not formulas:
        return lambda places: []
    columns = {}
    if prepared.sums:
        result = engine.query(prepared.statement)
        if not GroupKeys.of(result, [key.value for key in question.keys], layout).are(groups):
            raise EngineError("the groups that were scanned are not those that were priced", engine=engine.name)
        columns = {wanted: arrow.whole(result.column(f"s{j}")) for j, wanted in enumerate(prepared.sums)}
    rows, kind = prepared.bounds.rows, prepared.bounds.kind
    most = {(monomial, where): largest(monomial, layout) * layout.rows for monomial, where in columns}

    def evaluated(places: slice) -> Sequence[DoubleWord]:
        shape = (places.stop - places.start,)
        sums = {wanted: arrow.read(one.slice(places.start, *shape), most[wanted]) for wanted, one in columns.items()}
        sums[ROWS] = DoubleWord.whole(rows if len(rows) == 1 else rows[kind[places]], int(rows.max(initial=0)))
        values = evaluate(formulas, sums, layout)
        return [DoubleWord(np.broadcast_to(one.high, shape), np.broadcast_to(one.low, shape)) for one in values]

    return evaluated


def in_blocks(size: int, work: Callable[[slice], tuple[Array, ...]]) -> tuple[Array, ...]:
    """Give columns of ``size`` numbers from ``work``, which is told some places and gives the numbers there.

    Very many are shared by threads, one for each core. Each number must follow from those in its own place alone: then
    blocks change no bit of it. How many there are follows from the number of groups, which is public.

    >>> [one.tolist() for one in in_blocks(3, lambda places: (np.arange(3)[places] * 2, np.ones(3)[places]))]
    [[0, 2, 4], [1.0, 1.0, 1.0]]
    """
    if size <= BLOCK:
        return work(slice(0, size))
    threads = 1 if size <= SMALL else min(len(os.sched_getaffinity(0)), MOST_THREADS)
    count = threads * -(-size // (threads * (BLOCK if threads == 1 else BLOCK_OF_MANY)))
    edges = [size * place // count for place in range(count + 1)]
    blocks = map(slice, edges[:-1], edges[1:])
    if threads == 1:
        return tuple(map(np.concatenate, zip(*map(work, blocks), strict=True)))
    found = tuple(np.empty(size, dtype=one.dtype) for one in work(slice(0, 0)))

    def put(places: slice) -> None:
        for column, part in zip(found, work(places), strict=True):
            column[places] = part

    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(put, blocks):
            pass
    return found


def arranged(question: Question, keys: Mapping[str, Any], released: Mapping[str, Any]) -> Array | None:
    """Give the groups that are shown, in the order in which they are shown; None if it is all of them as they are.

    Without ORDER BY they come in the order of the keys shown. A null counts as smaller than everything else.
    """
    shown = [name for name in question.selected if name in keys and name not in released]
    if not question.order and question.limit is None and shown == list(keys) and not question.sets:
        return None  # as the engine has sorted them
    columns = {**keys, **released}
    places = np.arange(len(next(iter(columns.values()))))
    for name in reversed(shown):
        places = places[in_order(columns[name], places, descending=False)]
    for wanted in reversed(question.order):
        places = places[in_order(columns[wanted.name], places, descending=wanted.descending)]
    return places[: question.limit]


def in_order(values: Any, places: Array, *, descending: bool) -> Array:
    """Give the stable order of the values in some places."""
    order, nulls = ("descending", "at_end") if descending else ("ascending", "at_start")
    return arrow.values_of(pc.array_sort_indices(values.take(arrow.column(places)), order=order, null_placement=nulls))


def without_formulas(table: pa.Table) -> pa.Table:
    """Put a quote before texts that a spreadsheet would take for a formula, and could be made to run.

    >>> without_formulas(pa.table({"area": ["=HYPERLINK(1)", "north", None]})).column(0).to_pylist()
    ["'=HYPERLINK(1)", 'north', None]
    """
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            values = [one and without_formula(one) for one in table.column(place).to_pylist()]
            table = table.set_column(place, field, pa.array(values, field.type))
    return table


def for_spreadsheets(table: pa.Table) -> pa.Table:
    """Do the same with the names of the columns, which whoever wrote the question has chosen.

    >>> for_spreadsheets(pa.table({"=HYPERLINK(1)": ["-2+3"], "n": [-1]})).to_pydict()
    {"'=HYPERLINK(1)": ["'-2+3"], 'n': [-1]}
    """
    return without_formulas(table).rename_columns([without_formula(name) for name in table.column_names])


def without_formula(text: str) -> str:
    """Put a quote before a text that would be taken for a formula."""
    return f"'{text}" if text and text[0] in FORMULA else text
