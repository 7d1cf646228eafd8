"""Turning back time: restored ledgers, new versions of the same data, changed data under an old version."""

import shutil
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from errorfloor.attacks.attack import CustodianAttack, Door, Shadows
from errorfloor.attacks.likelihood import evidence
from errorfloor.attacks.secret import Secret
from errorfloor.errors import ErrorFloorError
from errorfloor.ledger import FileAnchor, MemoryLedger, SqlLedger

if TYPE_CHECKING:
    from errorfloor.attacks.custody import Custody
    from errorfloor.attacks.world import World

ROUNDS = 30
REFUSED = 3  # in a row, and no more will come


class _OwnNumber(CustodianAttack):
    """Spends nine tenths of the allowance on a multiple of the victim's own number, another one each turn."""

    def guess(self, door: Door, secret: Secret, shadows: Shadows) -> float:
        """Weigh the answer about the number itself."""
        return self.ask(door, secret, 1)

    def ask(self, door: Door, secret: Secret, times: int) -> float:
        """Weigh the answer about so many times the number."""
        return evidence([(secret.truths(times), partial(door.ask, secret.question(times=times), spend=0.9))])


@final
class RestoredLedger(_OwnNumber):
    """Spends the allowance, has the ledger restored from a copy made before, and spends it again.

    ``with_anchor`` restores the anchor too, as can happen where it is kept beside the ledger: that set-up is weak.

    >>> RestoredLedger().name
    'restored ledger'
    """

    name = "restored ledger"
    tries: ClassVar[str] = "spends the allowance, puts an older copy of the ledger back, and spends it again"

    def __init__(self, *, with_anchor: bool = False) -> None:
        self._copied = "*" if with_anchor else "ledger*"

    def play(self, world: "World", coin: int) -> float:
        """Spend, restore, spend, …; a server that refuses the old ledger ends it."""
        odds, key = 0.0, world.fresh_key()
        with tempfile.TemporaryDirectory() as here, tempfile.TemporaryDirectory() as there:
            folder, backup = Path(here), Path(there)
            anchor = FileAnchor(folder / "anchor")
            SqlLedger(folder / "ledger.sqlite", anchor, create=True).close()
            _copy(folder, backup, "*")
            for turn in range(ROUNDS):
                try:
                    ledger = SqlLedger(folder / "ledger.sqlite", anchor)
                    with ledger, world.server(coin, ledger=ledger, key=key) as door:
                        odds += self.ask(door, world.secret, turn + 1)
                except ErrorFloorError:
                    break
                for left in folder.glob(self._copied):
                    left.unlink()
                _copy(backup, folder, self._copied)
        return odds

    def play_together(self, custody: "Custody", coins: Sequence[int]) -> list[float]:
        """Do the same with all runs on one ledger."""
        odds = np.zeros(len(coins))
        with custody.server():
            pass  # makes the ledger
        custody.back_up()
        for turn in range(ROUNDS):
            try:
                with custody.server() as stages:
                    odds += [self.ask(door, secret, turn + 1) for door, secret in stages]
            except ErrorFloorError:
                break
            custody.put_back(with_anchor=self._copied == "*")
        return [float(each) for each in odds]


def _copy(source: Path, target: Path, what: str) -> None:
    for file in source.glob(what):
        shutil.copy(file, target)


@final
class NewVersions(_OwnNumber):
    """Asks each of several versions that hold the same numbers; every version has noise of its own.

    ``new_ledger`` opens a new ledger for each version, as a careless custodian might: that set-up is weak.

    >>> NewVersions().name
    'new versions'
    """

    name = "new versions"
    tries: ClassVar[str] = "asks the same of every version of a table whose numbers did not change, and averages"

    def __init__(self, *, new_ledger: bool = False) -> None:
        self._new_ledger = new_ledger

    def play(self, world: "World", coin: int) -> float:
        """Ask each version in turn until the allowance is spent, each round with another share of it."""
        key, ledger, learnt = world.fresh_key(), MemoryLedger(), []
        for turn in range(ROUNDS):
            kept = MemoryLedger() if self._new_ledger else ledger
            with world.server(coin, ledger=kept, key=key, version_number=turn % world.versions) as door:
                learnt.append(self.ask(door, world.secret, turn + 1))
            if not any(learnt[-REFUSED:]) and turn >= REFUSED:
                break
        return sum(learnt)

    def play_together(self, custody: "Custody", coins: Sequence[int]) -> list[float]:
        """Do the same with all runs at once."""
        learnt: list[list[float]] = []
        for turn in range(ROUNDS):
            with custody.server(turn % custody.versions) as stages:
                learnt.append([self.ask(door, secret, turn + 1) for door, secret in stages])
            if turn >= REFUSED and not any(map(any, learnt[-REFUSED:])):
                break
        return [sum(each) for each in zip(*learnt, strict=True)]


@final
class ChangedData(CustodianAttack):
    """Asks before and after an update that kept the version's name: the same noise twice would show the change.

    The victim's number goes from the first value to the one that the coin chose.

    >>> ChangedData().name
    'changed data'
    """

    name = "changed data"
    tries: ClassVar[str] = "asks before and after the rows were changed under the same version, and subtracts"
    begins_alike: ClassVar[bool] = True

    def play(self, world: "World", coin: int) -> float:
        """Ask, have the sources replaced and registered again, and ask again."""
        key, ledger, released = world.fresh_key(), MemoryLedger(), []
        with tempfile.TemporaryDirectory() as name:
            for copy in (0, coin):
                with world.updated(copy, Path(name), ledger=ledger, key=key) as door:
                    released.append(_released(door, world.secret))
        return abs(released[1] - released[0]) - world.secret.distance / 2

    def play_together(self, custody: "Custody", coins: Sequence[int]) -> list[float]:
        """Do the same with all runs at once."""
        released = []
        for turn in range(2):
            if turn:
                custody.update(coins)
            with custody.server() as stages:
                released.append([_released(door, secret) for door, secret in stages])
        distance = custody.secrets[0].distance
        return [abs(after - before) - distance / 2 for before, after in zip(*released, strict=True)]

    def guess(self, door: Door, secret: Secret, shadows: Shadows) -> float:
        """Say nothing: one server that never changes shows nothing of a change."""
        return 0.0


def _released(door: Door, secret: Secret) -> float:
    sql = secret.question()
    return float(door.ask(sql, spend=0.4).to_arrow()["answer"][0].as_py())
