"""What ``errorfloor.open`` gives: tables that answer questions, and streams of trajectories beside them."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, final

from errorfloor.service import Database
from errorfloor.streams.declared import Streams
from errorfloor.streams.journal import StepAnswer


@final
class StreamingDatabase(Database):
    """A database with the streams that its catalogue declares; the same face as ``errorfloor.connect`` gives.

    >>> from errorfloor.service.example import example_database
    >>> with example_database() as db:
    ...     same = StreamingDatabase(db.catalogue, engine=db._engine, ledger=db.ledger, keys=db.keys[0])
    ...     [one["name"] for one in same.streams()]
    ['cars']
    """

    @cached_property
    def _streams(self) -> Streams:
        return Streams.of(self)

    def streams(self) -> list[dict[str, Any]]:
        """Give what is declared and promised of each stream, as plain JSON types."""
        return self._streams.facts()

    def answer(self, stream: str, *, entity: str, trip: str, step: int, measurement: Sequence[float]) -> StepAnswer:
        """Release the measurement of one step of a trip; the first charges the trip, and again it is free.

        Raises RefusedError if the step was answered from another measurement, AllowanceError if the entity has no
        allowance left.
        """
        return self._streams.answer(stream, entity=entity, trip=trip, step=step, measurement=measurement)

    def answers(self, stream: str, *, entity: str, trip: str, after: int = -1, limit: int = 1000) -> list[StepAnswer]:
        """Give what was released for the steps ``after`` + 1 … ``after`` + ``limit`` of a trip; nothing is charged."""
        return self._streams.answers(stream, entity=entity, trip=trip, after=after, limit=limit)


def open(path: str | Path = "errorfloor.toml", *, dry: bool = False, key: str | None = None) -> StreamingDatabase:
    """Open the tables and streams that a catalogue declares, with its vault, ledger and keys.

    With ``dry``, dummy rows made from the catalogue alone stand in for the tables: neither vault, ledger, keys nor
    sources are touched, or need to exist, answers are free, and there are no streams. ``key`` is the id of an older key
    in the key file: what was answered with it is given again.

    >>> open("nowhere.toml")
    Traceback (most recent call last):
    errorfloor.errors.CatalogueError: there is no catalogue nowhere.toml: ...
    """
    return StreamingDatabase._of(path, dry=dry, key=key)
