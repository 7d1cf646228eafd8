"""Everything a server says except its noisy numbers: prices, refusals, errors and shapes."""

import json
from functools import partial
from typing import Any, ClassVar, final

from errorfloor.attacks.attack import Attack, Door, Shadows, outcome
from errorfloor.attacks.evaluation import tricks
from errorfloor.attacks.secret import Secret

OUTPUTS = 60  # of one question, each as much work as the others


@final
class Oracles(Attack):
    """Compares prices, refusals and error messages with those of two servers at home that hold either value."""

    name = "prices and refusals"
    tries: ClassVar[str] = "compares every price, refusal and message with servers at home that hold either value"

    def __init__(self) -> None:
        self._home: dict[Shadows, list[list[str]]] = {}

    def guess(self, door: Door, secret: Secret, shadows: Shadows) -> float:
        """Say which server at home says the same, where they differ."""
        if shadows not in self._home:
            self._home[shadows] = [_said(*open_one()) for open_one in shadows]
        first, second = self._home[shadows]
        if first == second:
            return 0.0
        here = _said(door, secret)
        agreements = [(a == h) - (b == h) for a, b, h in zip(second, first, here, strict=True)]
        return float(sum(agreements))


def _said(door: Door, secret: Secret) -> list[str]:
    wishes: list[dict[str, float]] = [{"spend": 0.01}, {"max_error": 1e-9}, {"max_error": 1e9}]
    asked = questions(secret)
    prices = [outcome(partial(door.price, sql, **wish)) for sql in asked for wish in wishes]
    answers = [outcome(partial(door.ask, sql, spend=0.01)) for sql in asked]
    said = [one if isinstance(one, str) else _text(one.to_dict()) for one in prices] + [_shape(one) for one in answers]
    return [one.replace(secret.table, "table") for one in said]


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


def _shape(answer: Any) -> str:
    if isinstance(answer, str):
        return answer
    stated = answer.to_dict()
    for cell in stated.pop("cells"):
        for value in cell["outputs"].values():
            stated.setdefault("nulls", []).append(value["answer"] is None)
    return _text(stated)


def _text(said: Any) -> str:
    return said if isinstance(said, str) else json.dumps(said, sort_keys=True, default=str)
