"""The one place where private columns are read: the value of every output for every group, before noise."""

import numpy as np

from errorfloor.engines import Engine
from errorfloor.service.preparation import Prepared
from errorfloor.sql import evaluate, fixed_width
from errorfloor.sql.double_words import DoubleWord


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
