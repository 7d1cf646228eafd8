"""Search for a point of the declared ranges at which a bound fails; and the corpus that every rule is tried on."""

import math
import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import mpmath
from pricing_reference import (
    ALWAYS,
    DUAL,
    PRECISE,
    STEP,
    Dual,
    Row,
    World,
    call,
    constant,
    engine_kind,
    exactly,
    mean,
    of_group,
    p,
    q,
    x,
    y,
)

from errorfloor.accounts import PLACES, Account, Charge, cell_text
from errorfloor.arithmetic.polynomial import Polynomial
from errorfloor.pricing import Bounds, Noised, charges
from errorfloor.sql.plan import Apply, Compare, Covariance, Formula, Plus, Power, Quotient, Sum, Times, WeightedMean

Point = list[dict[str, Fraction]]
REFERENCE = mpmath.mpf(10) ** -35  # what the precise value itself may be off by, relative to it


def violations(world: World, formula: Formula, seed: int = 0, tries: int = 40, entries: int = 100) -> list[str]:
    """Give what was found wrong with the bounds of a formula; an empty list is no proof, a full one is.

    At most ``entries`` entries of a group are moved, each from the steepest place that ``tries`` steps upwards find.
    """
    found: list[str] = []
    bounds = world.bounds(formula)
    priced = charges(bounds, [Noised(0, 1.0)]) if bounds.outputs[0].defined.any() else {}
    chance = random.Random(seed)
    for number, (place,) in enumerate(bounds.groups):
        rows = [row for row in world.rows if row.place == place]
        search = _Search(world, formula, bounds, number, rows, chance)
        if not search.check_null(found):
            continue
        for point in search.points():
            search.check_value_and_error(point, found)
        moved = [(index, column) for index in range(len(rows)) for column in world.ranges]
        for index, column in chance.sample(moved, min(entries, len(moved))):
            search.check_slope(index, column, tries, found)
            search.check_places(index, column, priced, found)
        search.check_owners(found)
    return found


def charge_violations(world: World, formula: Formula, seed: int = 0, information: float = 3.0) -> list[str]:
    """Give which charges are too small for the moves of entries and owners that a search finds."""
    found: list[str] = []
    bounds = world.bounds(formula)
    priced = charges(bounds, [Noised(0, information)])
    chance = random.Random(seed)
    output = bounds.outputs[0]
    histories: dict[int, Any] = {}
    for number, (place,) in enumerate(bounds.groups):
        rows = [row for row in world.rows if row.place == place]
        search = _Search(world, formula, bounds, number, rows, chance)
        error = mpmath.mpf(float(output.error[number]))
        for index, row in enumerate(rows):
            for column in output.slopes:
                spent = priced[Account("t", column, cell_text((row.region,)))]
                if not information * search.steepest(index, column, 10) ** 2 <= spent.information:
                    found.append(f"{column} of {row.region} is charged only {spent.information}")
                if not information * error**2 <= spent.evaluation:
                    found.append(f"{column} of {row.region} is charged only {spent.evaluation} for evaluation")
        for owner, moved in search.moves().items():
            histories[owner] = histories.get(owner, 0) + information * (moved + 2 * error) ** 2
    for owner, needed in histories.items():
        if not needed <= priced[Account("t", "", "")].information:
            found.append(f"owner {owner} is charged only {priced[Account('t', '', '')].information}")
    return found


