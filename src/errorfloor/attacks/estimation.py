"""Guessing a number that was drawn from a known law: the best guess there is, with answers and without."""

from typing import final

import numpy as np

from errorfloor.attacks.attack import Door
from errorfloor.attacks.belief import Belief
from errorfloor.attacks.judgement import Finding, judge_estimates
from errorfloor.attacks.likelihood import answered, log_likelihoods, multiples
from errorfloor.attacks.secret import Secret
from errorfloor.attacks.world import Population

SLICES = (0.98, *[0.5] * 40)  # of the allowance, until nothing is left


@final
class PosteriorMean:
    """Spends the whole allowance on one number and weighs every answer by likelihood against the prior.

    That is the best estimator on average under the prior. With ``answers`` off it guesses without asking.
    """

    def __init__(self, *, answers: bool = True) -> None:
        self._answers = answers
        self.name = "posterior mean" if answers else "prior alone"
        self.tries = (
            "spends the whole allowance on a number and takes the posterior mean under the prior"
            if answers
            else "guesses the prior's mean without asking anything"
        )

    def estimate(self, door: Door, secret: Secret, belief: Belief) -> float:
        """Guess the victim's number; each answer is about another multiple, so that none is free."""
        seen = np.zeros(len(belief.values))
        if self._answers:
            for times, answer in answered(multiples(door, secret, SLICES)):
                seen += log_likelihoods(answer, "answer", times * belief.values)
        return belief.weighed(seen)

    def play(self, ground: Population, *, runs: int, attacks: int = 1) -> Finding:
        """Guess once in every turn, and judge the guesses; at most as many as there are rows to guess."""
        errors, promise = [], (0.0, 0.0)
        for number in range(min(runs, ground.size)):
            with ground.turn(number) as (door, secret, truth):
                errors.append(self.estimate(door, secret, ground.belief) - truth)
            if self._answers:  # noises that are counted apart are no worse than others
                limit = secret.limit
                promise = limit.information + limit.raised_cosine, limit.evaluation
        return judge_estimates(
            self.name,
            self.tries,
            errors,
            ground.belief,
            promise=promise,
            unit=ground.private.unit,
            attacks=attacks,
        )

    def __repr__(self) -> str:
        return f"PosteriorMean(answers={self._answers})"
