"""Names: which columns a question can see, what they are, and what is selected without a name of its own; and units.

Units of answers are for display: kWh, kWh², kWh/°C; nothing where they are not clear. A unit is a product of the
declared units of columns, each to a rational power. What has no declared unit, or is a sum of different units, has no
clear one. A constant takes the unit of what it is added to.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from errorfloor.arithmetic.polynomial import Node, Polynomial
from errorfloor.catalogue.model import Table
from errorfloor.errors import RefusedError
from errorfloor.sql import plan
from errorfloor.sql.plan import Condition, ScalarType, TableColumn
from errorfloor.sql.question import Join, QuestionOutput
from errorfloor.sql.refusals import Wording, near

ROW_NUMBERS = ("rowid", "rownum", "_rowid_", "ctid", "rownumber")
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
Unit = Mapping[str, Fraction] | None  # None: not clear
PURE: Unit = {}
SAME = ("greatest", "least")
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Visible:
    """A column under the name by which the question can use it; a merged one needs its table's name before it."""

    qualifier: str
    name: str
    column: TableColumn
    unit: str
    merged: bool = False


@dataclass(frozen=True)
class Relation:
    """Rows of a table, with public tables joined to it, that fulfil a condition, under visible names."""

    words: Wording
    table: str
    version: str
    joins: tuple[Join, ...]
    where: Condition
    columns: tuple[Visible, ...]
    is_exact: bool = False  # whether every value may be compared: those of a table that protects records

    def find(self, node: exp.Column) -> Visible:
        """Give the column that a name means."""
        self.words.only(node, "this", "table")
        qualifier = name_of(node.args["table"], self.words) if node.args.get("table") else None
        return self.named(node.this, qualifier, node)

    def named(self, identifier: exp.Expression, qualifier: str | None, node: exp.Expression) -> Visible:
        """Give the column of this name; ``node`` is what a refusal quotes."""
        name = name_of(identifier, self.words)
        if qualifier is not None and not any(same(visible.qualifier, qualifier) for visible in self.columns):
            known = {visible.qualifier for visible in self.columns}
            advice = near(qualifier, known) or "tables here: " + ", ".join(sorted(known))
            raise self.words.refusal(node, "table", f"names a table that is not in FROM; {advice}")
        found = list(self._matching(name, qualifier))
        if not found:
            if name.lower() in ROW_NUMBERS:
                raise self.words.refusal(node, "random", "depends on where rows are kept: use the declared row key")
            known = {visible.name for visible in self.columns}
            text = f"a text is written '{name}'; " if _is_operand(node) else ""
            advice = near(name, known) or f"{text}columns here: " + ", ".join(sorted(known))
            raise self.words.refusal(node, "column", f"is not a column here; {advice}")
        if len(found) > 1:
            tables = " or ".join(f"{visible.qualifier}.{visible.name}" for visible in found)
            raise self.words.refusal(node, "column", f"is ambiguous, it could be {tables}: say which")
        return found[0]

    def _matching(self, name: str, qualifier: str | None) -> Iterator[Visible]:
        for visible in self.columns:
            fits = not visible.merged if qualifier is None else same(visible.qualifier, qualifier)
            if fits and same(visible.name, name):
                yield visible

    def renamed(self, qualifier: str) -> "Relation":
        """Give the same rows under another table name."""
        return replace(self, columns=tuple(replace(visible, qualifier=qualifier) for visible in self.columns))


def _is_operand(node: exp.Expression) -> bool:
    """Say whether something is compared, so that it may be meant for a text."""
    parent = node.parent
    return isinstance(parent, (exp.EQ, exp.NEQ, exp.Like)) or (isinstance(parent, exp.In) and parent.this is not node)


def columns_of(table: Table, qualifier: str, place: int, *, left_joined: bool = False) -> tuple[Visible, ...]:
    """Give the columns of a declared table; which of them may be null follows from the declaration."""
    visible = [
        Visible(
            qualifier,
            name,
            TableColumn(place, name, "number", True, private.resolution, private.nulls == "public" or left_joined),
            private.unit,
        )
        for name, private in table.private.items()
    ]
    for name, public in table.compared.items():
        kind: ScalarType = "number" if public.type in ("whole", "number") else public.type  # type: ignore[assignment]
        nullable = left_joined or not (name in table.row_key or table.hides_records)
        visible.append(
            Visible(qualifier, name, TableColumn(place, name, kind, False, public.step, nullable), public.unit)
        )
    return tuple(visible)


def name_of(identifier: exp.Expression, words: Wording) -> str:
    """Give the text of a plain name."""
    if type(identifier) is not exp.Identifier:
        raise words.unanswered(identifier)
    words.only(identifier, "this", "quoted")
    return str(identifier.this)


def same(one: str, two: str) -> bool:
    """Tell whether two names are the same: capital letters do not matter, quoted or not.

    >>> same("kWh", "KWH"), same("K", "\N{KELVIN SIGN}")
    (True, False)
    """
    return one.isascii() == two.isascii() and one.lower() == two.lower()


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