class _Search:
    def __init__(
        self, world: World, formula: Formula, bounds: Bounds, group: int, rows: Sequence[Row], chance: random.Random
    ) -> None:
        self.world, self.formula, self.bounds, self.group = world, formula, bounds, group
        self.rows, self.chance, self.output = rows, chance, bounds.outputs[0]

    def precise(self, point: Point) -> Any:
        entries = [{name: exactly(value) for name, value in row.items()} for row in point]
        return of_group(self.formula, list(zip(self.rows, entries, strict=True)), PRECISE)

    def slope(self, point: Point, index: int, column: str) -> float:
        entries = [
            {name: Dual(float(value), float((i, name) == (index, column))) for name, value in row.items()}
            for i, row in enumerate(point)
        ]
        value: Dual = of_group(self.formula, list(zip(self.rows, entries, strict=True)), DUAL)
        return abs(value.slope) if not math.isnan(value.slope) else 0.0

    def points(self) -> list[Point]:
        corners = [self._point(lambda low, high: low), self._point(lambda low, high: high)]
        mixed = self._point(lambda low, high: self.chance.choice([low, high]))
        return [*corners, mixed, self._point(self._inside)]

    def _inside(self, low: Fraction, high: Fraction) -> Fraction:
        return low + STEP * self.chance.randint(0, int((high - low) / STEP))

    def _point(self, choose: Any) -> Point:
        return [{name: choose(*ends) for name, ends in self.world.ranges.items()} for _ in self.rows]

    def check_null(self, found: list[str]) -> bool:
        with mpmath.workdps(50):
            value = self.precise(self._point(self._inside))
        defined = bool(self.output.defined[self.group])
        if defined != (value is not None):
            found.append(f"defined is {defined}, but the value is {value}")
        return defined and value is not None

    def check_value_and_error(self, point: Point, found: list[str]) -> None:
        kind = engine_kind(self.bounds.layout, self.chance.randrange(2**32))
        computed = of_group(self.formula, list(zip(self.rows, point, strict=True)), kind)
        low, high, error = (float(side[self.group]) for side in (self.output.low, self.output.high, self.output.error))
        with mpmath.workdps(60):
            value = self.precise(point)
            if not mpmath.mpf(low) <= value <= mpmath.mpf(high):
                found.append(f"value {mpmath.nstr(value, 12)} outside {low} … {high}")
            off = abs(exactly(Fraction(float(computed))) - value)
            if not off <= mpmath.mpf(error):
                found.append(f"off by {mpmath.nstr(off, 12)}, more than {error}")

    def check_slope(self, index: int, column: str, tries: int, found: list[str]) -> None:
        steep = self.steepest(index, column, tries)
        cell = self.bounds.cells.index((self.rows[index].region,))
        slopes = self.output.slopes.get(column)
        bound = 0.0 if slopes is None else float(slopes.dense[self.group, cell])
        if not steep <= mpmath.mpf(bound):
            found.append(f"∂/∂{column} of row {index} is {mpmath.nstr(steep, 12)}, more than {bound}")

    def check_places(self, index: int, column: str, priced: Mapping[Account, Charge], found: list[str]) -> None:
        """Compare the profile of the charge with derivatives at points of the range, each in its place."""
        charge = priced.get(Account("t", column, cell_text((self.rows[index].region,))))
        if charge is None or charge.profile is None:
            return
        low, high = self.world.ranges[column]
        for point in (self._point(self._inside) for _ in range(12)):
            place = min(PLACES - 1, int((point[index][column] - low) * PLACES / (high - low)))
            steep = self.slope(point, index, column)
            if not steep**2 <= charge.profile.information[place] * (1 + 1e-9):
                found.append(f"place {place} of {column} is charged only {charge.profile.information[place]}")

    def steepest(self, index: int, column: str, tries: int) -> Any:
        """Climb to a steep place, then take the secant of the precise function there, less what it may be off by."""
        best = max(self.points(), key=lambda point: self.slope(point, index, column))
        height = self.slope(best, index, column)
        for _ in range(tries):
            trial = [dict(row) for row in best]
            for _ in range(self.chance.choice([1, 1, 2, 3])):
                row, name = self.chance.choice(trial), self.chance.choice(list(self.world.ranges))
                low, high = self.world.ranges[name]
                near = row[name] + STEP * self.chance.randint(-50, 50)
                row[name] = self.chance.choice([low, high, self._inside(low, high), min(max(near, low), high)])
            steep = self.slope(trial, index, column)
            if steep > height:
                best, height = trial, steep
        low, high = self.world.ranges[column]
        move = (high - low) / 10**12
        other = [dict(row) for row in best]
        other[index][column] += move if other[index][column] + move <= high else -move
        with mpmath.workdps(60):
            value = self.precise(best)
            return abs(self.precise(other) - value) / exactly(move) - REFERENCE * (1 + abs(value))

    def check_owners(self, found: list[str]) -> None:
        for owner, moved in self.moves().items():
            bound = sum(row.owner == owner for row in self.rows) * float(self.output.owner[self.group])
            if not moved <= mpmath.mpf(bound):
                found.append(f"owner {owner} moves it by {mpmath.nstr(moved, 12)}, more than {bound}")

    def moves(self) -> dict[int, Any]:
        """Change all entries of one owner at once, from one history to another; give the largest moves found."""
        largest: dict[int, Any] = {}
        for owner in sorted({row.owner for row in self.rows}):
            for start in self.points()[:3]:
                for end in self.points()[:3]:
                    other = [end[i] if row.owner == owner else start[i] for i, row in enumerate(self.rows)]
                    with mpmath.workdps(50):
                        value = self.precise(start)
                        moved = abs(self.precise(other) - value) - REFERENCE * (1 + abs(value))
                    largest[owner] = max(moved, largest.get(owner, moved))
        return largest


# -- one example for each rule; small, and sharp enough that a wrong rule is seen

_ROWS = (
    Row("a", "n", 0, 5, 1),
    Row("a", "n", 0, 9, 2),
    Row("a", "s", 1, -3, 3),
    Row("b", "s", 1, 2, 0),
)
TABLE = World(_ROWS)
SOME = Compare("<=", Polynomial.constant(2), q)
THIRD = Fraction(1, 3)
HALF = Fraction(1, 2)

