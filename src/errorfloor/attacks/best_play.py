"""The best play there is: the table of the adversary's own value chooses each charge, in the light of the answers."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar, final

import numpy as np

from errorfloor.attacks.attack import Attack, Door, Shadows
from errorfloor.attacks.likelihood import answered, log_odds
from errorfloor.attacks.secret import Secret
from errorfloor.floors.adversary.answers import multiplier
from errorfloor.floors.adversary.table import value_table

PARTS = 0.5 ** np.arange(4)  # of what is left: those that the next answer may take
MOST_ANSWERS = 40
SURE = 12.0  # logarithm of odds from which on nothing more is asked
LEAST = 1e-3  # of the allowance: less is not worth a question


def next_charge(left: float, odds: float) -> float:
    """Give the charge of the next answer after which fewest mistakes are left, of several parts of what is left.

    By the table r(A, x) of the adversary's mistakes: the one with the least (μ_a ∗ r(A − a, ·))(x), x the logarithm of
    the odds.

    >>> next_charge(2.0, 0.0) < next_charge(2.0, 3.0) <= 2.0  # at long odds only a large answer can change one's mind
    True
    """
    table = value_table()
    charges = PARTS * left
    kept = np.stack([table.curve(max(left - charge, 0.0)) for charge in charges.tolist()])
    mistakes = (kept * multiplier(charges, table.frequencies)) @ np.cos(table.frequencies * odds)
    return float(charges[int(np.argmin(mistakes))])


@final
class BestPlay(Attack):
    """Chooses how much to buy next by the value table, from the odds after all answers and from what is left.

    Played to the end against raised-cosine noise it comes within two hundredths of what is promised, and not above it.
    """

    name = "best play"
    tries: ClassVar[str] = "buys as much at a time as the table of the best adversary's value says, from odds and rest"

    def guess(self, door: Door, secret: Secret, shadows: Shadows) -> float:
        """Give the odds at the end; each answer is about another multiple, so that none is free."""
        left, odds = [min(secret.whole, float(value_table().levels[-1]))], [0.0]

        def asks() -> Iterator[tuple[tuple[float, float], Callable[[], Any]]]:
            for times in range(1, MOST_ANSWERS + 1):
                if left[0] < LEAST * secret.whole or abs(odds[0]) > SURE:
                    return
                charge = next_charge(left[0], odds[0])
                left[0] -= charge
                share = min(1.0, charge / secret.whole)
                yield secret.truths(times), partial(door.ask, secret.question(times=times), spend=share)

        for truths, answer in answered(asks()):
            odds[0] += log_odds(answer, "answer", *truths)
        return odds[0]
