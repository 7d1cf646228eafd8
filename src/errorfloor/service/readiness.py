"""Whether a database can answer now; nothing is charged, and no private column is read."""

from collections.abc import Callable

from errorfloor.service.database import Database

PARTS = ("ledger", "snapshots", "engine")


def readiness(database: Database) -> dict[str, bool]:
    """Say of each part whether it is there: the ledger with its anchor, the snapshots, the engine.

    >>> from errorfloor.service.example import example_database
    >>> with example_database() as db:
    ...     readiness(db)
    {'ledger': True, 'snapshots': True, 'engine': True}
    """

    def ledger() -> None:
        with database.ledger.settling([], {}, {}, spend=False):  # compares it with its anchor
            pass

    def snapshots() -> None:
        missing = [name for name in database.catalogue.tables if database._rows(name) is None]
        assert not missing

    def engine() -> None:
        database._engine.query("SELECT 1 AS one")

    return {name: _is_there(part) for name, part in zip(PARTS, (ledger, snapshots, engine), strict=True)}


def _is_there(part: Callable[[], None]) -> bool:
    try:
        part()
    except Exception:
        return False
    return True
