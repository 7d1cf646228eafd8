"""No private value within its range moves an answer faster than its price says, or is computed worse than it says."""

from fractions import Fraction

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from pricing_reference import (
    ALWAYS,
    Row,
    World,
    call,
    constant,
    p,
    q,
    x,
    y,
)
from pricing_soundness import CORPUS, violations

from errorfloor.arithmetic.polynomial import Polynomial
from errorfloor.errors import RefusedError
from errorfloor.sql.plan import (
    Apply,
    Compare,
    Condition,
    Count,
    Covariance,
    Formula,
    Indicator,
    Plus,
    Power,
    Quotient,
    RoundedDown,
    Sum,
    Times,
    WeightedMean,
)
from repeated import rounds

# -- a grammar of questions

small = st.sampled_from([Fraction(n, d) for n in (-3, -2, -1, 1, 2, 3) for d in (1, 2, 5)])
positive = st.sampled_from([Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(3)])
conditions: st.SearchStrategy[Condition] = st.sampled_from(
    [ALWAYS, ALWAYS, Compare("<=", Polynomial.constant(1), q), Compare("<", p, Polynomial.constant(2))]
)
leaves = st.sampled_from(
    [
        x,
        x,
        y,
        y,
        p,
        q,
        Polynomial.atom(Indicator(Compare("<", q, Polynomial.constant(2)))),
        Polynomial.atom(RoundedDown(p)),
    ]
)


@st.composite
def polynomials(draw: st.DrawFn, depth: int = 2) -> Polynomial:
    terms = []
    for _ in range(draw(st.integers(1, 3))):
        term = Polynomial.constant(draw(small))
        for _ in range(draw(st.integers(1, 2))):
            term = term * (draw(calls(depth - 1)) if depth and draw(st.integers(0, 2)) == 0 else draw(leaves))
        terms.append(term)
    total = Polynomial.constant(draw(st.sampled_from([0, 0, 1, -2])))
    for term in terms:
        total = total + term
    return total


@st.composite
def calls(draw: st.DrawFn, depth: int) -> Polynomial:
    inside = draw(polynomials(depth))
    tenth = inside * Fraction(1, 10)
    bound, width = draw(positive), draw(positive)
    return draw(
        st.sampled_from(
            [
                call("exp", tenth),
                call("ln", call("greatest", inside, bound)),
                call("ln", tenth * tenth + bound),
                call("sqrt", call("greatest", inside, bound)),
                call("sqrt", tenth * tenth + bound),
                call("reciprocal", call("greatest", inside, bound)),
                call("reciprocal", call("least", inside, -bound)),
                call("power", call("greatest", inside, 0), Fraction(3, 2)),
                call("power", call("greatest", inside, bound), Fraction(-1, 3)),
                call("sin", inside),
                call("cos", inside),
                call("tanh", inside),
                call("above", inside, bound, width),
                call("greatest", inside, bound),
                call("least", inside, bound),
            ]
        )
    )


@st.composite
def aggregates(draw: st.DrawFn) -> Formula:
    where = draw(conditions)
    one = draw(polynomials())
    match draw(st.integers(0, 6)):
        case 0:
            return Sum(one, where)
        case 1:
            return Quotient(Sum(one, where), Count(where))
        case 2:
            return Covariance(one, one, where, draw(st.booleans()))
        case 3:
            return Covariance(one, draw(polynomials(1)), where, draw(st.booleans()))
        case 4:
            return WeightedMean(one, draw(polynomials(0)) ** 2 + draw(positive), where)
        case 5:
            return WeightedMean(one, call("exp", draw(polynomials(0)) * Fraction(1, 10)), where)
        case _:
            return Count(where)


@st.composite
def formulas(draw: st.DrawFn, depth: int = 2) -> Formula:
    one = draw(aggregates()) if depth == 0 else draw(formulas(depth - 1))
    match draw(st.integers(0, 8)) if depth else -1:
        case 0:
            return Plus((one, draw(formulas(depth - 1))))
        case 1:
            return Times((one, draw(formulas(depth - 1)), constant(Fraction(1, 2))))
        case 2:
            return Quotient(one, Apply("greatest", (draw(positive),), draw(formulas(depth - 1))))
        case 3:
            return Power(one, draw(st.integers(2, 3)))
        case 4:
            return Apply("sqrt", (), Apply("greatest", (draw(positive),), one))
        case 5:
            return Apply("ln", (), Plus((Power(one, 2), constant(draw(positive)))))
        case 6:
            return Apply("tanh", (), one)
        case 7:
            return Apply("exp", (), Apply("least", (Fraction(2),), one))
    return one


rows = st.builds(
    Row,
    place=st.sampled_from(["a", "a", "b"]),
    region=st.sampled_from(["n", "s"]),
    owner=st.integers(0, 1),
    p=st.integers(-12, 12),
    q=st.integers(0, 4),
)
ranges = st.sampled_from(
    [
        {"x": (Fraction(0), Fraction(5)), "y": (Fraction(-2), Fraction(3))},
        {"x": (Fraction(-1), Fraction(1)), "y": (Fraction(2), Fraction(4))},
        {"x": (Fraction(7, 2), Fraction(4)), "y": (Fraction(-6), Fraction(-1))},
    ]
)
worlds = st.builds(World, st.lists(rows, min_size=1, max_size=6).map(tuple), ranges)


def test_bounds_hold_for_random_questions() -> None:
    """Few of the questions are refused, or the search would prove little."""
    answered: list[bool] = []

    @seed(1)
    @settings(
        max_examples=rounds(60),
        derandomize=False,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(worlds, formulas(), st.integers(0, 2**32))
    def search(world: World, formula: Formula, chance: int) -> None:
        try:
            wrong = violations(world, formula, chance, tries=6, entries=2)
        except RefusedError as refused:
            assert refused.fields["reason"] in ("unbounded", "too-long")
            answered.append(False)
        else:
            answered.append(True)
            assert not wrong

    search()
    assert len(answered) >= rounds(60)
    assert sum(answered) > 0.8 * len(answered)


@pytest.mark.parametrize("name", sorted(CORPUS))
def test_bounds_hold_for_each_rule(name: str) -> None:
    world, formula = CORPUS[name]
    assert not violations(world, formula, seed=1)
