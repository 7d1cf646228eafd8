"""What is compared with servers at home: prices, refusals, shapes, and answers to expressions that only look flat."""

import json
from abc import abstractmethod
from functools import partial
from typing import Any, ClassVar, final

from errorfloor.attacks.attack import Attack, Door, Shadows, outcome
from errorfloor.attacks.secret import Secret

OUTPUTS = 60  # of one question, each as much work as the others
STEP = 2**52  # doubles are whole numbers from here on, so adding it rounds


class Comparison(Attack):
    """Compares what a server says with what two at home say, which hold either value."""

    def __init__(self) -> None:
        self._home: dict[Shadows, list[list[Any]]] = {}

    @abstractmethod
    def said(self, door: Door, secret: Secret) -> list[Any]:
        """Ask all that is asked, and give what is compared."""

    def at_home(self, shadows: Shadows) -> list[list[Any]]:
        """Give what the two at home say; it is kept, for they say the same again."""
        if shadows not in self._home:
            self._home[shadows] = [self.said(*open_one()) for open_one in shadows]
        return self._home[shadows]


@final
class Oracles(Comparison):
    """Compares prices, refusals and error messages with those of two servers at home that hold either value."""

    name = "prices and refusals"
    tries: ClassVar[str] = "compares every price, refusal and message with servers at home that hold either value"

    def guess(self, door: Door, secret: Secret, shadows: Shadows) -> float:
        """Say which server at home says the same, where they differ."""
        first, second = self.at_home(shadows)
        if first == second:
            return 0.0
        here = self.said(door, secret)
        agreements = [(a == h) - (b == h) for a, b, h in zip(second, first, here, strict=True)]
        return float(sum(agreements))

    def said(self, door: Door, secret: Secret) -> list[str]:
        """Ask for prices and answers; give texts."""
        wishes: list[dict[str, float]] = [{"spend": 0.01}, {"max_error": 1e-9}, {"max_error": 1e9}]
        asked = questions(secret)
        prices = [outcome(partial(door.price, sql, **wish)) for sql in asked for wish in wishes]
        answers = [outcome(partial(door.ask, sql, spend=0.01)) for sql in asked]
        return [_shape(one).replace(secret.table, "table") for one in (*prices, *answers)]


def questions(secret: Secret) -> list[str]:
    """Give questions about the victim whose price or refusal might depend on what it has."""
    column, table, condition = secret.column, secret.table, secret.condition()
    middle = (secret.values[0] + secret.values[1]) / 2
    return [
        f"SELECT sum({column}) AS answer FROM {table} WHERE {condition}",
        f"SELECT avg({column}) AS answer FROM {table}",
        f"SELECT count(*) AS answer FROM {table} WHERE {column} > {middle!r}",
        f"SELECT sum({column}) AS answer FROM {table} WHERE {column} > {middle!r}",
        f"SELECT {column}, count(*) AS answer FROM {table} GROUP BY {column}",
        f"SELECT sum({column}) AS answer FROM {table} HAVING sum({column}) > {middle!r}",
        f"SELECT max({column}) AS answer FROM {table} WHERE {condition}",
        f"SELECT median({column}) AS answer FROM {table}",
        f"SELECT sum({column}) AS answer FROM {table} WHERE {condition} ORDER BY {column}",
        _long_work(secret, middle),
        *tricks(secret),
    ]


def _long_work(secret: Secret, middle: float) -> str:
    """Ask for outputs that a careless server works on for long enough to give up, if the number exceeds the middle."""
    total = f"sum({secret.column})"
    output = f"ln(1 + exp(-8000 - {total}) * greatest({total} - {middle!r}, 0))"
    outputs = ", ".join(f"{output} AS answer{number}" for number in range(OUTPUTS))
    return f"SELECT {outputs} FROM {secret.table} WHERE {secret.condition()}"


def _shape(said: Any) -> str:
    """Write a price, an answer without its numbers, or an error."""
    if isinstance(said, str):
        return said
    stated = said.to_dict()
    for cell in stated.pop("cells", ()):
        for value in cell["outputs"].values():
            stated.setdefault("nulls", []).append(value["answer"] is None)
    return json.dumps(stated, sort_keys=True, default=str)


@final
class Evaluation(Comparison):
    """Asks for steps, poles and overflows at the middle between the two values, and reads the answer as a bit."""

    name = "evaluation tricks"
    tries: ClassVar[str] = "asks for expressions whose rounding, overflow or missing value would give a bit away"

    def guess(self, door: Door, secret: Secret, shadows: Shadows) -> float:
        """Compare every answer with those of the servers at home; where these differ widely, believe the nearer one."""
        here, (first, second) = self.said(door, secret), self.at_home(shadows)
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

    def said(self, door: Door, secret: Secret) -> list[Any]:
        """Ask for every trick; give numbers with their bounds, and errors as texts."""
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
