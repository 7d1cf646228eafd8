"""What is refused, why, and what to ask instead.

A refusal depends on the text of the question and on declarations only. It names the piece of the question, and carries
one of the stable words of ``REASONS``.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from errorfloor.catalogue.near import close_to
from errorfloor.errors import RefusedError
from errorfloor.sql.reading import shown

REASONS = (
    *("syntax", "not-select", "too-long", "table", "column", "private-key", "private-filter", "aggregate", "function"),
    *("subquery", "window", "distinct", "join", "group", "order", "type", "constant", "random", "having"),
    "set-operation",
)

# A private column, by its name, where only public ones may stand
PRIVATE_KEY = (
    "would show values of the private column {0}: ask for avg({0}), or for shares such as avg(above({0}, t, width))"
)
PRIVATE_FILTER = (
    "makes the choice of rows depend on the private column {0}: ask for a smooth share instead, such as "
    "avg(above({0}, t, width)) or avg(between({0}, low, high, width))"
)
PRIVATE_JOIN = "joins on a private column: only public columns are compared"
PRIVATE_ROWS = "would show private values row by row: ask for avg({0})"

CURVE = (
    "it can hang on one person's value alone: ask for quantile(x, 0.99), or the share avg(above(x, t, width)) at "
    "several t; of a public column, GROUP BY it and ask for count(*)"
)
QUANTILES = "ask for median(x) or quantile(x, 0.25)"
LISTS = "would list rows, and only aggregates of groups are answered: ask for avg(x), sum(x) or count(*)"
TEXTS = "is not supported: texts are compared as they are: write each spelling, as in x IN ('a', 'A')"
PARTS = "is not supported: ask for date parts, such as year(x), month(x) or date_trunc('month', x)"
POWERS = "is not supported: ask for avg(x), avg(x^2), avg(x^3) and so on, and compute it from the answer"
FLAGS = "is not supported: ask for count(*) FILTER (WHERE x)"
MOVES = "gives a different result each time: write the date, moment or number itself"
PLAIN = "ask with SELECT, FROM, JOIN, WHERE, GROUP BY, ORDER BY and LIMIT"

# The first class that fits decides.
UNANSWERED: tuple[tuple[type[Any] | tuple[type[Any], ...], str, str], ...] = (
    (exp.Window, "window", "is a window function, which gives a number for each row: ask with GROUP BY"),
    (exp.ApproxQuantile, "aggregate", f"is not supported: {QUANTILES}"),
    (
        (exp.WithinGroup, exp.Median, exp.Quantile, exp.PercentileCont, exp.PercentileDisc),
        "aggregate",
        "is located between released shares, and is no number to compute with: select it as a column of its own",
    ),
    ((exp.Min, exp.Max, exp.ArgMin, exp.ArgMax), "aggregate", f"is not supported: {CURVE}"),
    ((exp.Mode, exp.ApproxTopK), "aggregate", "is not supported: group by a public column and ask for count(*)"),
    (
        (exp.Distinct, exp.ApproxDistinct),
        "distinct",
        "looks for different values: GROUP BY a public column and ask for count(*)",
    ),
    ((exp.IgnoreNulls, exp.RespectNulls, exp.Order), "aggregate", "orders rows, but sums have no order"),
    ((exp.Rand, exp.Randn, exp.Uuid), "random", MOVES),
    ((exp.CurrentDate, exp.CurrentTime, exp.CurrentTimestamp, exp.CurrentDatetime), "random", MOVES),
    ((exp.CurrentUser, exp.Localtime, exp.Localtimestamp), "random", MOVES),
    (exp.SetOperation, "set-operation", "joins two questions: ask them one at a time"),
    (
        (exp.Subquery, exp.Select, exp.Exists),
        "subquery",
        "is a question inside the question: only a table that filters or renames, in WITH or FROM, is allowed",
    ),
    (exp.Log, "function", "is not supported, because its base differs between systems: write ln(x)"),
    (exp.Abs, "function", "is not supported of a private column: write greatest(x, 0) + greatest(-x, 0)"),
    (
        (exp.Round, exp.Ceil, exp.Sign),
        "function",
        "jumps, and is not supported of private columns or of answers: round the answer yourself",
    ),
    (exp.Trunc, "function", "jumps, and is not supported: round the answer yourself; of a public column, use floor(x)"),
    ((exp.Mod, exp.IntDiv), "function", "is not supported, because signs differ between systems: use floor(x / n)"),
    (exp.If, "function", "is not supported: write CASE WHEN … THEN … ELSE … END"),
    (exp.Coalesce, "function", "is not supported for numbers: leave nulls out with FILTER (WHERE x IS NOT NULL)"),
    (exp.Nullif, "function", "is not supported: leave rows out with FILTER (WHERE …)"),
    (exp.DayOfWeek, "function", "begins on different days in different systems: write isodow(x), Monday 1 … Sunday 7"),
    ((exp.Collate, exp.ILike, exp.Escape), "function", "depends on the system: use =, IN or LIKE without ESCAPE"),
    ((exp.NullSafeEQ, exp.NullSafeNEQ), "function", "is not supported: write = and IS NULL"),
    (exp.Interval, "type", "is not supported: write the date itself, such as DATE '2013-01-31'"),
    ((exp.Parameter, exp.Placeholder), "constant", "stands for a value: write the value itself"),
    (
        exp.Star,
        "aggregate",
        "stands for every column, and only aggregates of groups are answered: name one, as in avg(x), or ask for "
        "count(*)",
    ),
    (exp.Null, "constant", "has no value: use IS NULL, or leave rows out with FILTER (WHERE …)"),
    (exp.AggFunc, "aggregate", "is not supported: ask for sum, avg, count, variances or covariances"),
    (exp.Func, "function", "is not among the supported functions"),
    (
        exp.Predicate,
        "type",
        "is a condition where a value is needed: for a private column ask for a share, avg(above(x, t, width)); for "
        "public ones write CASE WHEN … THEN … ELSE … END",
    ),
)

# The same of a table that protects records: every column may be compared there, and none is public.
OF_RECORDS: tuple[tuple[type[Any] | tuple[type[Any], ...], str, str], ...] = (
    (
        (exp.Min, exp.Max, exp.ArgMin, exp.ArgMax),
        "aggregate",
        "is not supported: it can hang on one row alone: ask for quantile(x, 0.99), or for "
        "count(*) FILTER (WHERE x > t) at several t",
    ),
    ((exp.Mode, exp.ApproxTopK), "aggregate", "is not supported: GROUP BY it and ask for count(*)"),
    (
        (exp.Distinct, exp.ApproxDistinct),
        "distinct",
        "looks for different values: ask for count(DISTINCT x), or GROUP BY the column and ask for count(*)",
    ),
    (exp.Trunc, "function", "is not supported: use floor(x), ceil(x) or round(x)"),
    ((exp.Mod, exp.IntDiv), "function", "is not supported, because signs differ between systems: use floor(x / n)"),
    (
        (exp.Coalesce, exp.Nullif),
        "function",
        "is not needed: nothing is missing here, so leave it out; of a joined table, leave rows out with FILTER "
        "(WHERE x IS NOT NULL)",
    ),
    (exp.Null, "constant", "has no value: nothing is missing here but in joined tables; leave it out, or use IS NULL"),
    (exp.Predicate, "type", "is a condition where a value is needed: write CASE WHEN … THEN 1 ELSE 0 END"),
)
NAMED_OF_RECORDS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        ("width_bucket", "cut", "qcut"),
        ("aggregate", "is not supported: ask for histogram(x, 18, 40, 65), or GROUP BY floor(x / 10)"),
    ),
    **dict.fromkeys(
        ("ifnull", "nvl", "isnull"), ("function", "is not needed: nothing is missing here, so leave it out")
    ),
    **dict.fromkeys(
        ("above", "between"), ("function", "is softened for private values: here write x > t, or x BETWEEN a AND b")
    ),
    **dict.fromkeys(
        ("bool_and", "bool_or", "every"), ("aggregate", "is not supported: ask for count(*) FILTER (WHERE …)")
    ),
}

ANONYMOUS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        ("now", "today", "getdate", "sysdate", "random", "rand", "gen_random_uuid", "newid"), ("random", MOVES)
    ),
    **dict.fromkeys(
        ("percentile", "approx_percentile", "quantile_cont", "quantile_disc"),
        ("aggregate", f"is not supported: {QUANTILES}"),
    ),
    **dict.fromkeys(("date_diff", "datediff", "age", "to_char", "strftime", "date_format"), ("function", PARTS)),
    **dict.fromkeys(("lower", "upper", "trim", "substring", "substr", "replace", "concat"), ("function", TEXTS)),
    **dict.fromkeys(("string_agg", "group_concat", "array_agg", "list", "collect_list"), ("aggregate", LISTS)),
    **dict.fromkeys(("width_bucket", "cut", "qcut"), ("aggregate", f"is not supported: {CURVE}")),
    **dict.fromkeys(("cumulative", "histogram"), ("aggregate", "is several numbers: select it as a column of its own")),
    "soft": ("function", "softens the edges of a distribution: write cumulative(soft(x, 2), 10, 20)"),
    **dict.fromkeys(("skewness", "skew", "kurtosis"), ("aggregate", POWERS)),
    **dict.fromkeys(("bool_and", "bool_or", "every", "bit_and", "bit_or"), ("aggregate", FLAGS)),
    **dict.fromkeys(
        ("ifnull", "nvl", "isnull"),
        ("function", "is not supported: leave nulls out with FILTER (WHERE x IS NOT NULL)"),
    ),
    **dict.fromkeys(("log10", "log2"), ("function", "is not supported: write ln(x) / ln(10) or ln(x) / ln(2)")),
}
CALLED_ELSEWHERE = {  # functions by the names that they have in other systems
    **dict.fromkeys(("mean", "average"), "avg"),
    **dict.fromkeys(("sd", "std", "stdev", "stdevp"), "stddev"),
    **dict.fromkeys(("var", "varp", "vars"), "variance"),
    **dict.fromkeys(("total", "add", "sumif"), "sum"),
    **dict.fromkeys(("n", "size", "len", "countif", "counta", "tally"), "count"),
    **dict.fromkeys(("square", "sqr"), "power(x, 2)"),
    **dict.fromkeys(("weekday", "dow", "dayname"), "isodow"),
    **dict.fromkeys(("correlation", "cor", "pearson"), "corr"),
    **dict.fromkeys(("covariance", "cov"), "covar_samp"),
    **dict.fromkeys(("maximum", "clip", "pmax"), "greatest"),
    "cbrt": "power(x, 1/3)",
}

# Where to find a piece in the text: nodes that stand for their function, begin with a word, or have no place.
WITHIN = (exp.Distinct, exp.Order)
BEGINNINGS: dict[type[exp.Expression], str] = {
    exp.Select: "select",
    exp.Case: "case",
    exp.Cast: "cast",
    exp.If: "if",
    exp.Unnest: "unnest",
    exp.Neg: "-",
    exp.Not: "not",
    exp.Limit: "limit",
    exp.Offset: "offset",
    exp.Having: "having",
    exp.Join: "join",
}
ENDINGS: dict[type[exp.Expression], re.Pattern[str]] = {
    exp.Is: re.compile(r"\s+is(\s+not)?\s+(null|true|false)", re.IGNORECASE),
    exp.Cast: re.compile(r"\s*(as\s[^()]*\)|::\s*\w+)", re.IGNORECASE),
    exp.Case: re.compile(r".*?\bend\b", re.IGNORECASE | re.DOTALL),
    exp.Collate: re.compile(r"\s+collate\s+\w+", re.IGNORECASE),
    exp.Select: re.compile(r"\s+qualify\s+\w+", re.IGNORECASE),
}
WITHOUT_PLACE: dict[type[exp.Expression], str] = {
    exp.Lock: "FOR UPDATE",
    exp.TableSample: "TABLESAMPLE",
    exp.CurrentDate: "current_date",
    exp.CurrentTime: "current_time",
    exp.CurrentTimestamp: "current_timestamp",
    exp.Hint: "/*+ … */",
}

# The parser lets arguments be left out that a node cannot do without; these nodes can.
NEEDED = ("this", "expression", "low", "high", "to", "unit")
WITHOUT_PARTS = (exp.Case, exp.Count, exp.TableAlias)

KNOWN_FUNCTIONS = (
    *("sum", "avg", "count", "var_pop", "var_samp", "variance", "stddev", "stddev_pop", "stddev_samp", "covar_pop"),
    *("covar_samp", "corr", "regr_slope", "power", "exp", "ln", "sqrt", "sin", "cos", "tanh", "above", "between"),
    *("greatest", "least", "floor", "ceil", "round", "abs", "sign", "coalesce", "year", "quarter", "month", "week"),
    *("day", "dayofyear", "isodow", "hour", "minute", "date_trunc", "extract", "date", "histogram", "cumulative"),
)


@dataclass(frozen=True)
class Wording:
    """The text of the question, for refusals that quote it; what to ask instead differs for a table of records."""

    text: str
    about_records: bool = False

    def piece(self, node: exp.Expression) -> str:
        """Give the part of the text that a node was read from, on one line."""
        if isinstance(node, WITHIN) and isinstance(node.parent, exp.Expression) and "start" in node.parent.meta:
            return self.piece(node.parent)
        places = [part.meta for part in node.walk() if "start" in part.meta]
        if not places or type(node) in WITHOUT_PLACE:
            return shown(WITHOUT_PLACE.get(type(node), node.key))
        first, last = min(place["start"] for place in places), max(place["end"] for place in places)
        rest = self.text[last + 1 :]
        if "start" in node.meta and rest.lstrip().startswith("("):  # a function whose arguments have no place: count(*)
            last += 1 + len(rest) - len(rest.lstrip())
        ending = ENDINGS.get(type(node))
        if ending is not None and (rest_of_node := ending.match(self.text, last + 1)):
            last = rest_of_node.end() - 1
        first = self._begun(node, first)
        while last + 1 < len(self.text) and self._open(first, last):
            last += 1
        return shown(self.text[first : last + 1])

    def _begun(self, node: exp.Expression, first: int) -> int:
        """Go back to the word or sign that a node begins with: only names and constants have places of their own."""
        part: object = node
        while isinstance(part, exp.Expression) and "start" not in part.meta:
            if type(part) in BEGINNINGS:
                begin = self.text.lower().rfind(BEGINNINGS[type(part)], 0, first)
                return first if begin < 0 else begin
            part = part.args.get("this")
        return first

    def _open(self, first: int, last: int) -> bool:
        part = self.text[first : last + 1]
        return part.count("(") > part.count(")")

    def refusal(self, node: exp.Expression, reason: str, message: str) -> RefusedError:
        """Give the error to raise: the piece of the question, then the message."""
        piece = self.piece(node)
        return RefusedError(f"{piece} {message}", reason=reason, piece=piece)

    def quoting(self, node: exp.Expression, how: tuple[Any, ...], reader: Any, check: Callable[[Any], Any]) -> Any:
        """Read a node, of which some arguments are understood, and check what was read.

        What is refused without a piece of the question is about this node.
        """
        read, *understood = how
        if understood:
            self.only(node, *understood)
        try:
            return check(read(reader, node))
        except RefusedError as error:
            if "piece" in error.fields:
                raise
            told = error
        raise self.refusal(node, str(told.fields["reason"]), str(told))

    def unanswered(self, node: exp.Expression) -> RefusedError:
        """Give the error for a node that has no place where it stands."""
        if isinstance(node, exp.Anonymous):
            return self._unknown_function(node)
        for kind, reason, message in (*(OF_RECORDS if self.about_records else ()), *UNANSWERED):
            if isinstance(node, kind):
                return self.refusal(node, reason, message)
        return self.refusal(node, "syntax", f"has no meaning here: {PLAIN}")

    def _unknown_function(self, node: exp.Anonymous) -> RefusedError:
        name = str(node.this).lower()
        if self.about_records and name in NAMED_OF_RECORDS:
            return self.refusal(node, *NAMED_OF_RECORDS[name])
        if name in ANONYMOUS:
            return self.refusal(node, *ANONYMOUS[name])
        meant = f"did you mean {CALLED_ELSEWHERE[name]}?" if name in CALLED_ELSEWHERE else near(name, KNOWN_FUNCTIONS)
        others = "there are sum, avg, count, variance, stddev, corr, ln, exp, sqrt, above, between, greatest, year …"
        return self.refusal(node, "function", f"calls a function that is not supported; {meant or others}")

    def only(self, node: exp.Expression, *understood: str) -> None:
        """Refuse a node with any argument that is not understood, or without one that is needed.

        An argument without content is none.
        """
        for slot, value in node.args.items():
            if slot in understood or value is None or value is False or value == []:
                continue
            part = value[0] if isinstance(value, list) else value
            if isinstance(part, exp.Expression):
                raise self.unanswered(part)
            raise self.refusal(node, "syntax", f"says {slot.strip('_')!r}, which has no meaning here: {PLAIN}")
        if type(node) not in WITHOUT_PARTS and any(
            node.args.get(slot) is None for slot in understood if slot in NEEDED
        ):
            raise self.refusal(node, "function", "is incomplete: give all its arguments")


def near(name: str, known: Iterable[str]) -> str:
    """Suggest names that look alike.

    >>> near("kw", ["kwh", "tariff"])
    'did you mean kwh?'
    """
    found = close_to(name, known)
    return f"did you mean {' or '.join(found)}?" if found else ""


def check_power(node: exp.Expression, words: Wording) -> None:
    """Refuse -x^2 and x^y^z, which systems read differently; the function power() has no such doubt."""
    if "start" in node.meta:
        return
    for side in (node.this, node.expression):
        if (type(side) is exp.Pow and "start" not in side.meta) or (side is node.this and type(side) is exp.Neg):
            raise words.refusal(node, "syntax", "is read differently by different systems: add parentheses")
