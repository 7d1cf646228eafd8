"""What has no price is refused in words: which expression, what it may be, what to ask instead."""

from fractions import Fraction

import pytest
from pricing_reference import ALWAYS, Row, World, call, constant, mean, p, x, y

from errorfloor.arithmetic.polynomial import Polynomial
from errorfloor.errors import RefusedError
from errorfloor.sql.plan import Apply, Compare, Count, Covariance, Formula, Quotient, Sum, Times, WeightedMean

WORLD = World((Row("a", "n", 0, 4, 1), Row("a", "n", 1, -8, 2)))
VARIANCE = Covariance(x, x, ALWAYS, sample=False)


def refusal(formula: Formula, world: World = WORLD) -> str:
    with pytest.raises(RefusedError) as caught:
        world.bounds(formula)
    assert caught.value.fields["reason"] == "unbounded"
    return str(caught.value)


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        (mean(call("ln", x)), "ln(x) cannot be answered: x can lie anywhere in 0 … 5"),
        (mean(call("ln", x)), "ask for ln(greatest(x, 0.005))"),
        (mean(call("sqrt", x)), "sqrt(greatest(x, 0.005))"),
        (mean(call("reciprocal", y)), "1 / (greatest(y, 0.003))"),
        (mean(call("power", x, Fraction(1, 3))), "power(greatest(x, 0.005), 1/3)"),
        (mean(call("ln", p) * x), "p can lie anywhere in -2 … 1"),
        (mean(call("exp", x * 10)), "at most 1.1e+12 is kept exactly"),
        (Apply("sqrt", (), VARIANCE), "ask for sqrt(greatest(var_pop(x), 0.006))"),
        (
            Quotient(
                Covariance(x, y, ALWAYS, sample=False),
                Apply("sqrt", (), Times((VARIANCE, Covariance(y, y, ALWAYS, sample=False)))),
            ),
            "ask for sqrt(greatest(var_pop(x) * var_pop(y), 0.04))",
        ),
        (
            Quotient(Covariance(x, y, ALWAYS, sample=False), VARIANCE),
            "ask for (covar_pop(x, y)) / greatest(var_pop(x), 0.006)",
        ),
        (Quotient(constant(1), Sum(y, ALWAYS)), "the denominator can lie anywhere in -4 … 6"),
        (WeightedMean(x, y, ALWAYS), "the weight y can lie anywhere in -2 … 3"),
        (WeightedMean(y, x, ALWAYS), "ask with the weight greatest(x, 0.005)"),
    ],
)
def test_unbounded_derivatives_are_refused_with_a_way_out(formula: Formula, words: str) -> None:
    assert words in refusal(formula)


def test_the_way_out_is_answered() -> None:
    cut = Apply("greatest", (Fraction(6, 1000),), VARIANCE)
    assert WORLD.bounds(Apply("sqrt", (), cut)).outputs[0].defined.all()
    assert WORLD.bounds(mean(call("ln", call("greatest", x, Fraction(5, 1000))))).outputs[0].defined.all()


def test_powers_above_one_may_start_at_zero() -> None:
    assert WORLD.bounds(mean(call("power", x, Fraction(3, 2)))).outputs[0].defined.all()
    assert WORLD.bounds(mean(call("power", call("greatest", y, 0), Fraction(3, 2)))).outputs[0].defined.all()


def test_rows_left_out_do_not_refuse_a_question() -> None:
    positive = Compare("<", Polynomial.constant(0), p)
    assert WORLD.bounds(Sum(call("ln", p) * x, positive)).outputs[0].defined.all()


def test_nulls_follow_from_public_facts() -> None:
    nothing = Compare("<", Polynomial.constant(100), p)
    single = Compare("<", Polynomial.constant(0), p)
    outputs = WORLD.bounds(
        Sum(x, nothing),
        mean(x, nothing),
        Covariance(x, x, single, sample=True),
        Quotient(Sum(x, ALWAYS), Count(nothing)),
        Quotient(Sum(x, ALWAYS), Covariance(x, x, single, sample=False)),
        Covariance(x, x, single, sample=False),
    ).outputs
    assert [bool(output.defined[0]) for output in outputs] == [False] * 5 + [True]
    for output in outputs[:5]:
        assert output.error[0] == output.owner[0] == 0
        assert not any(slopes.values.any() for slopes in output.slopes.values())


def test_no_error_is_ever_claimed_to_be_zero() -> None:
    output = WORLD.bounds(Sum(x - x, ALWAYS), constant(0), Count(ALWAYS)).outputs
    assert all((one.error > 0).all() for one in output)


def test_a_formula_beyond_doubles_is_refused() -> None:
    huge = Times(tuple(constant(Fraction(10) ** 60) for _ in range(6)))
    assert "has no bound that fits a number" in refusal(Times((huge, mean(x))))
