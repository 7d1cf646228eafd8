"""Journals: every answer of a stream is written down in the ledger before it leaves, so that no step has two."""

import hashlib
import threading
import unicodedata
from collections import OrderedDict
from collections.abc import Sequence
from numbers import Real
from typing import Any, final

import numpy as np

from errorfloor.accounts import StepAnswer
from errorfloor.catalogue import Catalogue
from errorfloor.charging import NO_LIMITS, Grant, look
from errorfloor.checks import whole
from errorfloor.errors import InputError, RefusedError
from errorfloor.identity import Key, Label
from errorfloor.ledger import Entry, Ledger, Record
from errorfloor.ledger.entry import JSON
from errorfloor.noise.lattice import MOST
from errorfloor.streams.declared import declared_stream, facts_of
from errorfloor.streams.fleet import Trip
from errorfloor.streams.stream import Stream

UNDER_WAY = 10_000  # trips that are kept where they stand, so that the next step costs one step
LONGEST_NAME = 200
MOST_ANSWERS = 1000  # in one page


@final
class Journal:
    """A stream whose answers are kept: each step of a trip is answered once, and can be read again by anybody.

    The order is: charge the trip, durably, unless it was; draw and round; write the answer into the ledger; give it.
    An answer is a record of the ledger without a charge, under a label of trip and step, so that its label is taken
    once whatever servers race for it, and a ledger that has lost one is refused.

    Guarantee: under one key and plan at most one answer is ever released for a step of a trip, whatever measurements
    are given, by however many processes over one ledger, and it is durable and anchored before it is given.

    >>> from errorfloor.service.example import example_database
    >>> with example_database() as db:
    ...     journal = db.declared_streams.journal("cars")
    ...     first, again = (journal.answer("car 7", "monday", 0, [120.0]) for _ in range(2))
    ...     first.answer == again.answer == journal.answers("car 7", "monday")[0].answer, first.fresh, again.fresh
    (True, True, False)
    """

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self._under_way: OrderedDict[tuple[str, str], tuple[str, Trip]] = OrderedDict()
        self._lock = threading.Lock()

    def answer(self, entity: Any, trip: Any, step: Any, measurement: Any, grant: Grant = NO_LIMITS) -> StepAnswer:
        """Release the measurement of a step: C x[k], m numbers. Steps may come in any order, each of them once.

        Raises AllowanceError if the entity's allowance, or what is granted, does not cover another trip: nothing was
        charged then. Raises RefusedError if the step is beyond the horizon; or (``reason`` "corrected" or
        "measurement") if it was answered from another measurement, or this is none or lies outside the declared ranges.
        Both of these depend on the measurement: they are for whoever gave it alone.
        """
        names, number = (self._name("entity", entity), self._name("trip", trip)), self._step(step)
        given = self._measured(number, measurement)
        begun, under_way = self._begin(names, number, grant)
        released = look(lambda: _stepped(under_way, number, given))
        self._keep(names, begun, under_way)
        label = _label(begun, number)
        note: dict[str, JSON] = {"stream": self.stream.name, "entity": names[0], "trip": names[1], "step": number}
        ledger = self.stream.ledger
        if ledger.charge([Entry(label, {}, {**note, "answer": released})], {}, {})[0]:
            return StepAnswer(number, tuple(released), True)
        kept = _kept(ledger.found([label])[label])
        if kept != tuple(released):
            raise RefusedError(
                f"step {number} of this trip was answered from another measurement: a second answer would show the "
                f"difference exactly. The first answer stands",
                reason="corrected",
            )
        return StepAnswer(number, kept, False)

    def answers(self, entity: Any, trip: Any, *, after: int = -1, limit: int = MOST_ANSWERS) -> list[StepAnswer]:
        """Give what was released for the steps ``after`` + 1 … ``after`` + ``limit`` of a trip; nothing is charged."""
        names = self._name("entity", entity), self._name("trip", trip)
        first = whole("after", after, least=-1) + 1
        count = whole("limit", limit, least=1)
        if count > MOST_ANSWERS:
            raise InputError(f"limit must be at most {MOST_ANSWERS}, got {count}")
        begun = self._known(*names)
        if begun is None:
            return []
        last = min(first + count - 1, self.stream.plan.system.horizon)
        labels = {_label(begun, number): number for number in range(first, last + 1)}
        found = self.stream.ledger.found(labels) if labels else {}
        return [StepAnswer(number, _kept(found[label]), False) for label, number in labels.items() if label in found]

    # -- trips under way

    def _begin(self, names: tuple[str, str], step: int, grant: Grant) -> tuple[str, Trip]:
        """Give a trip that stands at a step or before it, to this caller alone, and its label; it is charged then."""
        with self._lock:
            kept = self._under_way.pop(names, None)
        if kept is not None and kept[1].step <= step:
            return kept
        under_way = self.stream.trip(*names, grant)
        return self.stream.labels(*names)[under_way.key], under_way

    def _keep(self, names: tuple[str, str], begun: str, under_way: Trip) -> None:
        with self._lock:
            self._under_way[names] = begun, under_way
            if len(self._under_way) > UNDER_WAY:
                self._under_way.popitem(last=False)

    def _known(self, entity: str, trip: str) -> str | None:
        """Give the label that a trip was charged under, the oldest key's first; None if it was not begun."""
        labels = list(self.stream.labels(entity, trip).values())
        known = self.stream.ledger.known(labels)
        return next((label for label in labels if label in known), None)

    # -- what is checked before anything is charged

    def _name(self, what: str, value: Any) -> str:
        if not isinstance(value, str) or not 1 <= len(value) <= LONGEST_NAME or not value.isprintable():
            raise InputError(f"{what} must be a text of 1 to {LONGEST_NAME} printable characters")
        return unicodedata.normalize("NFC", value)  # one name however its accents are written

    def _step(self, value: Any) -> int:
        step, horizon = whole("step", value, least=0), self.stream.plan.system.horizon
        if step > horizon:
            raise RefusedError(
                f"step {step} is beyond the horizon {horizon} of {self.stream.name}: begin another trip",
                reason="horizon",
            )
        return step

    def _measured(self, step: int, measurement: Any) -> list[float]:
        count, most = self.stream.plan.system.outputs, MOST / 2 * self.stream.lattice.size
        if not isinstance(measurement, Sequence) or isinstance(measurement, str) or len(measurement) != count:
            raise RefusedError(
                f"measurement must be a list of {count} number{'s' if count > 1 else ''}", reason="measurement"
            )
        given = [float(value) for value in measurement if _is_number(value)]
        if len(given) != count:
            raise RefusedError("measurement must be a list of numbers", reason="measurement")
        if not all(abs(value) <= most for value in given):
            raise RefusedError(
                f"measurement must have finite numbers of magnitude at most {most:g}, so that they can be rounded to "
                f"multiples of {self.stream.lattice.step}; nothing was charged",
                reason="measurement",
            )
        self.stream.ranges.check(step, np.array([given]))
        return given


