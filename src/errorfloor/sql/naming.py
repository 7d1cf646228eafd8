"""Names of what the question selects and does not name itself."""

from collections.abc import Sequence

from sqlglot import exp

from errorfloor.sql.names import same

NAMES: dict[type[exp.Expression], str] = {
    exp.VariancePop: "var_pop",
    exp.Variance: "var_samp",
    exp.StddevPop: "stddev_pop",
    exp.StddevSamp: "stddev_samp",
    exp.CovarPop: "covar_pop",
    exp.CovarSamp: "covar_samp",
    exp.RegrSlope: "regr_slope",
    exp.DayOfWeekIso: "isodow",
    exp.DayOfMonth: "day",
    exp.WeekOfYear: "week",
}
NO_NAMES: tuple[type[exp.Expression], ...] = (exp.Cast, exp.Case, exp.Pow, exp.And, exp.Or)
LONGEST = 40


def generated(node: exp.Expression, place: int) -> str:
    """Give a readable name: avg(kwh) is avg_kwh, count(*) is count; what is longer is column_2.

    >>> from errorfloor.sql.reading import read
    >>> [generated(node, 1) for node in read("SELECT avg(exp(kwh)), count(*), tariff, avg(kwh) + 1").expressions]
    ['avg_exp_kwh', 'count', 'tariff', 'column_1']
    """
    if isinstance(node, exp.Column) and node.name.isprintable():
        return str(node.name)  # however long, it is the column's own
    words = _words(node)
    name = "_".join(words) if words else ""
    return name if name and len(name) <= LONGEST and name.isprintable() else f"column_{place}"


def _words(node: exp.Expression) -> list[str] | None:
    """Give the words of a function of columns, from the outside in; None if it is anything else."""
    if isinstance(node, (exp.Filter, exp.Paren)):
        return _words(node.this)
    if isinstance(node, exp.Column):
        return [node.name]
    if isinstance(node, (exp.Literal, exp.Star, exp.Var)):
        return []
    if isinstance(node, exp.DateTrunc):
        first = str(getattr(node.args.get("unit"), "this", "")).lower()
    elif isinstance(node, exp.Extract):
        first = str(getattr(node.this, "this", "")).lower()
    elif isinstance(node, exp.Func) and type(node) not in NO_NAMES:
        first = NAMES.get(type(node)) or (str(node.this).lower() if node.key == "anonymous" else node.key)
    else:
        return None
    words = [first]
    for child in node.iter_expressions():
        inner = _words(child)
        if inner is None:
            return None
        words += inner
    return words


def unique(name: str, taken: Sequence[str]) -> str:
    """Give the name, with a number behind it if it is taken.

    >>> unique("count", ["Count"])
    'count_2'
    """
    candidate, number = name, 1
    while any(same(candidate, other) for other in taken):
        number += 1
        candidate = f"{name}_{number}"
    return candidate
