"""Several groupings in one question: ROLLUP, CUBE and GROUPING SETS."""

from collections.abc import Callable, Sequence
from itertools import combinations

from sqlglot import exp

from errorfloor.sql.plan import Always, Count, Quotient, Scalar, Sum
from errorfloor.sql.question import QuestionOutput
from errorfloor.sql.refusals import Wording

MOST_SETS = 64
SEVERAL = (exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple)
Set = frozenset[Scalar]


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
    if type(node) is exp.Rollup:
        words.only(node, "expressions")
        keys = [_set(one, words, key) for one in node.expressions]
        return [frozenset().union(*keys[:count]) for count in range(len(keys), -1, -1)]
    if type(node) is exp.Cube:
        words.only(node, "expressions")
        keys = [_set(one, words, key) for one in node.expressions]
        if len(keys) > MOST_SETS.bit_length():
            raise words.refusal(node, "group", f"asks for more than {MOST_SETS} groupings: ask for fewer at a time")
        chosen = [some for count in range(len(keys), -1, -1) for some in combinations(keys, count)]
        return [frozenset().union(*some) for some in chosen]
    if type(node) is exp.GroupingSets:
        words.only(node, "expressions")
        return [_set(one, words, key) for one in node.expressions]
    return [_set(node, words, key)]


def _set(node: exp.Expression, words: Wording, key: Callable[[exp.Expression], Scalar]) -> Set:
    if type(node) is exp.Tuple:
        words.only(node, "expressions")
        return frozenset(key(one) for one in node.expressions)
    if type(node) is exp.Paren:
        words.only(node, "this")
        node = node.this
    return frozenset([key(node)])
