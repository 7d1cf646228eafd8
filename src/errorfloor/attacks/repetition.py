"""Asking again and again: whatever is charged twice is noise twice, and whatever is free is the same noise."""

from collections.abc import Iterator
from functools import partial
from typing import ClassVar, final

from errorfloor.attacks.attack import Attack, Door, Shadows
from errorfloor.attacks.likelihood import evidence
from errorfloor.attacks.secret import Secret


@final
class Repetition(Attack):
    """Asks one question many times and averages the answers.

    >>> Repetition().name
    'repeated questions'
    """

    name = "repeated questions"
    tries: ClassVar[str] = "asks for the victim's own number again and again, and averages"

    def __init__(self, times: int = 12) -> None:
        self.times = times

    def guess(self, door: Door, secret: Secret, shadows: Shadows) -> float:
        """Take the mean of the answers for the truth."""
        sql = f"SELECT sum({secret.column}) AS answer FROM {secret.table} WHERE {secret.condition()}"
        answers = [door.ask(sql, spend=0.9) for _ in range(self.times)]
        mean = sum(one.to_arrow()["answer"][0].as_py() for one in answers) / self.times
        return float(mean) - (secret.values[0] + secret.values[1]) / 2


@final
class Rephrasing(Attack):
    """Asks the same in many ways; each way that is charged has noise of its own, and all are put together.

    >>> len(list(Rephrasing().ways("kwh", "meters", "id = 3"))) >= 8
    True
    """

    name = "rephrased questions"
    tries: ClassVar[str] = "asks for one number in many wordings until the allowance is spent, and adds up all evidence"

    def guess(self, door: Door, secret: Secret, shadows: Shadows) -> float:
        """Add the log-odds of all answers."""
        ways = list(self.ways(secret.column, secret.table, secret.condition()))
        asks = [partial(door.ask, sql, spend=0.24 + 0.01 * turn) for turn in range(9) for sql in ways]
        return evidence(secret, asks)

    @staticmethod
    def ways(column: str, table: str, condition: str) -> Iterator[str]:
        """Give wordings of one question."""
        yield f"SELECT sum({column}) AS answer FROM {table} WHERE {condition}"
        yield f"select SUM( {column} ) as answer from {table} where ({condition})"
        yield f"SELECT avg({column}) AS answer FROM {table} WHERE {condition}"
        yield f"SELECT sum(1 * {column}) AS answer FROM {table} WHERE {condition}"
        yield f"SELECT sum({column} + 0) AS answer FROM {table} WHERE {condition}"
        yield f"SELECT sum(2 * {column}) / 2 AS answer FROM {table} WHERE {condition}"
        yield f"SELECT sum({column}) * 1.0 AS answer FROM {table} WHERE {condition} AND 1 = 1"
        yield f"SELECT avg({column}) * 3 - avg({column}) * 2 AS answer FROM {table} WHERE {condition}"
        yield f"SELECT sum({column}) AS answer FROM {table} WHERE NOT (NOT ({condition}))"
        yield f"SELECT sum({column}) / count(*) AS answer FROM {table} WHERE {condition}"


@final
class Collusion(Attack):
    """Several analysts ask for themselves and put their answers together.

    >>> Collusion().name
    'colluding analysts'
    """

    name = "colluding analysts"
    tries: ClassVar[str] = "eight analysts each spend what they can on the victim's number, and share what they read"

    def guess(self, door: Door, secret: Secret, shadows: Shadows) -> float:
        """Add the log-odds of all answers, each of another bound so that nothing is free."""
        sql = f"SELECT sum({secret.column}) AS answer FROM {secret.table} WHERE {secret.condition()}"
        asks = [partial(door.ask, sql, spend=0.3 - 0.001 * k, analyst=f"analyst {k % 8}") for k in range(96)]
        return evidence(secret, asks)


@final
class MaximumLikelihood(Attack):
    """Spends the whole allowance on the victim's own number in slices, and weighs all answers by likelihood.

    >>> MaximumLikelihood().name
    'maximum likelihood'
    """

    name = "maximum likelihood"
    tries: ClassVar[str] = "spends the whole allowance on the victim's number in slices and weighs every answer exactly"

    def guess(self, door: Door, secret: Secret, shadows: Shadows) -> float:
        """Add the log-odds of all answers."""
        sql = f"SELECT sum({secret.column}) AS answer FROM {secret.table} WHERE {secret.condition()}"
        slices = [0.09 + 0.0001 * k for k in range(11)] + [0.5 + 0.001 * k for k in range(60)]
        return evidence(secret, [partial(door.ask, sql, spend=one) for one in slices])
