"""Asking again and again: whatever is charged twice is noise twice, and whatever is free is the same noise.

Also for all that one owner has, where small leaks add up, and by one who stops when lucky: a figure at the amount spent
does not hold against that one, and one at the cap does.
"""

import math
from collections.abc import Iterator
from functools import partial
from typing import ClassVar, final

from errorfloor.attacks.attack import Attack, Door, Shadows
from errorfloor.attacks.collisions import rewordings
from errorfloor.attacks.likelihood import answered, evidence, log_odds, multiples
from errorfloor.attacks.owner_secret import OwnerSecret
from errorfloor.attacks.secret import Secret

SLICE = 1 / 16  # of a unit of information about which of the two it is: I·d² of one answer
CAP = 12.0  # where nothing is ever refused, this much is bought at most
ODDS = 9.0  # at which it stops


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
        return evidence(secret, ((1, partial(door.ask, sql, spend=share)) for share, sql in asked))

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
        asks = (
            (k, partial(door.ask, secret.question(times=k), spend=0.3, analyst=f"analyst {k % 8}"))
            for k in range(1, 97)
        )
        return evidence(secret, asks)


class MaximumLikelihood(Attack):
    """Spends the whole allowance on the victim's own number in slices, and weighs all answers by likelihood."""

    name = "maximum likelihood"
    tries: ClassVar[str] = "spends the whole allowance on the victim's number in slices and weighs every answer exactly"
    slices: ClassVar[tuple[float, ...]] = (*[0.09] * 11, *[0.5] * 60)  # of the allowance, until nothing is left

    def guess(self, door: Door, secret: Secret, shadows: Shadows) -> float:
        """Add the log-odds of all answers."""
        return evidence(secret, multiples(door, secret, self.slices))


@final
class OwnerTotal(MaximumLikelihood):
    """Asks for the total of all that one owner has: there all its numbers move together."""

    name = "an owner's total"
    tries: ClassVar[str] = "spends the whole allowance on the total of an owner's rows and weighs every answer exactly"
    slices: ClassVar[tuple[float, ...]] = (0.9, 0.09)


@final
class OwnerRows(Attack):
    """Asks for each of an owner's numbers by itself, which protects each of them, and puts all cells together."""

    name = "an owner's rows"
    tries: ClassVar[str] = "asks for every row of an owner, a cell for each, and weighs all cells together"

    def guess(self, door: Door, secret: Secret, shadows: Shadows) -> float:
        """Add the log-odds of all cells of all answers."""
        if not isinstance(secret, OwnerSecret):
            return 0.0
        low, high = secret.ends(secret.column)
        asks = (
            (times, partial(door.ask, secret.question_by_row(times), spend=share))
            for times, share in enumerate(OwnerTotal.slices, 1)
        )
        return sum(
            log_odds(answer, "answer", times * low, times * high, cell=cell)
            for times, answer in answered(asks)
            for cell in range(answer.to_arrow().num_rows)
        )


@final
class AdaptiveStopping(Attack):
    """Buys little at a time, looks at the odds after every answer, and stops once they are nine to one.

    Whether it asks on depends on what it has read, so that a bound on its success holds at a cap that was fixed before
    (the allowance), not at what it happened to spend: see `floors/two_point.proof.md`, parts 3 and 7.
    """

    name = "adaptive stopping"
    tries: ClassVar[str] = "buys little at a time, weighs every answer exactly, and stops once the odds are nine to one"

    def guess(self, door: Door, secret: Secret, shadows: Shadows) -> float:
        """Give the odds at which it stopped; each answer is about another multiple, so that none is free."""
        shares = [min(1.0, SLICE / secret.whole)] * math.ceil(CAP / SLICE)
        odds = 0.0
        for times, answer in answered(multiples(door, secret, shares)):
            odds += log_odds(answer, "answer", *secret.truths(times))
            if abs(odds) >= math.log(ODDS):
                break
        return odds


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
        for times, answer in answered(multiples(door, secret, [0.3] * 60)):
            released, bound = answer.to_arrow()["answer"][0].as_py(), answer.max_error["answer"]
            ends.append(((released - bound) / times, (released + bound) / times))
        low, high = max(low for low, _ in ends), min(high for _, high in ends)
        return 0.0 if math.isinf(low) else (low + high) / 2 - (secret.values[0] + secret.values[1]) / 2
