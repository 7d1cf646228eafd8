"""Engines that have transactions keep a table and its note in one of them."""

from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import ClassVar

from errorfloor.engines.base import Engine
from errorfloor.errors import EngineError


class TransactionalEngine(Engine):
    """Tables of a database, and one more table for the notes."""

    notes: ClassVar[str]  # the table of notes as it goes after FROM

    _noted = False  # whether the table of notes was seen; it stays

    @abstractmethod
    def _has_notes(self) -> bool:
        """Tell whether anything was ever registered here."""

    def _is_noted(self) -> bool:
        self._noted = self._noted or self._has_notes()
        return self._noted

    def known(self) -> list[str]:
        """Read the names from the table of notes."""
        if not self._is_noted():
            return []
        return sorted(self.query(f"SELECT name FROM {self.notes}").column("name").to_pylist())

    def recall(self, name: str) -> str | None:
        """Read the table of notes."""
        if not self._is_noted():
            return None
        found = self.query(f"SELECT note FROM {self.notes} WHERE name = {self.dialect.literal(name)}").column("note")
        return str(found[0]) if len(found) else None

    def recall_all(self) -> dict[str, str]:
        """Read the whole table of notes at once."""
        if not self._is_noted():
            return {}
        found = self.query(f"SELECT name, note FROM {self.notes} ORDER BY name").to_pydict()
        return dict(zip(found["name"], found["note"], strict=True))

    def note_anew(self, name: str, note: str) -> None:
        """Change one row of the table of notes."""
        text, which = self.dialect.literal(note), self.dialect.literal(name)
        self.execute(f"UPDATE {self.notes} SET note = {text} WHERE name = {which}")

    def _make(self, name: str, select_sql: str, note: Callable[[str], str]) -> None:
        relation = self.relation(name)
        self.execute("BEGIN")
        kept = False
        try:
            self.execute(f"CREATE TABLE {relation} AS {select_sql}")
            text = self.dialect.literal(note(relation))
            self.execute(f"INSERT INTO {self.notes} VALUES ({self.dialect.literal(name)}, {text})")
            self.execute("COMMIT")
            kept = True
        finally:
            if not kept:
                with suppress(EngineError):  # the failure that led here is the one to tell
                    self.execute("ROLLBACK")
