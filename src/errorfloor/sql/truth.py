"""And, or, not with what is known to hold always or never, three-valued as in SQL; and flags as conditions.

FALSE AND unknown is FALSE, TRUE OR unknown is TRUE, and NOT NOT c is c; nothing else is simplified.
"""

from collections.abc import Iterable

from errorfloor.sql.plan import Always, Compare, Condition, Literal, Not, Scalar, TableColumn, all_of, any_of

ALWAYS = Always()
NEVER = Not(ALWAYS)


def both(parts: Iterable[Condition]) -> Condition:
    """Give the conjunction.

    >>> both([ALWAYS, NEVER]) == NEVER
    True
    """
    given = list(parts)
    return NEVER if NEVER in given else all_of(given)


def either(parts: Iterable[Condition]) -> Condition:
    """Give the disjunction.

    >>> either([ALWAYS, NEVER]) == ALWAYS
    True
    """
    given = [part for part in parts if part != NEVER]
    if not given:
        return NEVER
    return ALWAYS if ALWAYS in given else any_of(given)


def opposite(part: Condition) -> Condition:
    """Give the negation.

    >>> opposite(opposite(ALWAYS)) == ALWAYS
    True
    """
    return part.part if isinstance(part, Not) else Not(part)


def flagged(column: TableColumn) -> Condition:
    """Give the condition that a public flag is true."""
    sides: tuple[Scalar, Scalar] = (column, Literal(True, "flag"))
    return Compare("=", *sorted(sides, key=lambda side: side.encoded))
