"""What stands after FROM besides conditions: several groupings, HAVING, LIMIT, and OVER.

ROLLUP, CUBE and GROUPING SETS group several times in one question. ``HAVING count(*) >= n`` says how many rows a group
has at least, ``LIMIT n`` how many groups are shown at most. Running totals over the groups are
``sum(sum(x)) OVER (PARTITION BY … ORDER BY …)``, and so are their means.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from sqlglot import exp

from errorfloor.sql.plan import Always, Count, Quotient, Scalar, Sum
from errorfloor.sql.question import QuestionOutput, Running
from errorfloor.sql.refusals import Wording

GREATEST_LIMIT = 10**9
MORE_ROWS: dict[type[exp.Expression], tuple[bool, int]] = {  # whether the count comes first, and what to add to n
    exp.GTE: (True, 0),
    exp.GT: (True, 1),
    exp.LTE: (False, 0),
    exp.LT: (False, 1),
}
MOST_SETS = 64
SEVERAL = (exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple)
Set = frozenset[Scalar]
INSTEAD = "write sum(sum(x)) OVER (ORDER BY key) with GROUP BY key for running totals of the groups"


def least_rows(having: exp.Expression, words: Wording, counts_rows: Callable[[exp.Expression], bool]) -> int:
    """Give the least number of rows of a group; ``counts_rows`` tells whether something is the number of them."""
    words.only(having, "this")
    test = having.this.unnest()
    first, more = MORE_ROWS.get(type(test), (True, 0))
    sides = (test.args.get("this"), test.args.get("expression"))
    count, number = sides if first else sides[::-1]
    whole = _whole(number)
    if type(test) not in MORE_ROWS or whole is None or not counts_rows(count):
        raise words.refusal(
            having, "having", "filters the answer: only HAVING count(*) >= n is allowed; ask without, then filter"
        )
    return max(1, whole + more)


def most_shown(limit: exp.Expression, words: Wording) -> int:
    """Give how many groups are shown at most."""
    if type(limit) is not exp.Limit or limit.args.get("limit_options"):
        raise words.refusal(limit, "order", "is not supported: write LIMIT n")
    words.only(limit, "expression")
    whole = _whole(limit.expression)
    if whole is None or whole > GREATEST_LIMIT:
        raise words.refusal(limit, "order", f"needs a whole number up to {GREATEST_LIMIT}: LIMIT 10")
    return whole


def _whole(node: exp.Expression | None) -> int | None:
    """Read a whole number of up to ten digits."""
    digits = str(node.this) if type(node) is exp.Literal and not node.args.get("is_string") else ""
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 10 else None


def grouping_sets(
    group: exp.Expression, words: Wording, key: Callable[[exp.Expression], Scalar]
) -> tuple[frozenset[Scalar], ...]:
    """Give the groupings that GROUP BY asks for, finest first; one where it names keys alone."""
    found: list[Set] = [frozenset()]
    for node in group.expressions:
        each = _sets(node, words, key)
        if len(found) * len(each) > MOST_SETS:
            raise words.refusal(node, "group", f"asks for more than {MOST_SETS} groupings: ask for fewer at a time")
        found = [one | other for one in found for other in each]
    return tuple(sorted(dict.fromkeys(found), key=len, reverse=True))


def counted_for_totals(
    outputs: Sequence[QuestionOutput], words: Wording, select: exp.Expression
) -> list[QuestionOutput]:
    """Give the counts that averages of totals are weighted by, where rows without a value are not counted.

    Raises RefusedError for what does not add up.
    """
    counts: dict[Count, QuestionOutput] = {}
    shown = {one.formula for one in outputs}
    for one in outputs:
        match one.formula:
            case Sum() | Count() | Quotient(Sum(), Count(Always())) if one.part_of is None:
                pass
            case Quotient(Sum(where=summed), Count(counted) as count) if one.part_of is None and summed == counted:
                if count not in shown:
                    counts.setdefault(count, QuestionOutput(f"{one.name}/rows", count, ""))
            case _:
                raise words.refusal(
                    select,
                    "group",
                    f"asks for {one.asked_as} by several groupings, and only sums, averages and counts add up to "
                    f"totals: ask for it by one grouping at a time",
                )
    return list(counts.values())


def _sets(node: exp.Expression, words: Wording, key: Callable[[exp.Expression], Scalar]) -> list[Set]:
    if type(node) not in (exp.Rollup, exp.Cube, exp.GroupingSets):
        return [_set(node, words, key)]
    words.only(node, "expressions")
    keys = [_set(one, words, key) for one in node.expressions]
    if type(node) is exp.GroupingSets:
        return keys
    if type(node) is exp.Cube and len(keys) > MOST_SETS.bit_length():
        raise words.refusal(node, "group", f"asks for more than {MOST_SETS} groupings: ask for fewer at a time")
    counts = range(len(keys), -1, -1)
    chosen = (combinations(keys, count) if type(node) is exp.Cube else [keys[:count]] for count in counts)
    return [frozenset().union(*some) for each in chosen for some in each]


def _set(node: exp.Expression, words: Wording, key: Callable[[exp.Expression], Scalar]) -> Set:
    if type(node) is exp.Tuple:
        words.only(node, "expressions")
        return frozenset(key(one) for one in node.expressions)
    if type(node) is exp.Paren:
        words.only(node, "this")
        node = node.this
    return frozenset([key(node)])


@dataclass(frozen=True)
class Window:
    """The pieces of a running total in the syntax tree; ``order`` has each key with whether it falls."""

    summed: exp.Expression
    partition: tuple[exp.Expression, ...]
    order: tuple[tuple[exp.Expression, bool], ...]
    mean: bool


def is_total(node: exp.Expression) -> bool:
    """Tell whether something is a running total over a window, or the mean of the groups so far.

    >>> from errorfloor.sql.reading import read
    >>> is_total(read("SELECT sum(sum(x)) OVER (ORDER BY m)").expressions[0])
    True
    """
    if type(node) is not exp.Window:
        return False
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
