"""Questions about many that are aimed at one: differences of overlapping groups, and equations for everybody."""

from functools import partial
from typing import ClassVar, final

import numpy as np

from errorfloor.attacks.attack import Attack, Door, Shadows
from errorfloor.attacks.likelihood import answered
from errorfloor.attacks.secret import Secret

MOST_ROWS = 6  # in a condition, so that statements stay short


@final
class Differencing(Attack):
    """Asks for a group with the victim and without, and subtracts; noise that two questions share would cancel."""

    name = "differencing"
    tries: ClassVar[str] = "subtracts a group's total without the victim from the total with it, at one bound for both"

    def guess(self, door: Door, secret: Secret, shadows: Shadows) -> float:
        """Take the difference for the victim's number."""
        others = [row for row in range(min(secret.rows.num_rows, MOST_ROWS + 1)) if row != secret.victim]
        totals = []
        bound = None
        for rows in ([*others, secret.victim], others):
            sql = secret.question(rows)
            answer = door.ask(sql, spend=0.45) if bound is None else door.ask(sql, max_error=bound)
            bound = answer.max_error["answer"]
            totals.append(answer.to_arrow()["answer"][0].as_py())
        return float(totals[0] - totals[1]) - (secret.values[0] + secret.values[1]) / 2


@final
class Reconstruction(Attack):
    """Asks for totals of many random groups and solves for every number at once.

    ``prior`` weighs the middle of the range against the answers, as somebody does who knows it.
    """

    def __init__(self, *, prior: bool) -> None:
        self.prior = prior
        self.name = "reconstruction with a prior" if prior else "reconstruction"

    tries: ClassVar[str] = "asks for totals of random groups and solves the linear equations by least squares"

    def guess(self, door: Door, secret: Secret, shadows: Shadows) -> float:
        """Solve, and take the victim's coordinate."""
        rows = np.arange(min(secret.rows.num_rows, MOST_ROWS))
        rows[0] = secret.victim
        generator = np.random.default_rng(len(rows))
        groups = generator.random((60 * len(rows), len(rows))) < 0.5
        groups[:, 0] |= ~groups.any(axis=1)
        share = 0.9 / len(rows)
        asks = ((group, partial(door.ask, secret.question(rows[group].tolist()), spend=share)) for group in groups)
        answers = list(answered(asks))
        if not answers:
            return 0.0
        width = answers[0][1].max_error["answer"]
        totals = np.array([answer.to_arrow()["answer"][0].as_py() for _, answer in answers])
        low, high = float(secret.private.low), float(secret.private.high)
        matrix = np.array([group for group, _ in answers], dtype=float)
        right = totals - matrix.sum(axis=1) * (low + high) / 2
        if self.prior:
            matrix = np.vstack([matrix, np.eye(len(rows)) * width / (high - low)])
            right = np.concatenate([right, np.zeros(len(rows))])
        solved, *_ = np.linalg.lstsq(matrix, right, rcond=None)
        return float(solved[0]) + (low + high) / 2 - (secret.values[0] + secret.values[1]) / 2
