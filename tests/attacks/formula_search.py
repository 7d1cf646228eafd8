"""A search for the formula whose evaluation differs most between two servers that differ in one private value."""

from collections.abc import Sequence
from functools import partial
from typing import ClassVar, final

import numpy as np
from clock import seconds
from formulas import random_formula

from errorfloor.attacks.attack import Attack, Door, Shadows, Stage, outcome
from errorfloor.attacks.learned_rule import LearnedRule
from errorfloor.attacks.secret import Secret
from errorfloor.checks import Array
from operations import Operations

SHARE = 0.001  # of the allowance, for one formula
KEPT = 3  # formulas that differ most
TURNS = 6  # at either server at home, which a rule is learnt from


@final
class FormulaSearch(Attack):
    """Counts what random formulas take on two servers at home; watches the victim's server at those that differ most.

    In this process calls and sizes are counted: a clock without noise. With ``clock`` it times them, too, which is all
    that is left to somebody at the other end of a network.
    """

    name = "searched formulas"
    tries: ClassVar[str] = "searches for formulas that take longer with one value, and counts what they take"

    def __init__(self, *, formulas: int = 40, clock: bool = True) -> None:
        self._formulas, self._clock = formulas, clock
        self._home: dict[Shadows, tuple[list[str], LearnedRule]] = {}

    def guess(self, door: Door, secret: Secret, shadows: Shadows) -> float:
        """Weigh what the formulas take here by what they took at home."""
        if shadows not in self._home:
            stages = [open_one() for open_one in shadows]
            chosen = self.search(stages)
            kinds = np.arange(2 * TURNS) % 2
            seen = [self._features(stages[kind], chosen, turn) for turn, kind in enumerate(kinds)]
            self._home[shadows] = chosen, LearnedRule.of(np.array(seen), kinds)
        chosen, rule = self._home[shadows]
        return float(rule.odds(self._features((door, secret), chosen, 0)[None, :])[0])

    def search(self, stages: Sequence[Stage]) -> list[str]:
        """Give the formulas that differ most between two servers, in calls and sizes or in time."""
        chance, found = np.random.default_rng(self._formulas), dict[str, float]()
        while len(found) < self._formulas:
            formula = random_formula(stages[0][1], chance)
            one, two = (self._features(stage, [formula], 0) for stage in stages)
            found[formula] = float(np.abs(np.log((one + 1) / (two + 1))).max())
        return sorted(found, key=lambda formula: -found[formula])[:KEPT]

    def _features(self, stage: Stage, formulas: list[str], turn: int) -> Array:
        return np.array([feature for formula in formulas for feature in self.taken(*stage, formula, turn)])

    def taken(self, door: Door, secret: Secret, formula: str, turn: int = 0) -> list[float]:
        """Ask for a formula of the victim's number; give how many calls that takes, of what size, and how long.

        Each turn spends a little more, so that it has noise of its own.
        """
        sql = f"SELECT {formula} AS answer FROM {secret.table} WHERE {secret.condition()}"
        act = partial(outcome, partial(door.ask, sql, spend=SHARE * (1 + turn / 100)))
        act()  # what is prepared once and kept is not counted
        counted = Operations.of(act)
        return [counted.total, counted.size, *([seconds(act)] if self._clock else [])]
