"""A rule learnt from examples: logistic regression on whatever was seen."""

from dataclasses import dataclass
from typing import final

import numpy as np

from errorfloor.checks import Array

RIDGE = 1.0  # pull of every weight towards 0, so that few examples do not say too much
STEPS = 8  # of Newton's method
FOLDS = 4


@final
@dataclass(frozen=True, eq=False)
class LearnedRule:
    """The odds of the second kind against the first, linear in the features.

    >>> seen = np.array([[0.0], [0.1], [1.0], [1.1]])
    >>> bool(LearnedRule.of(seen, np.array([0, 0, 1, 1])).odds(np.array([[0.9]]))[0] > 0)
    True
    """

    centre: Array
    scale: Array
    weights: Array

    @classmethod
    def of(cls, features: Array, kinds: Array) -> "LearnedRule":
        """Learn from examples of both kinds; a feature that never varies has no say."""
        centre, spread = features.mean(axis=0), features.std(axis=0)
        scale = np.where(spread > 0, spread, np.inf)
        inputs = (features - centre) / scale
        weights = np.zeros(inputs.shape[1])
        for _ in range(STEPS):
            chance = 1 / (1 + np.exp(-np.clip(inputs @ weights, -30, 30)))
            curvature = (inputs.T * (chance * (1 - chance))) @ inputs + RIDGE * np.eye(len(weights))
            weights = weights + np.linalg.solve(curvature, inputs.T @ (kinds - chance) - RIDGE * weights)
        return cls(centre, scale, weights)

    def odds(self, features: Array) -> Array:
        """Give the log-odds of each row of features; 0 where nothing was learnt."""
        return np.asarray((features - self.centre) / self.scale @ self.weights)


def loss(odds: Array, kinds: Array) -> float:
    """Give the mean logarithmic loss of odds; ln 2 = 0.693 is that of somebody who knows nothing.

    >>> round(loss(np.zeros(2), np.array([0, 1])), 3)
    0.693
    """
    return float(np.logaddexp(0.0, np.where(kinds == 1, -odds, odds)).mean())


def held_out_loss(features: Array, kinds: Array) -> float:
    """Give the loss of rules learnt from some examples on the others, each left out once.

    Examples are told off in turn, so that every fold has both kinds if these alternate.
    """
    fold = np.arange(len(kinds)) // 2 % FOLDS
    odds = np.zeros(len(kinds))
    for one in range(FOLDS):
        odds[fold == one] = LearnedRule.of(features[fold != one], kinds[fold != one]).odds(features[fold == one])
    return loss(odds, kinds)
