"""The best play there is: each charge is the one after which fewest mistakes are left, in the light of the answers."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar, final

import numpy as np

from errorfloor.attacks.attack import Attack, Door, Shadows
from errorfloor.attacks.likelihood import answered, log_odds
from errorfloor.attacks.secret import Secret
from errorfloor.checks import Array
from errorfloor.floors.adversary.table import multiplier, value_table

QUANTA = 64  # that the allowance is bought in, by the one who asks a server
FAR, POINTS = 28.0, 2048  # logarithms of odds that are told apart, and how many


@dataclass(frozen=True, eq=False)
class BestPolicy:
    """How much to buy next, in quanta, for what is left (a row) and the logarithm of the odds (a column).

    It is found by r_i = min_k μ_{kq} ∗ r_{i−k}, r_0(x) = e^{−|x|/2}: the adversary's mistakes over √(π(1−π)) with i
    quanta q left. ``success`` is how often it names the right one at even odds; n quanta lose about 0.07/√n against
    answers of all sizes, since small ones pay while the odds are even.

    >>> policy = best_policy(2.0, 64)
    >>> [int(policy.next(np.array([64]), np.array([odds]))[0]) for odds in (0.0, 3.0, 8.0)]
    [1, 64, 64]
    """

    whole: float
    quanta: Array
    success: float

    def next(self, left: Array, odds: Array) -> Array:
        """Give the quanta that the next answer takes; 0 to stop."""
        column = np.rint(odds * (POINTS / (2 * FAR))).astype(int) + POINTS // 2
        return np.asarray(self.quanta[left, column.clip(0, POINTS - 1)])


@lru_cache(maxsize=8)
def best_policy(whole: float, quanta: int) -> BestPolicy:
    """Find the best play for an allowance that is bought in so many quanta, or in some multiples of them."""
    x = (np.arange(POINTS) - POINTS // 2) * (2 * FAR / POINTS)
    frequency = 2 * math.pi * np.fft.rfftfreq(POINTS, 2 * FAR / POINTS)
    sizes = np.unique(np.rint(2 ** np.arange(0, math.log2(quanta) + 0.25, 0.5)).astype(int).clip(max=quanta))
    changes = multiplier(sizes * (whole / quanta), frequency)
    stop = np.exp(-np.abs(x) / 2)
    chosen, mistakes = np.zeros((quanta + 1, POINTS), dtype=np.int32), stop
    waves = np.zeros((quanta + 1, len(frequency)), dtype=complex)
    waves[0] = np.fft.rfft(np.fft.ifftshift(stop))
    for left in range(1, quanta + 1):
        bought = sizes[sizes <= left]
        after = np.fft.fftshift(np.fft.irfft(waves[left - bought] * changes[: len(bought)], POINTS, axis=1), axes=1)
        best = after.argmin(axis=0)
        mistakes = np.minimum(after.min(axis=0), stop)
        chosen[left] = np.where(mistakes < stop, bought[best], 0)
        waves[left] = np.fft.rfft(np.fft.ifftshift(mistakes))
    return BestPolicy(whole, chosen, 1 - 0.5 * float(mistakes[POINTS // 2]))


@final
class BestPlay(Attack):
    """Chooses how much to buy next by the best policy, from the odds after all answers and from what is left.

    Played to the end against raised-cosine noise it comes within 0.013 of what is promised, and not above it.
    """

    name = "best play"
    tries: ClassVar[str] = "buys as much at a time as the best adversary's own programme says, from odds and rest"

    def guess(self, door: Door, secret: Secret, shadows: Shadows) -> float:
        """Give the odds at the end; each answer is about another multiple, so that none is free."""
        policy = best_policy(min(secret.whole, float(value_table().levels[-1])), QUANTA)
        left, odds = [QUANTA], [0.0]

        def asks() -> Iterator[tuple[tuple[float, float], Callable[[], Any]]]:
            for times in range(1, QUANTA + 1):
                taken = int(policy.next(np.array(left), np.array(odds))[0])
                if not taken:
                    return
                left[0] -= taken
                share = min(1.0, taken / QUANTA * policy.whole / secret.whole)
                yield secret.truths(times), partial(door.ask, secret.question(times=times), spend=share)

        for truths, answer in answered(asks()):
            odds[0] += log_odds(answer, "answer", *truths)
        return odds[0]
