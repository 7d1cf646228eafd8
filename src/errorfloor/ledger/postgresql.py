"""PostgreSQL as the database of a ledger: serialisable transactions, writers in a queue, every commit on disk."""

from typing import Any

from errorfloor.errors import CatalogueError, MissingExtraError
from errorfloor.ledger.connections import DatabaseKind

SCHEMA = "errorfloor"
WORDS = (("@", f"{SCHEMA}.ledger_"), ("?", "%s"), ("WHOLE", "BIGINT"), ("BYTES", "BYTEA"))
PREPARING = 0x6572666C  # the advisory lock that only preparing a ledger takes
BEGIN = {
    "read": ["BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY"],
    # Queue up before the transaction's view of the data is fixed, so that it hardly ever has to be done again.
    "write": ["BEGIN ISOLATION LEVEL SERIALIZABLE", "LOCK TABLE @schema IN SHARE ROW EXCLUSIVE MODE"],
    # Here the lock is waited for with a statement, which must not be all that the transaction ever sees.
    "prepare": ["BEGIN ISOLATION LEVEL READ COMMITTED", f"SELECT pg_advisory_xact_lock({PREPARING})"],
}
TABLES = (
    "SELECT relname AS name FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace space ON space.oid = relnamespace "
    f"WHERE nspname = '{SCHEMA}' AND relname = 'ledger_schema'"
)
ROOM = (  # IF NOT EXISTS would ask for the right to make one even if it is there
    f"DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = '{SCHEMA}') "
    f"THEN CREATE SCHEMA {SCHEMA}; END IF; END $$"
)


def kind(place: str, patience: float) -> tuple[DatabaseKind, str]:
    """Say how a URL is spoken to, and the name that messages call it by: no user and no password are in it."""
    if place.startswith(("postgresql://", "postgres://")):
        try:
            import psycopg
            from psycopg.conninfo import conninfo_to_dict
        except ModuleNotFoundError:
            raise MissingExtraError("postgres", "psycopg") from None
        try:
            parts = conninfo_to_dict(place)
            int(parts.get("port") or 0)
        except (psycopg.Error, ValueError):
            parts = {}  # the reason is not passed on: it could quote a password
    else:
        parts = {}
    if not parts:
        raise CatalogueError(
            "ledger must be the path of a file or postgresql://user@host/database, got a URL that is neither"
        )

    def connect() -> Any:
        connection = psycopg.connect(place, autocommit=True)
        milliseconds = max(1, round(1000 * patience))
        connection.execute("SELECT set_config('lock_timeout', %s, false)", [str(milliseconds)])
        # A server may be set to answer before a commit is on disk, also later, while this connection lasts; a stronger
        # setting stays what it is now.
        connection.execute(
            "SELECT set_config(name, CASE setting WHEN 'off' THEN 'on' ELSE setting END, false) FROM pg_settings "
            "WHERE name = 'synchronous_commit'"
        )
        return connection

    name = f"postgresql://{parts.get('host', 'localhost')}/{parts.get('dbname', '')}"
    return DatabaseKind(connect, psycopg.Error, BEGIN, WORDS, TABLES, (ROOM,)), name
