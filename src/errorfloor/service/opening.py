"""Opening what a catalogue declares, and whether it can answer now."""

from collections.abc import Callable
from pathlib import Path

from errorfloor.catalogue import load
from errorfloor.engines import open_engine
from errorfloor.errors import InputError
from errorfloor.identity import Key, KeyRing
from errorfloor.ledger import open_ledger
from errorfloor.service.database import Database
from errorfloor.service.dummy import dummy_engine
from errorfloor.service.joining import check_all_joined

PARTS = ("ledger", "snapshots", "engine")


def open_database(path: str | Path = "errorfloor.toml", *, dry: bool = False, key: str | None = None) -> Database:
    """Open the tables and streams that a catalogue declares, with its vault, ledger and keys: ``errorfloor.open``.

    With ``dry``, dummy rows made from the catalogue alone stand in for the tables: neither vault, ledger, keys nor
    sources are touched, or need to exist, answers are free, and there are no streams. ``key`` is the id of an older key
    in the key file: what was answered with it is given again.

    >>> open_database("nowhere.toml")
    Traceback (most recent call last):
    errorfloor.errors.CatalogueError: there is no catalogue nowhere.toml: ...
    """
    if not isinstance(path, (str, Path)):
        raise InputError(f"open takes the path of a catalogue, got {type(path).__name__}")
    catalogue = load(path)
    if dry:
        return Database.of_dummies(catalogue)
    ring = KeyRing(catalogue.folder / catalogue.place.keys)
    used: KeyRing | Key = ring if key is None else ring.find(key)
    if catalogue.tables:
        engine = open_engine(catalogue.place, catalogue.folder, read_only=True)
    else:  # streams alone: nothing was registered, so there is no vault
        engine = dummy_engine(catalogue)[1]
    try:
        ledger = open_ledger(catalogue.place, catalogue.folder)
        check_all_joined(ledger, catalogue)
    except BaseException:
        engine.close()
        raise
    return Database(catalogue, engine=engine, ledger=ledger, keys=used, older=ring.keys)


def readiness(database: Database) -> dict[str, bool]:
    """Say of each part whether it is there: the ledger with its anchor, the snapshots, the engine.

    >>> from errorfloor.service.example import example_database
    >>> with example_database() as db:
    ...     readiness(db)
    {'ledger': True, 'snapshots': True, 'engine': True}
    """

    def ledger() -> None:
        with database.ledger.settling([], {}, {}, spend=False):  # compares it with its anchor
            database.check_ledger()

    def snapshots() -> None:
        database.check_registered()

    def engine() -> None:
        database._engine.query("SELECT 1 AS one")

    return {name: _is_there(part) for name, part in zip(PARTS, (ledger, snapshots, engine), strict=True)}


def let_go(database: Database) -> None:
    """Let go of snapshots that were destroyed since; ``errorfloor erase`` destroys them beside a running server."""
    database._engine.let_go()


def kept_parts(database: Database) -> list[str]:
    """Name what the vault keeps, if a declared table grows: ``errorfloor register`` adds to it beside a server."""
    grows = any(table.grows_by is not None for table in database.catalogue.tables.values())
    return database._engine.known() if grows else []


def _is_there(part: Callable[[], None]) -> bool:
    try:
        part()
    except Exception:
        return False
    return True
