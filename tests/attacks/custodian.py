"""Adversaries with the custodian's files: restored ledgers, new versions, changed rows and meanings, shared keys."""

import shutil
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, final

from errorfloor.attacks.attack import Attack, Door, Shadows
from errorfloor.attacks.likelihood import evidence
from errorfloor.attacks.secret import Secret
from errorfloor.errors import ErrorFloorError
from errorfloor.ledger import FileAnchor, MemoryLedger, SqlLedger

if TYPE_CHECKING:
    from custodians_world import CustodiansWorld as World

ROUNDS = 30
REFUSED = 3  # in a row, and no more will come
QUESTIONS = 4  # of each meaning of a version; every one spends as much as is left to it


class CustodianAttack(Attack):
    """An attack that has the custodian's files restored or replaced, so that one server shows nothing of it."""

    def guess(self, door: Door, secret: Secret, shadows: Shadows) -> float:
        """Say nothing."""
        return 0.0


@final
class RestoredLedger(CustodianAttack):
    """Spends the allowance, has the ledger restored from a copy made before, and spends it again.

    ``with_anchor`` restores the anchor too, as can happen where it is kept beside the ledger: that set-up is weak.
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
            with SqlLedger(folder / "ledger.sqlite", anchor, create=True) as ledger:
                world.enter(coin, ledger)
            _copy(folder, backup, "*")
            for turn in range(ROUNDS):
                try:
                    ledger = SqlLedger(folder / "ledger.sqlite", anchor)
                    with ledger, world.server(coin, ledger=ledger, key=key) as door:
                        odds += _weighed(door, world.secret, turn + 1)
                except ErrorFloorError:
                    break
                for left in folder.glob(self._copied):
                    left.unlink()
                _copy(backup, folder, self._copied)
        return odds


@final
class NewVersions(CustodianAttack):
    """Asks each of several versions that hold the same numbers; every version has noise of its own.

    ``new_ledger`` opens a new ledger for each version, as a careless custodian might: that set-up is weak.
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
                learnt.append(_weighed(door, world.secret, turn + 1))
            if not any(learnt[-REFUSED:]) and turn >= REFUSED:
                break
        return sum(learnt)


@final
class ChangedData(CustodianAttack):
    """Asks before and after an update that kept the version's name: the same noise twice would show the change.

    The victim's number goes from the first value to the one that the coin chose.
    """

    name = "changed data"
    tries: ClassVar[str] = "asks before and after the rows were changed under the same version, and subtracts"

    def play(self, world: "World", coin: int) -> float:
        """Ask, have the sources replaced and registered again, and ask again."""
        key, ledger, released = world.fresh_key(), MemoryLedger(), []
        with tempfile.TemporaryDirectory() as name:
            for copy in (0, coin):
                with world.updated(copy, Path(name), ledger=ledger, key=key) as door:
                    released.append(_released(door, world.secret, spend=0.4))
        return abs(released[1] - released[0]) - world.secret.distance / 2


@final
class ChangedMeaning(CustodianAttack):
    """Spends what a version allows, then what the next one does, whose wider range affords the same floor more.

    A floor of 2.8 under numbers from 0 to 10 leaves hardly anything to tell; under numbers from 0 to 200 it allows a
    hundred times as much, and the rows are the same. ``new_ledger`` opens a new ledger for the changed version, as a
    careless custodian might: that set-up is weak.
    """

    name = "changed meaning"
    tries: ClassVar[str] = "asks a new version of the same rows that declares a wider range and finer steps"

    def __init__(self, *, new_ledger: bool = False) -> None:
        self._new_ledger = new_ledger

    def play(self, world: "World", coin: int) -> float:
        """Ask the version as it was declared, then the one with another meaning."""
        key, ledger, secret = world.fresh_key(), MemoryLedger(), world.secret
        multiples = range(1, QUESTIONS + 1), range(QUESTIONS + 1, 2 * QUESTIONS + 1)
        with world.server(coin, ledger=ledger, key=key) as door:
            odds = _weighed(door, secret, *multiples[0], spend=0.24)
        kept = MemoryLedger() if self._new_ledger else ledger
        with world.redeclared(coin, ledger=kept, key=key) as door:
            return odds + _weighed(door, secret, *multiples[1], spend=0.24)


@final
class SharedKeys(CustodianAttack):
    """Asks the same of another catalogue with the same keys, table name and version, whose rows it knows.

    Such a catalogue is made easily: a test system that got a copy of the key file. Were the noise the same, the
    difference of the two answers would be exact.
    """

    name = "shared keys"
    tries: ClassVar[str] = "asks the same of another catalogue with the same keys whose rows it knows, and subtracts"

    def play(self, world: "World", coin: int) -> float:
        """Ask here and there, and compare the difference with the one that the second value makes."""
        key, secret = world.fresh_key(), world.secret
        with world.elsewhere(key=key) as known, world.server(coin, key=key) as door:
            here, there = (_released(one, secret, spend=0.9) for one in (door, known))
        return here - there - secret.distance / 2


def _weighed(door: Door, secret: Secret, *multiples: int, spend: float = 0.9) -> float:
    """Weigh the answers about so many times the victim's own number."""
    asks = ((times, partial(door.ask, secret.question(times=times), spend=spend)) for times in multiples)
    return evidence(secret, asks)


def _released(door: Door, secret: Secret, *, spend: float) -> float:
    return float(door.ask(secret.question(), spend=spend).to_arrow()["answer"][0].as_py())


def _copy(source: Path, target: Path, what: str) -> None:
    for file in source.glob(what):
        shutil.copy(file, target)
