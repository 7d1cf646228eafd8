"""PostgreSQL as the database of a ledger: serialisable transactions, writers in a queue, every commit on disk."""

from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError

from errorfloor.errors import CatalogueError, MissingExtraError
from errorfloor.ledger.tables import SCHEMA, schema_version

PREPARING = 0x6572666C  # the advisory lock that only preparing a ledger takes


def make_engine(place: str, patience: float) -> tuple[Engine, str]:
    """Give an engine for a URL, and the name that messages call it by: no user and no password are in it."""
    try:
        url = make_url(place)
    except (ArgumentError, ValueError):
        url = None  # the reason is not passed on: it could quote a password
    if url is None or url.get_backend_name() not in ("postgresql", "postgres"):
        raise CatalogueError(
            "ledger must be the path of a file or postgresql://user@host/database, got a URL that is neither"
        )
    host = url.host or url.query.get("host") or "localhost"
    name = f"postgresql://{host if isinstance(host, str) else host[0]}/{url.database or ''}"
    try:
        url = url.set(drivername="postgresql+psycopg")
        engine = create_engine(url, isolation_level="SERIALIZABLE", pool_timeout=patience)
    except ModuleNotFoundError:
        raise MissingExtraError("postgres", "psycopg") from None
    milliseconds = max(1, round(1000 * patience))

    def connected(connection: Any, _: object) -> None:
        connection.execute("SELECT set_config('lock_timeout', %s, false)", [str(milliseconds)])
        # A server may be set to answer before a commit is on disk; stronger settings are left alone.
        connection.execute(
            "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
        )
        connection.commit()

    event.listen(engine, "connect", connected)
    event.listen(engine, "begin", _begun)
    return engine.execution_options(schema_translate_map={None: SCHEMA}), name


def _begun(connection: Connection) -> None:
    """Queue up before the transaction's view of the data is fixed, so that it hardly ever has to be done again."""
    mode = connection.get_execution_options()["mode"]
    if mode == "write":
        connection.exec_driver_sql(f"LOCK TABLE {SCHEMA}.{schema_version.name} IN SHARE ROW EXCLUSIVE MODE")
    elif mode == "prepare":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({PREPARING})")
