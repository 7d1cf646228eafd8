"""The walk over one row: enclosures of a polynomial, of its derivatives and of its evaluation error.

They are computed on boxes that together cover the declared ranges of the private columns, for each part of the rows,
and then joined. Functions are enclosed together with all errors of their evaluation, so that what holds on the
enclosures holds for the exact number and for the number the engine computes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from errorfloor.arithmetic.polynomial import Monomial, Node, Polynomial
from errorfloor.checks import Array
from errorfloor.pricing.facts import Facts
from errorfloor.pricing.forms import UNITY, Form, Term, calls_of, form_of, private_columns
from errorfloor.pricing.functions import FUNCTIONS, TINY
from errorfloor.pricing.interval import ZERO, Enclosure, quiet, up
from errorfloor.pricing.words import no_derivative
from errorfloor.sql.plan import Call, Condition, TableColumn
from errorfloor.sql.sums import ARGUMENT_ERROR, FUNCTION_ERROR, POWER_ERROR, ROUNDING_ERROR

PIECES = {1: 256, 2: 24, 3: 8, 4: 4}  # of each private column's range, by the number of private columns
MOST_NUMBERS = 2**18  # parts × boxes of all polynomials of a question together, at most
AS_A_DOUBLE = Enclosure.of(1 - ARGUMENT_ERROR, 1 + ARGUMENT_ERROR)

Ranges = Mapping[str, tuple[Fraction, Fraction]]


@dataclass(frozen=True, eq=False)
class Enclosed:
    """A function on the boxes: its value with all errors inside, its derivative there, and the error."""

    value: Enclosure
    slope: Enclosure
    error: Array


class PricedRows:
    """One polynomial on the rows of each part for which a condition holds.

    ``active`` are the parts that have such rows; the arrays of a result run over them. ``bits`` may still be filled in
    after construction: ``reach`` of a function needs those of the functions inside it only.
    """

    def __init__(
        self,
        polynomial: Polynomial,
        where: Condition,
        facts: Facts,
        ranges: Ranges,
        bits: Mapping[Call, int],
        most: int = MOST_NUMBERS,
    ) -> None:
        self.form = form_of(polynomial)
        self.columns = private_columns(polynomial)
        self.calls = calls_of(polynomial)
        self.active = np.flatnonzero(facts.count(where) > 0)
        self._facts, self._where, self._bits, self._ranges = facts, where, bits, ranges
        self._boxes = self._divided(ranges, most)
        self._public: dict[tuple[Fraction, Polynomial], Enclosure] = {}
        self._value: Enclosure | None = None
        self._slopes: dict[str, Enclosure] = {}
        self._unrounded: dict[Call, Enclosed] = {}
        self._stored: dict[Call, Enclosed] = {}

    # -- results, one for each active part

    def value(self) -> Enclosure:
        """Enclose the polynomial on a row."""
        if self._value is None:
            self._value = self._joined(self._enclosure(self.form))
        return self._value

    def slope(self, column: str) -> Enclosure:
        """Enclose the derivative by the row's own entry of a private column."""
        if column not in self._slopes:
            found = [mine for mine in self.columns if mine.name == column]
            self._slopes[column] = self._joined(self._slope(self.form, found[0]) if found else ZERO)
        return self._slopes[column]

    @quiet
    def move(self) -> Array:
        """Bound how far the polynomial moves when all private entries of one row change: its public ones do not.

        The least of three bounds: the width of its values, Σ |coefficient|·width(rest) over its terms, and Σ
        sup|∂g/∂x|·width(x) over the private columns.
        """
        by_terms, by_slopes = np.zeros(self.active.shape), np.zeros(self.active.shape)
        for term in self.form.terms:
            by_terms = up(by_terms + up(self._joined(self._coefficient(term)).magnitude * self.rest(term.rest).width))
        for column in self.columns:
            low, high = self._ranges[column.name]
            by_slopes = up(by_slopes + up(self.slope(column.name).magnitude * Enclosure.exact(high - low).high))
        least: Array = np.minimum(np.minimum(self.value().width, by_terms), by_slopes)
        return least

    def curve(self) -> tuple[str, Enclosure, Array] | None:
        """Give the private column that it is a function of, and on each piece of its range values and steepest slope.

        None where it depends on several or on none, is no curve, or differs from part to part.
        """
        if len(self.columns) != 1 or next(iter(self._boxes.values())).low.shape[-1] == 1:
            return None
        value, slope = self._enclosure(self.form), self._slope(self.form, self.columns[0]).magnitude
        shape = np.broadcast_shapes((1, 1), value.low.shape, slope.shape)
        if shape[0] != 1:
            return None
        return self.columns[0].name, value.broadcast(shape)[0], np.broadcast_to(slope, shape)[0]

    def error(self) -> Array:
        """Bound what evaluating the polynomial on a row is off by."""
        return self._joined(ZERO.widened(self._error(self.form))).high

    def rest(self, monomial: Monomial) -> Enclosure:
        """Enclose a product of private columns and functions."""
        return self._joined(self._enclosure(Form((Term(Fraction(1), Polynomial.constant(1), monomial),))))

    def reach(self, call: Call) -> float:
        """Bound the absolute value of a function before it is rounded to its stored integer."""
        return float(np.max(self._computed(call).value.magnitude, initial=0.0))

    # -- the walk

    def _enclosure(self, form: Form) -> Enclosure:
        return form.enclosure(self._coefficient, self._variable)

    def _slope(self, form: Form, column: TableColumn) -> Enclosure:
        """∂g/∂x = ∂g/∂x with functions held fixed + Σ ∂g/∂function · function′(argument) · ∂argument/∂x."""
        total = self._enclosure(form.derivative(column))
        for call in form.variables:
            if isinstance(call, Call) and column in private_columns(call.argument):
                inner = self._call(call).slope * self._slope(form_of(call.argument), column)
                total = total + self._enclosure(form.derivative(call)) * inner
        return total

    @quiet
    def _error(self, form: Form) -> Array:
        """Bound |g(computed functions) − g(exact functions)| ≤ Σ sup|∂g/∂function| · error(function)."""
        total: Array = np.zeros(())
        for call in form.variables:
            if isinstance(call, Call):
                total = up(total + up(self._enclosure(form.derivative(call)).magnitude * self._call(call).error))
        return total

    def _coefficient(self, term: Term) -> Enclosure:
        """Enclose factor · C on the rows of each part."""
        constant = term.public.value
        if constant is not None:
            return UNITY if constant * term.factor == 1 else Enclosure.exact(constant * term.factor)
        key = term.factor, term.public
        if key not in self._public:
            found = self._facts.fact(term.public, self._where).range[self.active].reshape(-1, 1)
            self._public[key] = found if term.factor == 1 else Enclosure.exact(term.factor) * found
        return self._public[key]

    def _variable(self, atom: Node) -> Enclosure:
        return self._call(atom).value if isinstance(atom, Call) else self._boxes[atom]

    def _call(self, call: Call) -> Enclosed:
        """Add the rounding to a stored integer to what the computed function is off by."""
        if call not in self._stored:
            computed, rounding = self._computed(call), ROUNDING_ERROR * 2.0 ** -self._bits[call]
            value = _sign_kept(computed.value, computed.value.widened(rounding))
            self._stored[call] = Enclosed(value, computed.slope, up(computed.error + rounding))
        return self._stored[call]

    @quiet
    def _computed(self, call: Call) -> Enclosed:
        """Enclose a function as the engine computes it, before its value is rounded to a stored integer.

        |computed − exact| ≤ sup|f′| · (error of the argument) + error of the function itself, the supremum over all
        arguments between the exact and the computed one: the enclosure of the argument holds both.
        """
        if call not in self._unrounded:
            function, form = FUNCTIONS[call.function], form_of(call.argument)
            inner, argument = self._error(form), self._enclosure(form)
            if call.function != "above":
                argument = argument * AS_A_DOUBLE  # keeps the sign
            if not function.domain(argument, call.parameters).all():
                raise no_derivative(call.function, call.parameters, call.argument, argument)
            value, slope = function.value(argument, call.parameters), function.slope(argument, call.parameters)
            own = _own_error(call, argument, value, slope)
            error = up(up(slope.magnitude * inner) + own)
            self._unrounded[call] = Enclosed(_sign_kept(value, value.widened(own)), slope, error)
        return self._unrounded[call]

    # -- boxes

    def _divided(self, ranges: Ranges, most: int) -> dict[Node, Enclosure]:
        """Cover the ranges with boxes: one if every enclosure on it is exact, else a grid, no finer than affordable."""
        count = len(self.columns)
        curved = self.form.repeats or any(private_columns(call.argument) for call in self.calls)
        pieces = PIECES.get(count, 2 if count <= 8 else 1) if curved else 1
        forms = [self.form, *(form_of(call.argument) for call in self.calls)]
        varied = any(term.public.value is None for form in forms for term in form.terms)  # else all parts are alike
        while pieces > 1 and pieces**count * (self.active.size if varied else 1) > most:
            pieces -= 1
        grid = np.indices((pieces,) * count).reshape(count, pieces**count)
        boxes: dict[Node, Enclosure] = {}
        for column, index in zip(self.columns, grid, strict=True):
            low, high = (Enclosure.exact(end) for end in ranges[column.name])
            edges = np.linspace(low.low, high.high, pieces + 1)
            boxes[column] = Enclosure(edges[:-1][index].reshape(1, -1), edges[1:][index].reshape(1, -1))
        return boxes

    def _joined(self, found: Enclosure) -> Enclosure:
        """Give the hull over all boxes, for each active part."""
        hull = found.over_last_axis() if found.low.ndim == 2 else found
        return hull.broadcast(self.active.shape)


def _sign_kept(before: Enclosure, after: Enclosure) -> Enclosure:
    """Keep zero where it was an end: errors of functions are relative, and rounding to a grid through 0 keeps signs."""
    return Enclosure(
        np.where(before.low >= 0, np.maximum(after.low, 0.0), after.low),
        np.where(before.high <= 0, np.minimum(after.high, 0.0), after.high),
    )


@quiet
def _own_error(call: Call, argument: Enclosure, value: Enclosure, slope: Enclosure) -> Array:
    """Bound what the engine's function is off by: its argument becomes a double, then the function is computed.

    For ``above`` the promise for the function includes its argument.
    """
    relative = POWER_ERROR if call.function == "power" else FUNCTION_ERROR
    own = up(up(relative * value.magnitude) + TINY)
    if call.function == "above":
        return own
    return up(own + up(slope.magnitude * up(ARGUMENT_ERROR * argument.magnitude)))
