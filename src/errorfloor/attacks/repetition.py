"""Asking again and again: whatever is charged twice is noise twice, and whatever is free is the same noise."""

import math
from collections.abc import Iterator
from functools import partial
from typing import ClassVar, final

from errorfloor.attacks.attack import Attack, Door, Shadows
from errorfloor.attacks.collisions import rewordings
from errorfloor.attacks.likelihood import answered, evidence
from errorfloor.attacks.secret import Secret


@final
class Repetition(Attack):
    """Asks one question many times and averages the answers."""

    name = "repeated questions"
    tries: ClassVar[str] = "asks for the victim's own number again and again, and averages"

    def __init__(self, times: int = 12) -> None:
        self.times = times

    def guess(self, door: Door, secret: Secret, shadows: Shadows) -> float:
        """Take the mean of the answers for the truth."""
        sql = secret.question()
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
        pairs = [wording for _, *pair in rewordings(secret) for wording in pair]
        asked = [(0.12, sql) for sql in pairs] + [(0.24 + 0.01 * turn, sql) for turn in range(9) for sql in ways]
        return evidence((secret.values, partial(door.ask, sql, spend=share)) for share, sql in asked)

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
    """Several analysts ask for themselves and put their answers together."""

    name = "colluding analysts"
    tries: ClassVar[str] = "eight analysts each spend what they can on the victim's number, and share what they read"

    def guess(self, door: Door, secret: Secret, shadows: Shadows) -> float:
        """Add the log-odds of all answers, each about another multiple so that nothing is free."""
        return evidence(
            (secret.truths(k), partial(door.ask, secret.question(times=k), spend=0.3, analyst=f"analyst {k % 8}"))
            for k in range(1, 97)
        )


@final
class MaximumLikelihood(Attack):
    """Spends the whole allowance on the victim's own number in slices, and weighs all answers by likelihood."""

    name = "maximum likelihood"
    tries: ClassVar[str] = "spends the whole allowance on the victim's number in slices and weighs every answer exactly"

    def guess(self, door: Door, secret: Secret, shadows: Shadows) -> float:
        """Add the log-odds of all answers, each about another multiple so that nothing is free."""
        shares = [0.09] * 11 + [0.5] * 60
        return evidence(
            (secret.truths(k), partial(door.ask, secret.question(times=k), spend=share))
            for k, share in enumerate(shares, 1)
        )


@final
class Extremes(Attack):
    """Puts together what is certain: the truth is within every bound, and noise that jumps fills its bounds."""

    name = "extremes"
    tries: ClassVar[str] = (
        "asks for the victim's number until refused, and takes the middle of what no answer rules out"
    )

    def guess(self, door: Door, secret: Secret, shadows: Shadows) -> float:
        """Take the middle of all certain intervals together."""
        ends = [(-math.inf, math.inf)]
        asks = ((k, partial(door.ask, secret.question(times=k), spend=0.3)) for k in range(1, 61))
        for times, answer in answered(asks):
            released, bound = answer.to_arrow()["answer"][0].as_py(), answer.max_error["answer"]
            ends.append(((released - bound) / times, (released + bound) / times))
        low, high = max(low for low, _ in ends), min(high for _, high in ends)
        return 0.0 if math.isinf(low) else (low + high) / 2 - (secret.values[0] + secret.values[1]) / 2