CORPUS: dict[str, tuple[World, Formula]] = {
    "sum": (TABLE, Sum(x * 2 - y, ALWAYS)),
    "sum of some rows": (TABLE, Plus((Sum(x, SOME), Times((constant(-1), Sum(x, ALWAYS)))))),
    "sum with public factors": (TABLE, Sum(x * p + y * q * q, ALWAYS)),
    "sum of public numbers": (TABLE, Times((Sum(p * q, ALWAYS), mean(x)))),
    "mean": (TABLE, mean(x)),
    "polynomial": (TABLE, mean((x - 3) ** 3 * (y + 1))),
    "cancelling": (TABLE, mean((x - 4) ** 4)),
    "exp": (TABLE, mean(call("exp", x))),
    "ln": (TABLE, mean(call("ln", x + HALF))),
    "sqrt": (TABLE, mean(call("sqrt", x + HALF))),
    "reciprocal": (TABLE, mean(call("reciprocal", x + HALF))),
    "power": (TABLE, mean(call("power", x, Fraction(3, 2)))),
    "root": (TABLE, mean(call("power", x + HALF, THIRD))),
    "sin": (TABLE, mean(call("sin", x * 3))),
    "cos": (TABLE, mean(call("cos", x * 3))),
    "tanh": (TABLE, mean(call("tanh", x - 1))),
    "above": (TABLE, mean(call("above", x, 2, HALF))),
    "greatest": (TABLE, mean(call("greatest", x, 2) ** 2)),
    "least": (TABLE, mean(call("least", y, 1) ** 3)),
    "function of public numbers": (TABLE, mean(call("exp", p) * x)),
    "function of a product": (TABLE, mean(call("exp", x * y * Fraction(1, 5)))),
    "nested": (TABLE, mean(call("ln", call("exp", x * p * Fraction(1, 4)) + 1))),
    "nested roots": (TABLE, mean(call("reciprocal", call("sqrt", x + HALF)))),
    "variance": (TABLE, Covariance(x, x, ALWAYS, sample=False)),
    "variance of a sample": (TABLE, Covariance(x, x, ALWAYS, sample=True)),
    "covariance": (TABLE, Covariance(x, y, ALWAYS, sample=False)),
    "covariance with a public number": (TABLE, Covariance(x, p, ALWAYS, sample=True)),
    "covariance of functions": (TABLE, Covariance(call("exp", x * HALF), call("exp", y * HALF), ALWAYS, sample=False)),
    "public covariance": (TABLE, Times((Covariance(p, q, ALWAYS, sample=False), mean(x)))),
    "weighted mean": (TABLE, WeightedMean(y, x + HALF, ALWAYS)),
    "weighted mean of functions": (TABLE, WeightedMean(call("exp", y), call("exp", x * HALF), ALWAYS)),
    "negative weights": (TABLE, WeightedMean(y, x * -1 - HALF, ALWAYS)),
    "product": (TABLE, Times((mean(x), mean(y + 4)))),
    "product with a function": (TABLE, Times((mean(call("exp", x)), mean(call("exp", y))))),
    "quotient": (TABLE, Quotient(Sum(y, ALWAYS), Sum(x + 1, ALWAYS))),
    "quotient of functions": (TABLE, Quotient(mean(call("exp", x)), mean(call("sqrt", y + 4)))),
    "power of a mean": (TABLE, Power(mean(x - 2), 3)),
    "power of a function": (TABLE, Power(mean(call("exp", x)), 3)),
    "deviation": (TABLE, Apply("sqrt", (), Apply("greatest", (HALF,), Covariance(x, x, ALWAYS, sample=False)))),
    "exp of a mean": (TABLE, Apply("exp", (), mean(call("exp", x * THIRD)))),
    "least of a mean": (TABLE, Apply("least", (Fraction(2),), mean(x))),
    "two columns": (TABLE, Plus((Sum(x, ALWAYS), Sum(y * 2, ALWAYS)))),
    "weighted thirds": (TABLE, constant(Fraction(1, 3))),
    "wave": (World(_ROWS[3:]), Sum(call("sin", x * Fraction(1, 100)) + call("cos", p), ALWAYS)),
    "crest": (World(tuple(Row("a", "n", 0, p, 1) for p in (5, 6, 9))), Sum(call("sin", p) * x, ALWAYS)),
    "wide step": (TABLE, mean(call("above", x, 4, 4))),
    "thirds": (TABLE, Quotient(constant(1), constant(3))),
    "long product": (TABLE, Times((constant(1 + Fraction(1, 2**52)), constant(1 + Fraction(1, 2**52))))),
    "long sum": (TABLE, Plus((constant(1), constant(Fraction(1, 2**60))))),
    "many rows": (World(_ROWS[:1] * 12), Sum(call("exp", x), ALWAYS)),
    "squares": (TABLE, mean(y**2)),
    "fast wave": (TABLE, mean(call("sin", x * 10**7))),
    "small beside a function": (TABLE, Sum(x * Fraction(1, 10**14) + call("exp", p), ALWAYS)),
    "steep cancellation": (TABLE, Sum(call("exp", x * 2) - call("exp", x * 2 + Fraction(1, 10**6)), ALWAYS)),
}
