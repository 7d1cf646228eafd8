"""The best play, played many times at once with real draws of the noise."""

import math

import numpy as np

from errorfloor.attacks.best_play import BestPolicy
from errorfloor.noise import RaisedCosine

SURE = 100.0  # that an answer is certain: more odds change nothing


def games_won(policy: BestPolicy, games: int, rng: np.random.Generator) -> int:
    """Play many games at once with real draws of the noise; give how often the right one of two was named."""
    noise, quanta = RaisedCosine(-1.0, 1.0), len(policy.quanta) - 1
    odds, left, truth = np.zeros(games), np.full(games, quanta), rng.integers(2, size=games)
    playing = np.arange(games)
    while True:
        taken = policy.next(left[playing], odds[playing])
        playing, taken = playing[taken > 0], taken[taken > 0]
        if not len(playing):
            return int(((odds > 0) == truth).sum())
        moved = np.sqrt(taken * (policy.whole / quanta)) / math.pi  # of half a width, so that I·d² is the charge
        answer = np.asarray(noise.sample(len(playing), rng=rng)) + moved * truth[playing]
        with np.errstate(divide="ignore"):
            learnt = noise.logpdf(answer - moved) - noise.logpdf(answer)
        odds[playing] = np.clip(odds[playing] + learnt, -SURE, SURE)
        left[playing] -= taken