@final
class Streams:
    """The declared streams of a database, by name: what they promise, their answers, and a journal of each.

    ``identity`` names what is measured where rows are generated and an audit is to be repeated; else it is drawn.

    Raises CatalogueError if a stream cannot be planned, or one trip of it would take more than an entity's allowance.

    >>> from errorfloor.service.example import example_database
    >>> with example_database() as database:
    ...     streams = database.declared_streams
    ...     first = streams.answer("cars", entity="car 7", trip="monday", step=0, measurement=[120.0])
    ...     streams.answers("cars", entity="car 7", trip="monday")[0].answer == first.answer
    True
    """

    def __init__(
        self, catalogue: Catalogue, *, ledger: Ledger, keys: Sequence[Key], identity: str | None = None
    ) -> None:
        self._journals = {
            name: Journal(declared_stream(name, declared, catalogue.folder, ledger, keys, identity))
            for name, declared in catalogue.streams.items()
        }

    @property
    def names(self) -> tuple[str, ...]:
        """Their names, in the order of the catalogue."""
        return tuple(self._journals)

    def journal(self, name: str, seen: Sequence[str] | None = None) -> Journal:
        """Give the journal of one stream; those that are not among the ``seen`` do not exist for who asks."""
        known = self.names if seen is None else seen
        if name not in known:
            raise InputError(f"there is no stream {str(name)[:64]!r}; declared are {', '.join(known) or 'none'}")
        return self._journals[name]

    def answer(self, stream: str, *, entity: str, trip: str, step: int, measurement: Sequence[float]) -> StepAnswer:
        """Release the measurement of one step of a trip; see ``Journal.answer``."""
        return self.journal(stream).answer(entity, trip, step, measurement)

    def answers(self, stream: str, *, entity: str, trip: str, after: int = -1, limit: int = 1000) -> list[StepAnswer]:
        """Give what was released of a trip; see ``Journal.answers``."""
        return self.journal(stream).answers(entity, trip, after=after, limit=limit)

    def facts(self) -> list[dict[str, Any]]:
        """Give what is declared and promised of each stream as plain JSON types; nothing private is in it."""
        return [facts_of(name, journal.stream) for name, journal in self._journals.items()]


def _is_number(value: Any) -> bool:
    if isinstance(value, int):
        return not isinstance(value, bool) and abs(value) < 2**1000  # beyond that there is no double
    return isinstance(value, Real)


def _label(begun: str, step: int) -> str:
    return hashlib.sha256(Label("trip answer", (begun, step)).encoded).hexdigest()


def _kept(record: Record) -> tuple[float, ...]:
    """Read the answer that a record keeps."""
    answer: Any = record.note["answer"]
    return tuple(float(value) for value in answer)


def _stepped(under_way: Trip, step: int, given: list[float]) -> list[float]:
    """Draw and round."""
    under_way.seek(step)
    return [float(value) for value in under_way.answer(given)]
