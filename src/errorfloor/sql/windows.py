"""Running totals over the groups of a question, ``sum(sum(x)) OVER (PARTITION BY … ORDER BY …)``, and their means."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from errorfloor.sql.plan import Count, Scalar, Sum
from errorfloor.sql.question import QuestionOutput, Running
from errorfloor.sql.refusals import Wording

INSTEAD = "write sum(sum(x)) OVER (ORDER BY key) with GROUP BY key for running totals of the groups"


@dataclass(frozen=True)
class Window:
    """The pieces of a running total in the syntax tree; ``order`` has each key with whether it falls."""

    summed: exp.Expression
    partition: tuple[exp.Expression, ...]
    order: tuple[tuple[exp.Expression, bool], ...]
    mean: bool


def is_total(node: exp.Window) -> bool:
    """Tell whether a window is a running total, or the mean of the groups so far.

    >>> from errorfloor.sql.reading import read
    >>> is_total(read("SELECT sum(sum(x)) OVER (ORDER BY m)").expressions[0])
    True
    """
    inside = node.this.this.walk() if type(node.this) is exp.Avg else ()
    return type(node.this) is exp.Sum or any(isinstance(part, exp.AggFunc) for part in inside)


def window_of(node: exp.Expression, words: Wording) -> Window:
    """Read a window: the sum of an aggregate, from the first group to this one."""
    words.only(node, "this", "partition_by", "order", "spec", "over")
    total = node.this
    if not any(isinstance(part, exp.AggFunc) for part in total.this.walk()):
        raise words.refusal(node, "window", f"is no total of groups: {INSTEAD}")
    words.only(total, "this")
    ordered = node.args.get("order")
    if ordered is None:
        raise words.refusal(node, "window", "has no order: add ORDER BY to OVER, or use ROLLUP for totals")
    words.only(ordered, "expressions")
    order = []
    for one in ordered.expressions:
        words.only(one, "this", "desc", "nulls_first")
        order.append((one.this, bool(one.args.get("desc"))))
    spec = node.args.get("spec")
    if spec is not None and (
        spec.args.get("kind") not in ("ROWS", "RANGE", "GROUPS")
        or (spec.args.get("start"), spec.args.get("start_side")) != ("UNBOUNDED", "PRECEDING")
        or spec.args.get("end") not in ("CURRENT ROW", None)
        or spec.args.get("exclude")
    ):
        raise words.refusal(
            node, "window", "has another frame: running totals go from UNBOUNDED PRECEDING to CURRENT ROW"
        )
    return Window(total.this, tuple(node.args.get("partition_by") or ()), tuple(order), type(total) is exp.Avg)


def along(
    windows: Mapping[str, exp.Expression],
    outputs: Sequence[QuestionOutput],
    named: Mapping[Scalar, str],
    key: Callable[[exp.Expression], Scalar],
    words: Wording,
) -> tuple[Running, ...]:
    """Give the running totals of a question from their nodes by name; all go along the same keys.

    ``key`` reads a node as a group key, and ``named`` has the names of the question's.
    """
    found: list[Running] = []
    formulas = {output.name: output.formula for output in outputs}
    for name, node in windows.items():
        window = window_of(node, words)
        if not isinstance(formulas[name], (Sum, Count)):
            raise words.refusal(node, "window", "adds up what does not add up: sum(sum(x)) and sum(count(*)) do")
        if window.mean and isinstance(formulas[name], Count):
            raise words.refusal(node, "window", "is a mean of counts: ask for sum(count(*)) OVER (…), and divide it")
        partition = [named.get(key(one), "") for one in window.partition]
        order = [(named.get(key(one), ""), falls) for one, falls in window.order]
        if sorted([*partition, *(one for one, _ in order)]) != sorted(named.values()):
            raise words.refusal(
                node, "window", "must name every key of GROUP BY once, in PARTITION BY or in ORDER BY, and nothing else"
            )
        one = Running(name, tuple(sorted(partition)), tuple(order), window.mean)
        if found and (one.partition, one.order) != (found[0].partition, found[0].order):
            raise words.refusal(node, "window", "goes along other keys than the first: ask in two questions")
        found.append(one)
    return tuple(found)
