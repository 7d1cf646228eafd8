"""The one place where private columns are read: the exact value of every output for every group."""

from typing import Any

from errorfloor.engines import Engine
from errorfloor.service.preparation import Prepared
from errorfloor.sql import evaluate


def exact_values(prepared: Prepared, engine: Engine) -> list[list[Any]]:
    """Run the scan and evaluate the formulas: a value for every output and every group, None where it is NULL.

    To be called once the charge is durable. What a failure says could depend on private values: it must not get out.
    """
    question, layout = prepared.question, prepared.bounds.layout
    result = engine.query(prepared.statement)
    row_of = {group: row for row, group in enumerate(prepared.bounds.keys_of(result, question, layout))}
    columns = [result.column(f"s{j}").to_pylist() for j in range(len(prepared.sums))]
    values: list[list[Any]] = [[] for _ in question.outputs]
    for place, group in enumerate(prepared.bounds.groups):
        row = row_of[group]
        known = {pair: None if c[row] is None else int(c[row]) for pair, c in zip(prepared.sums, columns, strict=True)}
        for into, output, bound in zip(values, question.outputs, prepared.bounds.outputs, strict=True):
            # whether a cell is NULL follows from public facts, which it was priced by
            into.append(evaluate(output.formula, known, layout) if bound.defined[place] else None)
    return values
