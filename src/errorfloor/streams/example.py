"""A small stream, for examples in docstrings."""

from fractions import Fraction

from errorfloor.catalogue import PrivateColumn
from errorfloor.dynamics import LinearSystem
from errorfloor.identity import Key
from errorfloor.ledger import MemoryLedger
from errorfloor.streams.stream import Stream


def example_stream() -> Stream:
    """Give a stream of cars on a line, their position observed for ten steps and the position of their start private.

    >>> example_stream().name
    'cars'
    """
    vehicle = LinearSystem([[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0]], 9, states=("position", "speed"))
    place = PrivateColumn(range=(Fraction(-5000), Fraction(5000)), resolution=Fraction(1, 10), floor=20, unit="m")
    return Stream(
        vehicle.protect(max_loss=1e5, protect="position"),
        name="cars",
        states={"position": place},
        keys=Key.fresh(),
        ledger=MemoryLedger(),
    )
