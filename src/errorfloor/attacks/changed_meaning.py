"""The same floor with another meaning: a version that declares a wider range and finer steps for the same rows."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, final

from errorfloor.attacks.attack import CustodianAttack, Door, Shadows
from errorfloor.attacks.likelihood import evidence
from errorfloor.attacks.secret import Secret
from errorfloor.ledger import MemoryLedger

if TYPE_CHECKING:
    from errorfloor.attacks.custody import Custody
    from errorfloor.attacks.world import World

QUESTIONS = 4  # of each version; every one spends as much as is left to it


@final
class ChangedMeaning(CustodianAttack):
    """Spends what a version allows, then what the next one does, whose wider range affords the same floor more.

    A floor of 2.8 under numbers from 0 to 10 leaves hardly anything to tell; under numbers from 0 to 200 it allows a
    hundred times as much, and the rows are the same. ``new_ledger`` opens a new ledger for the changed version, as a
    careless custodian might: that set-up is weak.

    >>> ChangedMeaning().name
    'changed meaning'
    """

    name = "changed meaning"
    tries: ClassVar[str] = "asks a new version of the same rows that declares a wider range and finer steps"

    def __init__(self, *, new_ledger: bool = False) -> None:
        self._new_ledger = new_ledger

    def play(self, world: "World", coin: int) -> float:
        """Ask the version as it was declared, then the one with another meaning."""
        key, ledger, secret = world.fresh_key(), MemoryLedger(), world.secret
        with world.server(coin, ledger=ledger, key=key) as door:
            odds = self.guess(door, secret, world.shadows)
        kept = MemoryLedger() if self._new_ledger else ledger
        with world.redeclared(coin, ledger=kept, key=key) as door:
            return odds + self._ask(door, secret, first=QUESTIONS + 1)

    def play_together(self, custody: "Custody", coins: Sequence[int]) -> list[float]:
        """Do the same with all runs at once."""
        with custody.server() as stages:
            odds = [self._ask(door, secret, first=1) for door, secret in stages]
        with custody.redeclared() as stages:
            more = [self._ask(door, secret, first=QUESTIONS + 1) for door, secret in stages]
        return [one + two for one, two in zip(odds, more, strict=True)]

    def guess(self, door: Door, secret: Secret, shadows: Shadows) -> float:
        """Weigh the answers of one version alone."""
        return self._ask(door, secret, first=1)

    @staticmethod
    def _ask(door: Door, secret: Secret, *, first: int) -> float:
        return evidence(
            (secret.truths(times), partial(door.ask, secret.question(times=times), spend=0.24))
            for times in range(first, first + QUESTIONS)
        )
