"""One key for two catalogues: the same question about other rows would have the same noise."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, final

from errorfloor.attacks.attack import CustodianAttack, Door, Shadows
from errorfloor.attacks.secret import Secret

if TYPE_CHECKING:
    from errorfloor.attacks.custody import Custody
    from errorfloor.attacks.world import World


@final
class SharedKeys(CustodianAttack):
    """Asks the same of another catalogue with the same keys, table name and version, whose rows it knows.

    Such a catalogue is made easily: a test system that got a copy of the key file. Were the noise the same, the
    difference of the two answers would be exact.

    >>> SharedKeys().name
    'shared keys'
    """

    name = "shared keys"
    tries: ClassVar[str] = "asks the same of another catalogue with the same keys whose rows it knows, and subtracts"

    def play(self, world: "World", coin: int) -> float:
        """Ask here and there, and subtract."""
        key = world.fresh_key()
        with world.elsewhere(key=key) as known, world.server(coin, key=key) as door:
            return _odds(_released(door, world.secret), _released(known, world.secret), world.secret)

    def play_together(self, custody: "Custody", coins: Sequence[int]) -> list[float]:
        """Do the same with all runs at once."""
        with custody.server() as stages:
            here = [_released(door, secret) for door, secret in stages]
        with custody.elsewhere().server() as stages:
            there = [_released(door, secret) for door, secret in stages]
        return [_odds(*both) for both in zip(here, there, custody.secrets, strict=True)]

    def guess(self, door: Door, secret: Secret, shadows: Shadows) -> float:
        """Say nothing: one catalogue alone shares nothing."""
        return 0.0


def _odds(here: float, there: float, secret: Secret) -> float:
    """Compare the difference with the one that the second value makes; the other catalogue has the first."""
    return here - there - secret.distance / 2


def _released(door: Door, secret: Secret) -> float:
    return float(door.ask(secret.question(), spend=0.9).to_arrow()["answer"][0].as_py())
