"""Stopping when lucky: the adversary against whom a figure at the amount spent is no bound, and one at the cap is."""

import math
from functools import partial
from typing import ClassVar, final

from errorfloor.attacks.attack import Attack, Door, Shadows
from errorfloor.attacks.likelihood import answered, log_odds
from errorfloor.attacks.secret import Secret

SLICE = 1 / 16  # of a unit of information about which of the two it is: I·d² of one answer
CAP = 12.0  # where nothing is ever refused, this much is bought at most
ODDS = 9.0  # at which it stops


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
        share = min(1.0, SLICE / secret.whole)
        asks = (
            (secret.truths(k), partial(door.ask, secret.question(times=k), spend=share))
            for k in range(1, math.ceil(CAP / SLICE) + 1)
        )
        odds = 0.0
        for truths, answer in answered(asks):
            odds += log_odds(answer, "answer", *truths)
            if abs(odds) >= math.log(ODDS):
                break
        return odds
