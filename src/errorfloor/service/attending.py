"""Attendants: whoever answers for others stands by while a question is answered, may refuse it, and may give it up.

A door sets one for its thread; without one, as in ``errorfloor.open``, nothing is limited and nothing is given up.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from errorfloor.engines.allotment import UNLIMITED, Allotment, allotted
from errorfloor.service.answer import Price
from errorfloor.service.preparation import Prepared


class Attendant:
    """Lets everything pass; a door overrides what it cares about. The calls come in this order.

    ``allotment`` is what the question may take, and how it is stopped. ``question`` is the share of an allowance that
    it may take at most.

    Guarantee: up to and including ``charging`` no private column has been read and nothing has been charged, so that
    either may raise; ``looking`` comes once the charge is durable, right before private columns are read.

    >>> Attendant().charging()
    """

    allotment: Allotment = UNLIMITED
    question: float | None = None

    def priced(self, prepared: Prepared) -> None:
        """Hear what a question takes; may refuse it."""

    def charging(self) -> None:
        """Hear that the charge comes next: the last moment to give the question up."""

    def looking(self, stated: Price, fresh: Sequence[bool], labels: Sequence[str]) -> None:
        """Hear that private columns are read from here on.

        ``fresh`` says which outputs were charged now, ``labels`` by which names the ledger knows them.
        """


NOBODY = Attendant()
_PRESENT: ContextVar[Attendant] = ContextVar("attendant", default=NOBODY)


def attendant() -> Attendant:
    """Give who attends to the questions of this thread.

    >>> attendant() is NOBODY
    True
    """
    return _PRESENT.get()


@contextmanager
def attended_by(one: Attendant) -> Iterator[None]:
    """Let somebody attend to the questions that this thread asks in the block.

    >>> with attended_by(Attendant()):
    ...     attendant() is NOBODY
    False
    """
    before = _PRESENT.set(one)
    try:
        with allotted(one.allotment):
            yield
    finally:
        _PRESENT.reset(before)
