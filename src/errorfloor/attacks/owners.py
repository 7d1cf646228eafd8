"""Telling two histories of an owner apart, who has several private numbers: small leaks about each of them add up."""

from functools import partial
from typing import ClassVar, final

from errorfloor.attacks.attack import Attack, Door, Shadows
from errorfloor.attacks.likelihood import answered, evidence, log_odds
from errorfloor.attacks.owner_secret import OwnerSecret
from errorfloor.attacks.secret import Secret

SLICES = (0.9, 0.09)  # of the allowance


@final
class OwnerTotal(Attack):
    """Asks for the total of all that one owner has: there all its numbers move together."""

    name = "an owner's total"
    tries: ClassVar[str] = "spends the whole allowance on the total of an owner's rows and weighs every answer exactly"

    def guess(self, door: Door, secret: Secret, shadows: Shadows) -> float:
        """Add the log-odds of all answers, each about another multiple so that nothing is free."""
        return evidence(
            (secret.truths(k), partial(door.ask, secret.question(times=k), spend=share))
            for k, share in enumerate(SLICES, 1)
        )


@final
class OwnerRows(Attack):
    """Asks for each of an owner's numbers by itself, which protects each of them, and puts all cells together."""

    name = "an owner's rows"
    tries: ClassVar[str] = "asks for every row of an owner, a cell for each, and weighs all cells together"

    def guess(self, door: Door, secret: Secret, shadows: Shadows) -> float:
        """Add the log-odds of all cells of all answers."""
        if not isinstance(secret, OwnerSecret):
            return 0.0
        low, high = secret.ends(secret.column)
        asks = (
            (times, partial(door.ask, secret.question_by_row(times), spend=share))
            for times, share in enumerate(SLICES, 1)
        )
        return sum(
            log_odds(answer, "answer", times * low, times * high, cell=cell)
            for times, answer in answered(asks)
            for cell in range(answer.to_arrow().num_rows)
        )
