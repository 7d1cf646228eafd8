"""From exact values to released numbers: add the sticky noise, round to the lattice, lay out the table."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pyarrow as pa

from errorfloor.engines import Engine
from errorfloor.errors import AnswerFailedError
from errorfloor.identity import Key
from errorfloor.service.preparation import Prepared, PreparedOutput
from errorfloor.service.scanning import exact_values
from errorfloor.service.sticky import draw
from errorfloor.service.table import arranged, plain_key
from errorfloor.vault import is_current


def look_and_release(prepared: Prepared, engine: Engine, key: Key) -> tuple[pa.Table, tuple[int, ...]]:
    """Read the private columns, draw, and give the released table; to be called once the charge is durable.

    Raises AnswerFailedError, always the same, if anything fails: what is said of it could depend on private values. It
    fails too if a snapshot was made anew since it was first looked up: the noise belongs to the one that was priced.
    """
    released = None
    try:
        values = exact_values(prepared, engine)
        if all(is_current(one, engine) for one in prepared.snapshots):
            released = release(prepared, values, key)
    except Exception:  # leaving the block drops it, so that nothing of it stays in the error below
        released = None
    if released is None:
        raise AnswerFailedError
    return released


def release(prepared: Prepared, values: Sequence[Sequence[Any]], key: Key) -> tuple[pa.Table, tuple[int, ...]]:
    """Give the released table, and which group each of its rows is.

    Sum and rounding are exact, so that the released number is the double nearest to a multiple of the lattice's step.
    """
    question, groups = prepared.question, prepared.bounds.groups
    outputs = {one.output.name: one for one in prepared.outputs}
    released = {
        one.output.name: _numbers(one, exact, prepared, key)
        for one, exact in zip(prepared.outputs, values, strict=True)
    }
    places = arranged(question, groups, released)
    keys = {one.name: index for index, one in enumerate(question.keys)}
    columns: dict[str, list[Any]] = {}
    for name in question.selected:
        if name in outputs:
            columns |= _shown(outputs[name], [released[name][place] for place in places])
        else:
            columns[name] = [plain_key(groups[place][keys[name]]) for place in places]
    return pa.table(columns), places


def _numbers(one: PreparedOutput, exact: Sequence[Any], prepared: Prepared, key: Key) -> list[Any]:
    if one.added is None or one.label is None:
        return [None if value is None else _plain(value) for value in exact]
    noise = draw(key, one.label, prepared.bounds.groups, one.added).tolist()
    step, offset = Fraction(one.added.lattice.step), Fraction(one.added.offset)
    return [
        None if value is None else _on_lattice(Fraction(value) if offset == 0 else value + offset, drawn, step)
        for value, drawn in zip(exact, noise, strict=True)
    ]


def _on_lattice(value: Fraction, noise: float, step: Fraction) -> float:
    """Give the multiple of the step nearest to value + noise, halves to even, in integers: exact, and quick.

    >>> _on_lattice(Fraction(1, 3), 0.25, Fraction(1, 100))
    0.58
    """
    above, below = noise.as_integer_ratio()
    numerator = (value.numerator * below + above * value.denominator) * step.denominator
    denominator = value.denominator * below * step.numerator
    whole, rest = divmod(numerator, denominator)
    if 2 * rest > denominator or (2 * rest == denominator and whole % 2):
        whole += 1
    return whole * step.numerator / step.denominator


def _shown(one: PreparedOutput, values: list[Any]) -> dict[str, list[Any]]:
    name, added = one.output.name, one.added
    if added is None:
        return {name: values}
    low = [None if value is None else value - added.high for value in values]
    high = [None if value is None else value - added.low for value in values]
    return {name: values, f"{name}_low": low, f"{name}_high": high}


def _plain(value: Any) -> int | float:
    exact = Fraction(value)
    whole = exact.denominator == 1 and abs(exact) < 2**63
    return int(exact) if whole else float(exact)
