"""How many rows a group has at least, ``HAVING count(*) >= n``, and how many groups are shown at most, ``LIMIT n``."""

from collections.abc import Callable

from sqlglot import exp

from errorfloor.sql.refusals import Wording

GREATEST_LIMIT = 10**9
MORE_ROWS: dict[type[exp.Expression], tuple[bool, int]] = {  # whether the count comes first, and what to add to n
    exp.GTE: (True, 0),
    exp.GT: (True, 1),
    exp.LTE: (False, 0),
    exp.LT: (False, 1),
}


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
