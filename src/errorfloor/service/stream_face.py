"""The face of a database towards trajectories: streams, and the steps of their trips."""

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from errorfloor.catalogue import Catalogue
from errorfloor.charging.settling import Grant
from errorfloor.errors import InputError
from errorfloor.identity import Key
from errorfloor.ledger import Ledger

if TYPE_CHECKING:  # what questions do not need is loaded when it is used
    from errorfloor.streams import Journal, StepAnswer, Streams


class StreamFace:
    """What a database says of its streams, and releases of them."""

    ledger: Ledger
    keys: tuple[Key, ...]
    is_dry: bool
    _whole: Catalogue
    _grant: Grant
    _planned: "list[Streams]"
    _lock: threading.Lock

    def streams(self) -> list[dict[str, Any]]:
        """Give what is declared and promised of each stream, as plain JSON types; a dry run has none."""
        return [one for one in self.declared_streams.facts() if self._grant.covers(one["name"])]

    def answer(self, stream: str, *, entity: str, trip: str, step: int, measurement: Sequence[float]) -> "StepAnswer":
        """Release the measurement of one step of a trip; the first charges the trip, and again it is free.

        Raises RefusedError if the step was answered from another measurement, AllowanceError if the entity has no
        allowance left.
        """
        return self._journal(stream).answer(entity, trip, step, measurement, self._grant)

    def answers(self, stream: str, *, entity: str, trip: str, after: int = -1, limit: int = 1000) -> "list[StepAnswer]":
        """Give what was released for the steps ``after`` + 1 … ``after`` + ``limit`` of a trip; nothing is charged."""
        return self._journal(stream).answers(entity, trip, after=after, limit=limit)

    @property
    def declared_streams(self) -> "Streams":
        """The streams of the catalogue, planned once; a dry run has none, for the noise of dummy rows hides nothing.

        Raises CatalogueError if one cannot be planned, or one trip would take more than an entity's allowance.
        """
        from errorfloor.streams import Streams

        with self._lock:
            if not self._planned:
                declared = self._whole.model_copy(update={"streams": {}}) if self.is_dry else self._whole
                self._planned.append(Streams(declared, ledger=self.ledger, keys=self.keys))
            return self._planned[0]

    def _journal(self, stream: str) -> "Journal":
        streams = self.declared_streams
        seen = [name for name in streams.names if self._grant.covers(name)]
        if stream not in seen:
            raise InputError(f"there is no stream {str(stream)[:64]!r}; declared are {', '.join(seen) or 'none'}")
        return streams.journal(stream)
