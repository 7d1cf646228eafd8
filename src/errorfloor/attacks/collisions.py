"""Questions that look alike and are not: where two of them shared a label they would share noise, which cancels."""

from collections.abc import Iterator
from typing import Any, ClassVar, final

from errorfloor.attacks.attack import Attack, Door, Shadows
from errorfloor.attacks.likelihood import log_odds
from errorfloor.attacks.secret import Secret
from errorfloor.errors import ErrorFloorError

SHARE = 0.12  # of the allowance for the steeper of two questions; the other costs no more
CERTAIN = 1e3  # log-odds of a difference that fits one value to within rounding, and not the other
Truths = tuple[tuple[float, float], tuple[float, float]]  # to two questions, under the first and the second value


@final
class Collisions(Attack):
    """Asks pairs of different questions that a careless label takes for one, at one bound, and subtracts.

    >>> Collisions().name
    'label collisions'
    """

    name = "label collisions"
    tries: ClassVar[str] = "asks different questions that look alike, outputs and cells, at one bound, and subtracts"

    def guess(self, door: Door, secret: Secret, shadows: Shadows) -> float:
        """Believe a difference that fits one value exactly; where none does, weigh the answers by likelihood."""
        odds = self._cells(door, secret)
        for steep, flat, truths in lookalikes(secret):
            try:
                first = door.ask(steep, spend=SHARE)
                second = door.ask(flat, max_error=first.max_error["answer"])
            except ErrorFloorError:
                continue
            odds += _fits(_released(first) - _released(second), truths, _step(first))
            odds += log_odds(first, "answer", *truths[0]) + log_odds(second, "answer", *truths[1])
        return odds

    def _cells(self, door: Door, secret: Secret) -> float:
        """Ask for the victim's cell and a neighbour's at once: each needs noise of its own."""
        other, keys = secret.neighbour, ", ".join(secret.declared.row_key)
        sql = secret.question([secret.victim, other]).replace("SELECT", f"SELECT {keys},", 1)
        try:
            answer = door.ask(f"{sql} GROUP BY {keys}", spend=SHARE)
        except ErrorFloorError:
            return 0.0
        cells = {
            tuple(row[key] for key in secret.declared.row_key): row["answer"] for row in answer.to_arrow().to_pylist()
        }
        mine, theirs = (cells.get(secret.key(row)) for row in (secret.victim, other))
        if mine is None or theirs is None:
            return 0.0
        known = float(secret.known[other])
        return _fits(mine - theirs, (secret.values, (known, known)), _step(answer))


def lookalikes(secret: Secret) -> Iterator[tuple[str, str, Truths]]:
    """Give pairs of questions that differ in a digit, a point, a sign, a bracket or an aggregate, the steeper first."""
    column, (one, two), other = secret.column, secret.values, float(secret.known[secret.neighbour])
    own, pair = secret.condition(), secret.condition([secret.victim, secret.neighbour])
    for steep, flat, slopes in (
        (f"10 * {column}", f"1 * {column}", (10.0, 1.0)),
        (f"1e2 * {column}", f"1e-2 * {column}", (100.0, 0.01)),
        (f"5 * {column}", f".5 * {column}", (5.0, 0.5)),
        (f"2 * ({column} + {column})", f"2 * {column} + {column}", (4.0, 3.0)),
        (f"-{column}", column, (-1.0, 1.0)),
    ):
        asked = [f"SELECT sum({each}) AS answer FROM {secret.table} WHERE {own}" for each in (steep, flat)]
        yield asked[0], asked[1], ((slopes[0] * one, slopes[0] * two), (slopes[1] * one, slopes[1] * two))
    total, mean = (f"SELECT {each}({column}) AS answer FROM {secret.table} WHERE {pair}" for each in ("sum", "avg"))
    yield total, mean, ((one + other, two + other), ((one + other) / 2, (two + other) / 2))


def _fits(difference: float, truths: Truths, step: float) -> float:
    first, second = (abs(difference - (steep - flat)) <= 1.01 * step for steep, flat in zip(*truths, strict=True))
    return CERTAIN * (second - first)


def _released(answer: Any) -> float:
    return float(answer.to_arrow()["answer"][0].as_py())


def _step(answer: Any) -> float:
    return float(next(one for one in answer.to_dict()["outputs"] if one["name"] == "answer")["step"])
