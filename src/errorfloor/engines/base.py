"""What every engine can do: read sources, keep immutable tables with a note on each, and answer queries in Arrow.

Those that have transactions keep a table and its note in one of them.
"""

import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar, final

from errorfloor.catalogue.columns import PublicType
from errorfloor.catalogue.model import Place
from errorfloor.catalogue.reading import Reading
from errorfloor.closing import Closing
from errorfloor.engines.dialects import Dialect
from errorfloor.engines.sources import Kind, Source
from errorfloor.errors import CatalogueError, EngineError, MissingExtraError

NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
PLAIN = Reading()


class Engine(Closing):
    """A connection to one engine and to the tables that are kept there.

    Tables are made once, together with a note (a text, such as JSON) about them, and never change. Names of tables are
    lower-case letters, digits and _.

    *Guarantee*: a failure becomes an EngineError without any text of the engine; a table is seen by others with all its
    rows and its note, or not at all, whenever and however its making ends.
    """

    name: ClassVar[str]
    dialect: ClassVar[Dialect]
    keeps_order: ClassVar[bool] = True  # a pass over a table can compare each row with the one before

    @abstractmethod
    def query(self, sql: str) -> Any:
        """Run a SELECT and give its result as a pyarrow.Table."""

    @abstractmethod
    def execute(self, sql: str) -> None:
        """Run a statement that has no result."""

    @abstractmethod
    def close(self) -> None:
        """Let go of everything; a second time does nothing."""

    @abstractmethod
    def identify(self, source: Sequence[str]) -> str:
        """Give the same text for two declarations of one source, and another for another; a line for each file."""

    @abstractmethod
    def reading(
        self, source: Sequence[str], columns: Mapping[str, PublicType] | None = None, how: Reading = PLAIN
    ) -> AbstractContextManager[Source]:
        """Open a declared source; only the ``columns`` named need to be readable.

        In text files every column is read as the type that is given with its name, or as text without ``columns``.
        """

    @abstractmethod
    def relation(self, name: str) -> str:
        """Give a kept table as it goes after FROM."""

    def tally_of(self, name: str, place: int) -> str | None:
        """Give another table that is made and removed with a kept one; None where there is no such thing."""
        return None

    @abstractmethod
    def known(self) -> list[str]:
        """Name the tables that are kept, in order."""

    @abstractmethod
    def recall(self, name: str) -> str | None:
        """Give the note of a table, None if there is no such table."""

    def recall_all(self) -> dict[str, str]:
        """Give the notes of all tables that are kept, by name."""
        return {name: self.recall(name) or "" for name in self.known()}

    @abstractmethod
    def note_anew(self, name: str, note: str) -> None:
        """Put a note of another format in the place of a table's note; for upgrades alone."""

    def check_destroys(self) -> None:
        """Raise EngineError if this engine cannot remove a table for good."""
        raise EngineError(
            f"{self.name} does not really delete what it was told to remove: copy the snapshots to a new place "
            f"(errorfloor register "
            f"--copy-from), erase there, and destroy the old place yourself",
            engine=self.name,
            kind="erasure",
        )

    def destroy(self, name: str) -> None:
        """Remove a table and its note for good, for erasing a person alone."""
        self.check_destroys()

    def let_go(self) -> None:
        """Let go of tables that somebody else destroyed."""

    @final
    @cached_property
    def identified(self) -> Callable[[Sequence[str]], str]:
        """``identify``, but each source once only: for comparing a source with all others, again and again."""
        return cache(self.identify)

    @abstractmethod
    def _make(self, name: str, select_sql: str, note: Callable[[str], str]) -> None: ...

    @final
    def exists(self, name: str) -> bool:
        """Tell whether a table is kept."""
        return self.recall(name) is not None

    @final
    def create(self, name: str, select_sql: str, note: Callable[[str], str] = lambda relation: "") -> None:
        """Keep the result of a SELECT as a table, with a note.

        ``note`` is called with the new table as it goes after FROM, while nobody else can see it: it may query it. If
        it raises, nothing is kept.
        """
        if not NAME.fullmatch(name):
            raise ValueError(f"a table's name is a letter followed by letters, digits and _ (at most 63), got {name!r}")
        if self.exists(name):
            raise CatalogueError(f"{self.name} keeps a table {name} already; tables are never changed", name=name)
        self._make(name, select_sql, note)

    def as_double(self, sql: str, kind: Kind) -> str:
        """Turn a number of a source into the double nearest to it; a text is read as a number."""
        # between decimals and doubles engines round in ways of their own; texts are read the same by all of them
        return self.dialect.double(self.dialect.text(sql) if kind == "decimal" else sql)


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
        with self._transaction():
            self.execute(f"CREATE TABLE {relation} AS {select_sql}")
            text = self.dialect.literal(note(relation))
            self.execute(f"INSERT INTO {self.notes} VALUES ({self.dialect.literal(name)}, {text})")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Make all that is done in the block durable, or nothing of it."""
        self.execute("BEGIN")
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            with suppress(EngineError):  # the failure that led here is the one to tell
                self.execute("ROLLBACK")
            raise


def has_vault(place: Place, folder: Path) -> bool:
    """Say whether there is something to open: a file or folder of snapshots, or a server, which is always asked.

    >>> has_vault(Place(), Path("nowhere"))
    False
    """
    return place.is_server or (folder / place.snapshots).exists()


def open_engine(place: Place, folder: Path, *, read_only: bool = True) -> Engine:
    """Open the engine that a catalogue declares, which lies in a folder: relative paths start there.

    Any number may be open for asking at once, ``read_only``. Registering needs False, and is alone in doing so.

    Raises MissingExtraError if the engine's package is not installed, CatalogueError if nothing was ever registered in
    a DuckDB file that is to be read, EngineError if the engine cannot be reached, or somebody else is writing.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open_engine(Place(), Path(folder), read_only=False) as engine:
    ...         engine.create("squares", "SELECT k, k * k AS square FROM range(4) AS t(k)")
    ...         engine.query(f"SELECT sum(square) AS total FROM {engine.relation('squares')}").to_pylist()
    [{'total': Decimal('14')}]
    """
    match place.engine:
        case "duckdb":
            try:
                from errorfloor.engines.duckdb import DuckDBEngine
                from errorfloor.engines.duckdb_folder import DuckDBFolder
            except ImportError:
                raise MissingExtraError("sql", "duckdb") from None
            path = (folder / place.snapshots).resolve()
            kind = DuckDBEngine if path.is_file() else DuckDBFolder  # a file is what older versions made
            return kind(path, folder, read_only=read_only)
        case "postgresql":
            try:
                from errorfloor.engines.postgresql import PostgreSQLEngine
            except ImportError:
                raise MissingExtraError("postgres", "adbc-driver-postgresql") from None
            return PostgreSQLEngine(place.snapshots, folder, read_only=read_only)
        case "spark":
            try:
                from errorfloor.engines.spark import SparkEngine
            except ImportError:
                raise MissingExtraError("spark", "pyspark") from None
            return SparkEngine((folder / place.snapshots).resolve(), folder, read_only=read_only)
