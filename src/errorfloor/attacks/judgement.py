"""Playing an attack many times, and saying whether a promise was broken."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from errorfloor.attacks.attack import Attack
from errorfloor.attacks.belief import Belief
from errorfloor.attacks.world import World

FALSE_ALARM = 1e-6  # that any of an audit's attacks is said to win although every promise holds
NORMAL = 1.959963984540054  # 95 % of a normal law is within so many deviations


@dataclass(frozen=True)
class Finding:
    """How an attack went: how often it was right, and how often it may be by the promise.

    Where it chose between two values, ``distance`` is how far apart they were; ``error`` is the root-mean-square error
    of its choice, ``floor`` what the promise says that it is at least: √(distance²·share of wrong choices). Where it
    estimated a number, ``errors`` has how far off it was each time, ``least`` the floor, and it was right when off by
    less than half of ``distance``.

    >>> Finding("coin", "guess", runs=200, right=104, promised=0.6, distance=5.0, unit="kWh", threshold=158).beaten
    False
    """

    attack: str
    tries: str
    runs: int
    right: int
    promised: float
    distance: float
    unit: str
    threshold: int
    errors: tuple[float, ...] = ()
    least: float = 0.0

    @property
    def success(self) -> float:
        """The share of right guesses; where there was no idea, a coin guessed."""
        return self.right / self.runs

    @property
    def beaten(self) -> bool:
        """Whether it was right so often that the promise cannot hold."""
        return self.right >= self.threshold

    @property
    def error(self) -> float:
        """The root-mean-square error of the guess."""
        if self.errors:
            return math.sqrt(float(np.square(self.errors).mean()))
        return self.distance * math.sqrt(max(0.0, 1 - self.success))

    @property
    def floor(self) -> float:
        """The least root-mean-square error of such a guess that the promise allows."""
        return self.least if self.errors else self.distance * math.sqrt(1 - self.promised)

    @property
    def ratio(self) -> float:
        """Attained error over its floor: below 1 more often than chance explains means that the floor is broken."""
        return self.error / self.floor

    @property
    def interval(self) -> tuple[float, float]:
        """A 95 % confidence interval of the ratio: exact for a share of successes, from the spread for estimates."""
        if self.errors:
            squares = np.square(self.errors)
            reach = NORMAL * float(squares.std()) / math.sqrt(self.runs)
            ends = [float(squares.mean()) + sign * reach for sign in (-1, 1)]
        else:
            from scipy.stats import beta

            right, wrong = self.right, self.runs - self.right
            low = float(beta.ppf(0.025, right, wrong + 1)) if right > 0 else 0.0
            high = float(beta.ppf(0.975, right + 1, wrong)) if wrong > 0 else 1.0
            ends = [self.distance**2 * (1 - share) for share in (high, low)]
        least, most = (math.sqrt(max(0.0, end)) / self.floor for end in ends)
        return least, most

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain JSON types."""
        return {
            "attack": self.attack,
            "tries": self.tries,
            "kind": "estimate" if self.errors else "two values",
            "runs": self.runs,
            "success": self.success,
            "promised": self.promised,
            "error": self.error,
            "floor": self.floor,
            "ratio": self.ratio,
            "interval": list(self.interval),
            "distance": self.distance,
            "unit": self.unit,
            "beaten": self.beaten,
        }


def judge(attack: Attack, world: World, *, runs: int, seed: int, attacks: int = 1) -> Finding:
    """Play an attack against fresh servers that hold one value or the other, by a coin.

    Guarantee: if the promise holds, the probability that the finding says ``beaten`` is at most FALSE_ALARM divided by
    the number of ``attacks`` that are played: the binomial tail, with no approximation.

    >>> from errorfloor.attacks import Differencing
    >>> from errorfloor.catalogue import Catalogue
    >>> kwh = {"range": [0, 50], "resolution": 0.001, "floor": 2.0, "unit": "kWh"}
    >>> meters = {"source": "-", "version": "1", "row_key": ["id"], "public": {"id": "whole"}, "private": {"kwh": kwh}}
    >>> with World(Catalogue(tables={"meters": meters}), "meters", "kwh") as world:
    ...     judge(Differencing(), world, runs=3, seed=1).runs
    3
    """
    secret, right = world.secret, 0
    world.begin(attack.name)
    coins, ties = np.random.default_rng(seed).integers(0, 2, (runs, 2)).T.tolist()
    for coin, tie, odds in zip(coins, ties, world.played(attack, coins), strict=True):
        right += (tie if odds == 0 else int(odds > 0)) == coin
    return Finding(
        attack=attack.name,
        tries=attack.tries,
        runs=runs,
        right=right,
        promised=secret.promised,
        distance=secret.distance,
        unit=secret.private.unit,
        threshold=threshold(runs, secret.promised, FALSE_ALARM / attacks),
    )


def judge_estimates(
    name: str,
    tries: str,
    errors: Sequence[float],
    belief: Belief,
    *,
    promise: tuple[float, float],
    unit: str,
    attacks: int = 1,
) -> Finding:
    """Judge estimates of numbers that were drawn from a belief, each about an entry of its own.

    ``promise`` is the information A and evaluation error E that answers may give away; (0, 0) for estimates made
    without any. Then the floor is the belief's own spread.

    Guarantee: if the promise holds, the probability that the finding says ``beaten`` is at most FALSE_ALARM divided by
    the number of ``attacks``: off by less than half the distance is a coin of known greatest bias.

    >>> flat = Belief(np.arange(101.0), np.full(101, 1 / 101))
    >>> judge_estimates("sees all", "looks", [0.0] * 100, flat, promise=(0.01, 0.0), unit="").beaten
    True
    """
    steps = belief.telling(*promise)
    distance, promised = steps * belief.spacing, 1 - belief.missed(steps, *promise)
    return Finding(
        attack=name,
        tries=tries,
        runs=len(errors),
        right=sum(abs(error) < distance / 2 for error in errors),
        promised=promised,
        distance=distance,
        unit=unit,
        threshold=threshold(len(errors), promised, FALSE_ALARM / attacks),
        errors=tuple(errors),
        least=belief.floor(*promise) if promise[0] > 0 else belief.spread,
    )


def threshold(runs: int, promised: float, false_alarm: float) -> int:
    """Give the least number of right guesses that somebody who is right with the promised chance reaches too seldom.

    >>> threshold(200, 0.65, 1e-6), threshold(10, 0.5, 0.5)
    (162, 6)
    """
    from scipy.stats import binom

    counts = np.arange(runs + 2)
    return int(counts[binom.sf(counts - 1, runs, promised) <= false_alarm][0])


def runs_needed(promised: float, false_alarm: float) -> int:
    """Give the least number of runs in which being right every time would be too seldom by chance.

    >>> runs_needed(0.65, 1e-6), runs_needed(0.5, 0.5)
    (33, 1)
    """
    return math.ceil(math.log(false_alarm) / math.log(promised))