def check_different(names: Sequence[str]) -> None:
    """Refuse two columns of an answer that have the same name."""
    for place, name in enumerate(names):
        if any(same(name, other) for other in names[:place]):
            raise RefusedError(f"two columns of the answer are named {name!r}: rename one with AS", reason="column")


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


def columns_shown(asked: Sequence[str], outputs: Sequence[QuestionOutput]) -> tuple[str, ...]:
    """Give the names of the columns of an answer: one or several for each thing that is asked for."""
    several: dict[str, dict[str, None]] = {}
    for one in outputs:
        several.setdefault(one.family, {})[one.asked_as] = None
    shown = [column for name in asked for column in several.get(name, (name,))]
    check_different(shown)
    return tuple(shown)


def display_unit(formula: plan.Formula, unit_of: Callable[[plan.TableColumn], str]) -> str:
    """Give the unit of a formula as it is shown; an empty text where there is none or it is not clear.

    >>> x = Polynomial.atom(plan.TableColumn(0, "kwh", "number", private=True, step=Fraction(1)))
    >>> from errorfloor.sql.plan import Always
    >>> display_unit(plan.Covariance(x, x, Always(), sample=False), lambda column: "kWh")
    'kWh²'
    """
    unit = _of_formula(formula, unit_of)
    return "" if unit is None else _written(unit)


def _of_formula(formula: plan.Formula, unit_of: Callable[[plan.TableColumn], str]) -> Unit:
    match formula:
        case plan.Constant() | plan.Count():
            return PURE
        case plan.Sum(of, _):
            return _of_polynomial(of, unit_of)
        case plan.WeightedMean(value, _, _):
            return _of_polynomial(value, unit_of)
        case plan.Covariance(first, second, _, _):
            return _product([_of_polynomial(first, unit_of), _of_polynomial(second, unit_of)])
        case plan.Plus(parts):
            return _common(_of_formula(part, unit_of) for part in parts if not isinstance(part, plan.Constant))
        case plan.Times(parts):
            return _product(_of_formula(part, unit_of) for part in parts)
        case plan.Quotient(numerator, denominator):
            below = _power(_of_formula(denominator, unit_of), Fraction(-1))
            return _product([_of_formula(numerator, unit_of), below])
        case plan.Power(base, exponent):
            return _power(_of_formula(base, unit_of), Fraction(exponent))
        case plan.Apply(function, _, argument):
            return _of_function(function, (), _of_formula(argument, unit_of))


def _of_polynomial(polynomial: Polynomial, unit_of: Callable[[plan.TableColumn], str]) -> Unit:
    terms = [monomial for monomial, _ in polynomial.terms if monomial]
    return _common(
        _product(_power(_of_atom(atom, unit_of), Fraction(exponent)) for atom, exponent in monomial)
        for monomial in terms
    )


def _of_atom(atom: Node, unit_of: Callable[[plan.TableColumn], str]) -> Unit:
    match atom:
        case plan.TableColumn():
            unit = unit_of(atom)
            return {unit: Fraction(1)} if unit else None
        case plan.Indicator():
            return PURE
        case plan.Call(function, parameters, argument):
            return _of_function(function, parameters, _of_polynomial(argument, unit_of))
        case _:
            return None


def _of_function(function: str, parameters: tuple[Fraction, ...], unit: Unit) -> Unit:
    if function in SAME:
        return unit
    if function == "sqrt":
        return _power(unit, Fraction(1, 2))
    if function == "reciprocal":
        return _power(unit, Fraction(-1))
    if function == "power":
        return _power(unit, parameters[0])
    return PURE


def _product(units: Iterable[Unit]) -> Unit:
    total: dict[str, Fraction] = {}
    for unit in units:
        if unit is None:
            return None
        for name, exponent in unit.items():
            total[name] = total.get(name, Fraction(0)) + exponent
    return {name: exponent for name, exponent in total.items() if exponent}


def _power(unit: Unit, exponent: Fraction) -> Unit:
    return None if unit is None else {name: own * exponent for name, own in unit.items()}


def _common(units: Iterable[Unit]) -> Unit:
    given = list(units)
    if not given:
        return PURE
    return given[0] if all(unit == given[0] for unit in given) else None


def _written(unit: Mapping[str, Fraction]) -> str:
    above = [_factor(name, exponent) for name, exponent in sorted(unit.items()) if exponent > 0]
    below = [_factor(name, -exponent) for name, exponent in sorted(unit.items()) if exponent < 0]
    if not below:
        return "·".join(above)
    denominator = below[0] if len(below) == 1 else f"({'·'.join(below)})"
    return f"{'·'.join(above) or '1'}/{denominator}"


def _factor(name: str, exponent: Fraction) -> str:
    plain = name if exponent == 1 or not any(sign in name for sign in "/·*^ ²³") else f"({name})"
    if exponent.denominator > 1:
        return f"{plain}^({exponent})"
    return plain if exponent == 1 else f"{plain}{str(exponent).translate(SUPERSCRIPTS)}"
