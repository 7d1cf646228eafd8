"""Each rule of the walk, made wrong on purpose: the search for violations must notice every one of them."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from pricing_soundness import CORPUS, charge_violations, violations

from errorfloor.pricing import (
    bounding,
    covariance,
    formulas,
    functions,
    interval,
    joint,
    rows,
    weighted_mean,
)
from errorfloor.pricing import scene as scenes
from errorfloor.pricing.interval import UNIT, ZERO, Enclosure
from errorfloor.pricing.rows import Form, PricedRows
from errorfloor.pricing.scene import FormulaBound, Scene, Storage

Patch = Callable[[pytest.MonkeyPatch], None]
HALF = Enclosure.of(0.5, 0.5)


def _put(place: Any, name: str, wrong: Any) -> Patch:
    return lambda patch: patch.setattr(place, name, wrong)


def _function(name: str, **wrong: Any) -> Patch:
    right = functions.FUNCTIONS[name]
    return lambda patch: patch.setitem(functions.FUNCTIONS, name, replace(right, **wrong))


def _half_slope(name: str) -> Patch:
    slope = functions.FUNCTIONS[name].slope
    return _function(name, slope=lambda x, parameters: HALF * slope(x, parameters))


def _only_low(name: str) -> Patch:
    value = functions.FUNCTIONS[name].value
    return _function(name, value=lambda x, parameters: Enclosure(value(x, parameters).low, value(x, parameters).low))


def _changed(place: Any, name: str, change: Callable[[Any], Any]) -> Patch:
    """Let a function run, and change its result."""
    right = getattr(place, name)
    return _put(place, name, lambda *args: change(right(*args)))


def _derivative_without_exponent(self: Form, by: Any) -> Form:
    right = RIGHT_DERIVATIVE(self, by)
    return Form(tuple(replace(term, factor=Fraction(1 if term.factor > 0 else -1)) for term in right.terms))


RIGHT_DERIVATIVE = Form.derivative
RIGHT_DIVIDED = PricedRows._divided


def _slope_without_functions(self: PricedRows, form: Form, column: Any) -> Enclosure:
    return self._enclosure(form.derivative(column))


def _slope_without_function(self: PricedRows, form: Form, column: Any) -> Enclosure:
    """Forget f′ in the chain rule."""
    total = self._enclosure(form.derivative(column))
    for call in form.variables:
        if call in self.calls:
            inner = self._slope(rows.form_of(call.argument), column)  # type: ignore[attr-defined]
            total = total + self._enclosure(form.derivative(call)) * inner
    return total


def _without_last_box(self: PricedRows, ranges: Any, most: int) -> Any:
    boxes = RIGHT_DIVIDED(self, ranges, most)
    return {column: box[:, :-1] if box.low.size > 1 else box for column, box in boxes.items()}


def _middle_only(self: Form, public: Any, value: Any) -> Enclosure:
    return self._natural(public, lambda atom: value(atom).middle)


def _plus_of_one(one: FormulaBound, two: FormulaBound, scene: Scene) -> FormulaBound:
    return replace(one, value=one.value + two.value, defined=one.defined & two.defined)


def _times_of_one(one: FormulaBound, two: FormulaBound, scene: Scene) -> FormulaBound:
    there = two.value[scene.facts.group]
    slopes = {name: slope * there for name, slope in one.slopes.items()}
    return replace(RIGHT_TIMES(one, two, scene), slopes=slopes)


RIGHT_TIMES, RIGHT_QUOTIENT, RIGHT_POWER, RIGHT_APPLY = (
    formulas._times,
    formulas._quotient,
    formulas._power,
    formulas._apply,
)


def _without_error(bound: FormulaBound) -> FormulaBound:
    return replace(bound, error=bound.error * 1e-3)


def _half_move(bound: FormulaBound) -> FormulaBound:
    return replace(bound, move=bound.move * 0.5)


def _move_of_one(
    rule: Callable[[FormulaBound, FormulaBound, Scene], FormulaBound],
) -> Callable[[FormulaBound, FormulaBound, Scene], FormulaBound]:
    return lambda one, two, scene: replace(
        rule(one, two, scene), move=rule(one, replace(two, move=0 * two.move), scene).move
    )


def _quotient_of_numerator(node: Any, scene: Scene) -> FormulaBound:
    right = RIGHT_QUOTIENT(node, scene)
    above, below = (formulas.formula_bound(part, scene) for part in (node.numerator, node.denominator))
    under = below.value[scene.facts.group]
    return replace(right, slopes={name: slope / under for name, slope in above.slopes.items()})


def _power_without_exponent(node: Any, scene: Scene) -> FormulaBound:
    right = RIGHT_POWER(node, scene)
    share = Enclosure.exact(Fraction(1, node.exponent))
    return replace(right, slopes={name: slope * share for name, slope in right.slopes.items()})


def _apply_without_chain(node: Any, scene: Scene) -> FormulaBound:
    inner = formulas.formula_bound(node.argument, scene)
    return replace(RIGHT_APPLY(node, scene), slopes=inner.slopes)


def _all_rows_count(self: Scene, found_rows: PricedRows, found: Enclosure, where: Any) -> Enclosure:
    low, high = np.zeros(len(self.facts.rows)), np.zeros(len(self.facts.rows))
    low[found_rows.active], high[found_rows.active] = found.low, found.high
    return Enclosure(low, high)


def _rounded_to_nearest(results: list[Any], *_: Any) -> Enclosure:
    return Enclosure(np.minimum.reduce(results), np.maximum.reduce(results))


def _mean_charge(place: Any, values: Any, count: int) -> Any:
    return np.bincount(place, weights=values, minlength=count) / np.maximum(np.bincount(place, minlength=count), 1)


def _largest_of_columns(slopes: Any, scene: Scene) -> Any:
    moved = [slope.values * float(scene.ranges[name][1] - scene.ranges[name][0]) for name, slope in slopes.items()]
    return np.maximum.reduce(moved)


MUTANTS: dict[str, tuple[Patch, str]] = {
    # interval arithmetic
    "sums rounded to nearest": (_put(interval, "sum_down", lambda a, b: a + b), "long sum"),
    "products rounded to nearest": (_put(interval, "_outwards", _rounded_to_nearest), "long product"),
    "quotients rounded to nearest": (_put(interval, "_outwards", _rounded_to_nearest), "thirds"),
    "constants rounded to nearest": (_put(interval, "_below", lambda double, value: double), "weighted thirds"),
    "even powers without a turn": (
        _put(Enclosure, "__pow__", lambda self, k: Enclosure(self.low**k, self.high**k)),
        "squares",
    ),
    "groups add one part": (
        _put(scenes, "grouped_sum", lambda value, group, groups: value[np.searchsorted(group, np.arange(groups))]),
        "two columns",
    ),
    # the walk over a row
    "derivative without exponent": (_put(Form, "derivative", _derivative_without_exponent), "squares"),
    "chain rule without functions": (_put(PricedRows, "_slope", _slope_without_functions), "exp"),
    "chain rule without f′": (_put(PricedRows, "_slope", _slope_without_function), "exp"),
    "boxes leave a gap": (_put(PricedRows, "_divided", _without_last_box), "exp"),
    "enclosure at the middle": (_put(Form, "enclosure", _middle_only), "cancelling"),
    "public factor at its least": (
        _changed(PricedRows, "_coefficient", lambda found: Enclosure(found.low, found.low)),
        "sum with public factors",
    ),
    "every row counts": (_put(Scene, "at_parts", _all_rows_count), "sum of some rows"),
    # functions
    **{
        f"{name} half as steep": (_half_slope(name), name)
        for name in ("exp", "ln", "sqrt", "reciprocal", "power", "sin", "cos", "tanh", "above", "greatest", "least")
    },
    **{
        f"{name} at one end": (_only_low(name), example)
        for name, example in (
            *(("exp", "exp"), ("ln", "ln"), ("sqrt", "sqrt"), ("reciprocal", "reciprocal"), ("power", "power")),
            *(("sin", "wave"), ("cos", "cos"), ("tanh", "tanh"), ("above", "wide step"), ("least", "least of a mean")),
            ("greatest", "deviation"),
        )
    },
    "waves without a crest": (
        _put(functions, "_wave", lambda a, b, x, crest: Enclosure(np.minimum(a, b), np.maximum(a, b))),
        "crest",
    ),
    "greatest never undecided": (
        _function("greatest", slope=lambda x, c: functions._greatest_slope(Enclosure(x.low, x.low), c)),
        "deviation",
    ),
    # aggregates
    "covariance of one factor": (
        _changed(covariance, "_pull", lambda found: HALF * found),
        "covariance",
    ),
    "sample like population": (
        _put(covariance, "UNIT", HALF),
        "variance of a sample",
    ),
    "spread too small": (_changed(covariance, "_deviation", lambda found: found * HALF), "variance"),
    "one row is a sample": (
        _changed(formulas, "covariance_bound", lambda bound: replace(bound, defined=np.ones_like(bound.defined))),
        "variance of a sample",
    ),
    "weights do not pull": (
        _changed(weighted_mean, "_shares", lambda both: (both[0], ZERO.broadcast(both[1].low.shape))),
        "weighted mean",
    ),
    "shares too small": (
        _changed(weighted_mean, "_shares", lambda both: (both[0] * HALF, both[1])),
        "weighted mean",
    ),
    "pull is forgotten for light rows": (
        _put(weighted_mean, "_pulled", lambda w, r: Enclosure(r, r) / Enclosure(w + 2 * r, w + 2 * r) ** 2),
        "weighted mean",
    ),
    # formulas
    "sum rule of one": (_put(formulas, "_plus", _plus_of_one), "two columns"),
    "product rule of one": (_put(formulas, "_times", _times_of_one), "product"),
    "quotient rule of one": (_put(formulas, "_quotient", _quotient_of_numerator), "quotient"),
    "power rule without exponent": (_put(formulas, "_power", _power_without_exponent), "power of a mean"),
    "formula without chain rule": (_put(formulas, "_apply", _apply_without_chain), "exp of a mean"),
    # how far a row moves it
    "rows move half as far": (_changed(PricedRows, "move", lambda move: move * 0.5), "above"),
    "variance moves half as far": (_changed(covariance, "_moved", lambda move: move * 0.5), "variance"),
    "weighted mean moves half as far": (_changed(formulas, "weighted_mean_bound", _half_move), "weighted mean"),
    "move of one summand": (_put(formulas, "_plus", _move_of_one(formulas._plus)), "two columns"),
    "move of one factor": (_put(formulas, "_times", _move_of_one(formulas._times)), "product"),
    "quotient moves half as far": (_changed(formulas, "_quotient", _half_move), "mean"),
    "power moves half as far": (_changed(formulas, "_power", _half_move), "power of a mean"),
    "function moves half as far": (_changed(formulas, "_apply", _half_move), "exp of a mean"),
    # errors of evaluation
    "no rounding to the grid": (_put(rows, "ROUNDING_ERROR", 0.0), "exp"),
    "no error of arguments": (_put(rows, "ARGUMENT_ERROR", 0.0), "fast wave"),
    "errors of rows do not add": (
        _changed(PricedRows, "error", lambda error: error / 12),
        "many rows",
    ),
    "inner errors vanish": (_put(PricedRows, "_error", lambda self, form: np.zeros(())), "nested roots"),
    "covariance without error": (
        _changed(formulas, "covariance_bound", _without_error),
        "covariance of functions",
    ),
    "weighted mean without error": (
        _changed(formulas, "weighted_mean_bound", _without_error),
        "weighted mean of functions",
    ),
    "product without error": (_changed(formulas, "_times", _without_error), "product with a function"),
    "quotient without error": (_changed(formulas, "_quotient", _without_error), "quotient of functions"),
    "power without error": (_changed(formulas, "_power", _without_error), "power of a function"),
    "function of a formula without error": (_changed(formulas, "_apply", _without_error), "exp of a mean"),
    "exact doubles": (_put(formulas, "AS_A_DOUBLE", 0.0), "sum"),
    "one bit too many": (
        _put(Storage, "bits_for", staticmethod(lambda reach, right=Storage.bits_for: right(reach) + 1)),
        "exp",
    ),
}

CHARGE_MUTANTS: dict[str, tuple[Patch, str]] = {
    "accounts charged the mean": (_put(joint, "largest_at", _mean_charge), "sum with public factors"),
    "owners charged the largest column": (_put(bounding, "_moved_by_row", _largest_of_columns), "two columns"),
    "owners add after squaring": (
        _put(joint, "_moved_by_owner", lambda count, moved, error: np.sqrt(count) * moved + 2 * error),
        "two columns",
    ),
    "owners without error": (
        _put(joint, "_moved_by_owner", lambda count, moved, error: count * moved),
        "small beside a function",
    ),
}


def _noticed(check: Callable[..., list[str]], example: str) -> bool:
    world, formula = CORPUS[example]
    for seed in range(8):
        try:
            if check(world, formula, seed):
                return True
        except AssertionError:  # an integer beyond what it is stored in
            return True
    return False


@pytest.mark.parametrize("name", sorted(MUTANTS))
def test_a_wrong_rule_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    patch, example = MUTANTS[name]
    patch(monkeypatch)
    assert _noticed(violations, example)


@pytest.mark.parametrize("name", sorted(CHARGE_MUTANTS))
def test_a_wrong_charge_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    patch, example = CHARGE_MUTANTS[name]
    patch(monkeypatch)
    assert _noticed(charge_violations, example)


@pytest.mark.parametrize("example", sorted({example for _, example in CHARGE_MUTANTS.values()}))
def test_charges_cover_every_entry_and_owner(example: str) -> None:
    world, formula = CORPUS[example]
    assert not charge_violations(world, formula, 0)


def test_each_example_is_right_before_it_is_mutated() -> None:
    assert {example for _, example in (MUTANTS | CHARGE_MUTANTS).values()} <= set(CORPUS)
    assert UNIT.low == 1.0  # a patch that outlives its test would show here
