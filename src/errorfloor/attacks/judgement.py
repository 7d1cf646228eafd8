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


@dataclass(frozen=True)
class Finding:
    """How an attack went: how often it was right, and how often it may be by the promise.

    Where it chose between two values, ``distance`` is how far apart they were; ``error`` is the root-mean-square error
    of its choice, ``floor`` what the promise says that it is at least: √(distance²·share of wrong choices). Where it
    estimated a number, ``errors`` has how far off it was each time, ``least`` the floor, ``lucky`` the mean square
    that luck alone goes below with a chance of ``doubt`` only, and it was right when off by less than half of
    ``distance``. ``doubt`` is the chance that it is said to have won although the promise holds.

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
    lucky: float = 0.0
    doubt: float = FALSE_ALARM

    @property
    def success(self) -> float:
        """The share of right guesses; where there was no idea, a coin guessed."""
        return self.right / self.runs

    @property
    def beaten(self) -> bool:
        """Whether it was right so often, or off by so little, that the promise cannot hold.

        That is where all of ``interval`` lies below 1; for estimates, also where too many of them were right.
        """
        return self.right >= self.threshold or (bool(self.errors) and self.interval[1] < 1)

    @property
    def could_win(self) -> bool:
        """Whether there were enough runs to show anything."""
        return self.threshold <= self.runs or self.lucky > 0

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
        return self.error / self.floor if self.floor > 0 else math.inf

    @property
    def interval(self) -> tuple[float, float]:
        """Where the ratio lies, but for ``doubt``; below 1 throughout means that the floor is broken.

        Exact for a share of successes. For estimates the upper end, on which the verdict rests, is proved
        (`least_errors.proof.md`), and infinite where so few runs exclude nothing; the lower one follows their spread.
        """
        if self.floor == 0:
            return 0.0, math.inf
        if self.errors:
            from scipy.stats import norm

            squares = np.square(self.errors)
            reach = float(norm.isf(self.doubt)) * float(squares.std()) / math.sqrt(self.runs)
            least = math.sqrt(max(0.0, float(squares.mean()) - reach)) / self.floor
            return least, math.sqrt(float(squares.mean()) / self.lucky) if self.lucky > 0 else math.inf
        from scipy.stats import beta

        right, wrong = self.right, self.runs - self.right
        low = float(beta.ppf(self.doubt, right, wrong + 1)) if right > 0 else 0.0
        high = float(beta.isf(self.doubt, right + 1, wrong)) if wrong > 0 else 1.0
        least, most = (self.distance * math.sqrt(max(0.0, 1 - share)) / self.floor for share in (high, low))
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
            "interval": [None if math.isinf(end) else end for end in self.interval],
            "distance": self.distance,
            "unit": self.unit,
            "beaten": self.beaten,
        }


def judge(attack: Attack, world: World, *, runs: int, seed: int, attacks: int = 1) -> Finding:
    """Play an attack against fresh servers that hold one value or the other, by a coin.

    Guarantee: if the promise holds, the probability that the finding says ``beaten`` is at most FALSE_ALARM divided by
    the number of ``attacks`` that are played: the binomial tail, with no approximation.

    >>> from errorfloor.attacks.groups import Differencing
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
        unit=secret.unit,
        threshold=threshold(runs, secret.promised, FALSE_ALARM / attacks),
        doubt=FALSE_ALARM / attacks,
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
    the number of ``attacks``. Half of it is for hits: off by less than half the distance is a coin of known greatest
    bias. Half is for the mean square, whose least law is known.

    >>> flat = Belief(np.arange(101.0), np.full(101, 1 / 101))
    >>> judge_estimates("sees all", "looks", [0.0] * 100, flat, promise=(0.01, 0.0), unit="").beaten
    True
    """
    steps, doubt = belief.telling(*promise), FALSE_ALARM / attacks / 2
    distance, promised = steps * belief.spacing, 1 - belief.missed(steps, *promise)
    least = belief.least_errors(*promise)
    return Finding(
        attack=name,
        tries=tries,
        runs=len(errors),
        right=sum(abs(error) < distance / 2 for error in errors),
        promised=promised,
        distance=distance,
        unit=unit,
        threshold=threshold(len(errors), promised, doubt),
        errors=tuple(errors),
        least=math.sqrt(least.mean_square),
        lucky=least.by_luck(len(errors), doubt),
        doubt=doubt,
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
