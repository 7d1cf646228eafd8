"""An adversary: sees what an analyst sees, spends what an analyst may spend, and guesses."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from errorfloor.attacks.secret import Secret
from errorfloor.errors import ErrorFloorError

if TYPE_CHECKING:
    from errorfloor.attacks.world import World


class Door(Protocol):
    """What an analyst has: prices and answers, here or over HTTP."""

    @property
    def price(self) -> Callable[..., Any]:
        """Say what an answer would state and cost."""

    @property
    def ask(self) -> Callable[..., Any]:
        """Answer a question."""


Stage = tuple[Door, Secret]
Shadows = tuple[Callable[[], Stage], Callable[[], Stage]]


class Attack(ABC):
    """A strategy to learn which of two values the victim has.

    ``shadows`` open servers of the adversary's own that hold the table with the first and with the second value:
    somebody who knows all other entries can set these up at home, and compare. It needs nothing but an
    analyst's door.
    """

    name: str
    tries: ClassVar[str]

    @abstractmethod
    def guess(self, door: Door, secret: Secret, shadows: Shadows) -> float:
        """Give the odds as seen afterwards: positive for the second value, negative for the first, 0 for no idea."""

    def play(self, world: "World", coin: int) -> float:
        """Attack a fresh server on the copy that a coin chose, and give the odds as seen afterwards."""
        with world.stage(coin) as (door, secret):
            return self.guess(door, secret, world.shadows)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def outcome(act: Callable[[], Any]) -> Any:
    """Do something and give its result, or the error that a user would read."""
    try:
        return act()
    except ErrorFloorError as problem:
        return f"{type(problem).__name__}: {problem}"
