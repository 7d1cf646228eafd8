"""The tables as they are declared and kept now: a changed catalogue is read again, and questions go on."""

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

from errorfloor.access.failures import DoorError
from errorfloor.access.tokens import state_of
from errorfloor.catalogue import Catalogue, load
from errorfloor.errors import CatalogueError, EngineError, KeyFileError
from errorfloor.identity import KeyRing
from errorfloor.service import Database
from errorfloor.service.joining import check_all_joined
from errorfloor.service.opening import kept_parts, let_go

LOG = logging.getLogger("errorfloor.server")
GLANCE = 1.0  # seconds between two looks at the catalogue and at what was destroyed
FIXED = ("place", "streams", "sign_in")  # what takes a new start


class Current:
    """A database that follows its catalogue; ``path`` None is one that does not change.

    *Guarantee*: a question is answered from one catalogue, all of whose tables are registered: that of the file, or,
    where the file cannot be used yet, the last one that could. Questions under way go on with theirs. A snapshot that
    was destroyed is let go at the next look, and no question is answered once a key that it could be drawn with was
    discarded: somebody who has seen the key could take the noise off.

    >>> from errorfloor.service.example import example_database
    >>> with example_database() as db:
    ...     Current(db, None)() is db
    True
    """

    def __init__(self, database: Database, path: Path | None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._database, self._path, self._clock = database, path, clock
        self._seen = () if path is None else state_of(path)
        self._parts = kept_parts(database)
        self._told: object = None
        self._looked = clock()
        self._ring: tuple[int, ...] | None = None  # the key file, as it was when it was last read
        self._is_seen_through = False
        self._lock = threading.Lock()

    def __call__(self) -> Database:
        """Give the database, after a look around if the last one was a while ago.

        Raises DoorError (503) if one of its keys is no longer in the key file.
        """
        found = self.look()
        if self._is_seen_through:
            raise DoorError(503, "key-file", "keys that this server draws with were discarded: restart it")
        return found

    def look(self) -> Database:
        """Look around if the last time was a while ago; give the database, which may have to draw nothing more."""
        if self._clock() - self._looked >= GLANCE:
            with self._lock:
                self._looked = self._clock()
                if self._path is not None:
                    self._follow(self._path)
                    self._grow()
                    self._look_at_keys(self._database.catalogue)
                try:
                    let_go(self._database)
                except EngineError as problem:  # tried again at the next look
                    LOG.warning("a snapshot that was destroyed is still open: %s", problem)
        return self._database

    def _look_at_keys(self, catalogue: Catalogue) -> None:
        """Find out whether all keys are still in their file; one that cannot be read now is read at the next look."""
        file = catalogue.folder / catalogue.place.keys
        state = state_of(file)
        if state != self._ring:
            try:
                known = {key.id for key in KeyRing(file).keys}
            except KeyFileError:
                return
            self._ring, self._is_seen_through = state, any(key.id not in known for key in self._database.keys)

    def _follow(self, path: Path) -> None:
        """Use the catalogue as it is now, if it has changed and can be used."""
        state = state_of(path)
        if state == self._seen:
            return
        try:
            self._database = _renewed(self._database, load(path))
            self._seen = state
            LOG.warning("the catalogue was read again")
        except (CatalogueError, EngineError) as problem:  # looked at again until it can be used
            if self._told != state:
                LOG.warning("the catalogue has changed but is not used yet: %s", problem)
            self._told = state

    def _grow(self) -> None:
        """Use the parts of tables that grow as they are now, if there are others."""
        try:
            parts = kept_parts(self._database)
            if parts != self._parts:
                self._database = _renewed(self._database, self._database.catalogue)
                self._parts = parts
        except (CatalogueError, EngineError) as problem:  # looked at again at the next look
            LOG.warning("new parts of a table are not used yet: %s", problem)


def _renewed(database: Database, catalogue: Catalogue) -> Database:
    """Give the database of another catalogue, if it can be served without a new start."""
    for word in FIXED:
        if getattr(catalogue, word) != getattr(database.catalogue, word):
            raise CatalogueError(f"[{word}] has changed: restart the server")
    renewed = database.renewed(catalogue)
    renewed.check_registered()
    check_all_joined(renewed.ledger, catalogue)
    return renewed
