"""The walk over one row: enclosures of a polynomial, of its derivatives and of its evaluation error.

A polynomial is split into what is public and exact and what is not. Which public facts a price needs follows from the
public factors of its terms.

They are computed on boxes that together cover the declared ranges of the private columns, for each part of the rows,
and then joined. Functions are enclosed together with all errors of their evaluation, so that what holds on the
enclosures holds for the exact number and for the number the engine computes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from errorfloor.arithmetic.polynomial import ONE, Monomial, Node, Polynomial, order_of
from errorfloor.checks import Array
from errorfloor.pricing.facts import Facts
from errorfloor.pricing.functions import FUNCTIONS, TINY
from errorfloor.pricing.interval import ZERO, Enclosure, quiet, up
from errorfloor.pricing.words import no_derivative
from errorfloor.sql.plan import Call, Condition, TableColumn
from errorfloor.sql.sums import ARGUMENT_ERROR, FUNCTION_ERROR, POWER_ERROR, ROUNDING_ERROR

PIECES = {1: 256, 2: 24, 3: 8, 4: 4}  # of each private column's range, by the number of private columns
MOST_NUMBERS = 2**18  # parts × boxes of all polynomials of a question together, at most
AS_A_DOUBLE = Enclosure.of(1 - ARGUMENT_ERROR, 1 + ARGUMENT_ERROR)

# compared by identity: a factor that changes nothing is left out, which keeps ends exact
UNITY = Enclosure.of(1.0, 1.0)

Ranges = Mapping[str, tuple[Fraction, Fraction]]


@dataclass(frozen=True)
class Term:
    """``factor`` · ``public`` · ``rest``, where ``public`` is a polynomial of public columns."""

    factor: Fraction
    public: Polynomial
    rest: Monomial


@dataclass(frozen=True)
class Form:
    """A sum of terms whose rests are all different."""

    terms: tuple[Term, ...]

    @property
    def variables(self) -> tuple[Node, ...]:
        """The private columns and functions that occur, in canonical order."""
        found = {atom for term in self.terms for atom, _ in term.rest}
        return tuple(sorted(found, key=order_of))

    @property
    def is_public(self) -> bool:
        """Whether it holds neither a private column nor a function."""
        return all(term.rest == ONE for term in self.terms)

    @property
    def repeats(self) -> bool:
        """Whether some variable occurs in more than one term, so that terms may cancel."""
        seen = [atom for term in self.terms for atom, _ in term.rest]
        return len(set(seen)) < len(seen)

    def derivative(self, by: Node) -> "Form":
        """Give the partial derivative by one private column or function, the others held fixed."""
        return _derivative(self, by)

    def enclosure(self, public: Callable[[Term], Enclosure], value: Callable[[Node], Enclosure]) -> Enclosure:
        """Enclose it: term by term, and where terms may cancel also by the mean-value form.

        The mean-value form is p(c) + Σ ∂p/∂v(box)·(v − c_v) with c inside the box of the variables. ``public`` encloses
        factor · C on the rows concerned, ``value`` a private column or a function.
        """
        natural = self._natural(public, value)
        if not self.repeats:
            return natural
        result = self._natural(public, lambda atom: value(atom).middle)
        for atom in self.variables:
            box = value(atom)
            result = result + self.derivative(atom)._natural(public, value) * (box - box.middle)
        return natural.meet(result)

    def _natural(self, public: Callable[[Term], Enclosure], value: Callable[[Node], Enclosure]) -> Enclosure:
        total = ZERO
        for term in self.terms:
            product = public(term)
            for atom, exponent in term.rest:
                power = value(atom) ** exponent if exponent > 1 else value(atom)
                product = power if product is UNITY else product * power
            total = product if total is ZERO else total + product
        return total


@lru_cache(maxsize=4096)
def form_of(polynomial: Polynomial) -> Form:
    """Split a polynomial; the public part of each term is multiplied out.

    >>> x = Polynomial.atom(TableColumn(0, "kwh", "number", private=True, step=Fraction(1)))
    >>> p = Polynomial.atom(TableColumn(0, "rooms", "number", step=Fraction(1)))
    >>> [str(term.factor) for term in form_of(x * p + x * 2 + 1).terms], form_of(p * p).is_public
    (['1', '1'], True)
    """
    parts: dict[Monomial, list[tuple[Monomial, Fraction]]] = {}
    for monomial, coefficient in polynomial.terms:
        public = tuple(item for item in monomial if not is_variable(item[0]))
        rest = tuple(item for item in monomial if is_variable(item[0]))
        parts.setdefault(rest, []).append((public, coefficient))
    return Form(tuple(Term(Fraction(1), Polynomial.of(terms), rest) for rest, terms in parts.items()))


def is_variable(atom: Node) -> bool:
    """Tell whether an atom is a private column or a function, not an exact public number."""
    return isinstance(atom, Call) or (isinstance(atom, TableColumn) and atom.private)


@lru_cache(maxsize=4096)
def _derivative(form: Form, by: Node) -> Form:
    terms = []
    for term in form.terms:
        exponent = dict(term.rest).get(by, 0)
        if exponent:
            rest = tuple((atom, power - (atom == by)) for atom, power in term.rest if (atom, power) != (by, 1))
            terms.append(Term(term.factor * exponent, term.public, rest))
    return Form(tuple(terms))


def calls_of(polynomial: Polynomial) -> tuple[Call, ...]:
    """Give the functions in a polynomial and inside their arguments, inner ones first."""
    each = [atom for atom in sorted(polynomial.atoms, key=order_of) if isinstance(atom, Call)]
    return tuple(dict.fromkeys(one for atom in each for one in (*calls_of(atom.argument), atom)))


def private_columns(polynomial: Polynomial) -> tuple[TableColumn, ...]:
    """Give the private columns in a polynomial and inside its functions, in canonical order."""
    found = {atom for atom in polynomial.atoms if isinstance(atom, TableColumn) and atom.private}
    for call in calls_of(polynomial):
        found.update(atom for atom in call.argument.atoms if isinstance(atom, TableColumn) and atom.private)
    return tuple(sorted(found, key=order_of))


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
        return (found.over_last_axis() if found.low.ndim == 2 else found).broadcast(self.active.shape)


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
