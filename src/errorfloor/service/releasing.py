"""From a charge to released numbers: draw, look, add, round, lay out the table. Its cost is public."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from errorfloor.checks import Array
from errorfloor.engines import Engine
from errorfloor.errors import AnswerFailedError
from errorfloor.identity import Key
from errorfloor.service.preparation import Prepared, PreparedOutput
from errorfloor.service.rounding import released
from errorfloor.service.scanning import values_before_noise
from errorfloor.service.sticky import draw
from errorfloor.service.table import arranged, plain_key
from errorfloor.sql.double_words import DoubleWord
from errorfloor.vault import is_current

Numbers = list[Any]


def look_and_release(prepared: Prepared, engine: Engine, key: Key) -> tuple[pa.Table, tuple[int, ...]]:
    """Draw, read the private columns, and give the released table; to be called once the charge is durable.

    Raises AnswerFailedError, always the same, if anything fails: what is said of it could depend on private values. It
    fails too if a snapshot was made anew since it was first looked up: the noise belongs to the one that was priced.
    """
    answer = None
    try:
        noises = [_drawn(one, prepared, key) for one in prepared.looked_up]
        values = values_before_noise(prepared, engine)
        if all(is_current(one, engine) for one in prepared.snapshots):
            answer = release(prepared, values, noises)
    except Exception:  # leaving the block drops it, so that nothing of it stays in the error below
        answer = None
    if answer is None:
        raise AnswerFailedError
    return answer


def release(
    prepared: Prepared, values: list[DoubleWord], noises: list[Array | None]
) -> tuple[pa.Table, tuple[int, ...]]:
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
