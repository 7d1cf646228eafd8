"""SQLAlchemy's way to a server: ``create_engine("errorfloor://anna:TOKEN@host:8470/?max_error=0.5")``.

The address means https, and http on this machine. ``charge=on`` lets questions be charged, ``charge=0.001`` each up to
that share of any allowance, with ``charge_per_day=0.01`` all of one day up to that; ``bounds=off`` leaves out the ends
of certain intervals, ``insecure=on`` allows http elsewhere, ``verify`` names a file of certificates.
"""

from types import ModuleType
from typing import Any

from sqlalchemy import types
from sqlalchemy.engine import URL, default

from errorfloor.client import dbapi
from errorfloor.client.connection import is_loopback
from errorfloor.errors import InputError
from errorfloor.sql_text import wished

FLAGS = {"on": True, "true": True, "1": True, "off": False, "false": False, "0": False}
PORT, SCHEMA = 8470, "public"
NUMBER = types.Float(53)  # of 53 bits, by the name that SQLAlchemy 1.4, on which Superset runs, has for it, too
TYPES: dict[str, types.TypeEngine[Any]] = {
    **{"whole": types.BigInteger(), "number": NUMBER, "text": types.Text(), "date": types.Date()},
    **{"moment": types.DateTime(), "flag": types.Boolean()},
}


class ErrorFloorDialect(default.DefaultDialect):
    """Questions are compiled as standard SQL; tables are reflected from the declarations."""

    name, driver, default_paramstyle = "errorfloor", "http", "qmark"
    supports_statement_cache = True
    supports_alter = supports_sequences = False
    default_schema_name = SCHEMA
    supports_native_boolean = True
    supports_sane_rowcount = supports_sane_multi_rowcount = False

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        """Give the interface."""
        return dbapi

    dbapi = import_dbapi  # type: ignore[assignment]  # as SQLAlchemy 1.4 calls it

    def create_connect_args(self, url: URL) -> Any:
        """Give what ``connect`` takes; the name in the address is for its reader, the password is the token."""
        options: dict[str, Any] = dict(url.query)
        found: dict[str, Any] = {"token": url.password or ""}
        for name in ("bounds", "insecure"):
            if name in options:
                found[name] = _flag(name, options.pop(name))
        for name in ("charge", "charge_per_day"):
            if name in options:
                found[name] = _limit(name, str(options.pop(name)))
        for name in ("max_error", "spend"):
            if name in options:
                found[name] = wished(name, options.pop(name))
        if "verify" in options:
            found["verify"] = options.pop("verify")
        if options:
            raise InputError(f"the address says {', '.join(sorted(options))}, which mean nothing here")
        host = url.host or "127.0.0.1"
        plain = is_loopback(host) or found.get("insecure", False)
        return [f"{'http' if plain else 'https'}://{host}:{url.port or PORT}"], found

    def get_schema_names(self, connection: Any, **_: Any) -> list[str]:
        """Name the one schema, which may stand before the names of tables."""
        return [SCHEMA]

    def get_table_names(self, connection: Any, schema: str | None = None, **_: Any) -> list[str]:
        """Name the declared tables."""
        return [one["name"] for one in _tables(connection)] if schema in (None, SCHEMA) else []

    def get_view_names(self, connection: Any, schema: str | None = None, **_: Any) -> list[str]:
        """There are none."""
        return []

    get_materialized_view_names = get_temp_table_names = get_temp_view_names = get_sequence_names = get_view_names

    def has_table(self, connection: Any, table_name: str, schema: str | None = None, **_: Any) -> bool:
        """Say whether a table is declared."""
        return table_name in self.get_table_names(connection, schema)

    def get_columns(self, connection: Any, table_name: str, schema: str | None = None, **_: Any) -> Any:
        """Describe the columns; a comment says what is private, and within which range."""
        table = _table(connection, table_name)
        found = [(one["name"], TYPES[one["type"]], True, "public") for one in table["public"]]
        for one in table["private"]:
            low, high = one["range"]
            said = f"private, within {low:g} … {high:g} {one['unit'] or ''}".rstrip()
            found.append((one["name"], NUMBER, True, said))
        hidden = "private, in its declared domain"
        found += [(one["name"], TYPES[one["type"]], False, hidden) for one in table.get("columns", ())]
        words = ("name", "type", "nullable", "comment")
        return [dict(zip(words, one, strict=True)) | {"default": None} for one in found]

    def get_pk_constraint(self, connection: Any, table_name: str, schema: str | None = None, **_: Any) -> Any:
        """Give the row key."""
        return {"constrained_columns": _table(connection, table_name)["row_key"], "name": None}

    def get_foreign_keys(self, connection: Any, table_name: str, schema: str | None = None, **_: Any) -> Any:
        """There are none."""
        return []

    get_indexes = get_unique_constraints = get_check_constraints = get_foreign_keys

    def get_table_comment(self, connection: Any, table_name: str, schema: str | None = None, **_: Any) -> Any:
        """Say what is private."""
        private = [one["name"] for one in _table(connection, table_name)["private"]]
        return {"text": f"private: {', '.join(private)}" if private else "a public table"}

    def do_ping(self, dbapi_connection: Any) -> bool:
        """Say whether the server can be reached."""
        dbapi_connection.database.tables()
        return True

    def initialize(self, connection: Any) -> None:
        """Ask nothing: what a connection can do is known."""


def _limit(name: str, text: str) -> bool | float:
    if name == "charge" and text.lower() in FLAGS:
        return FLAGS[text.lower()]
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        words = "on, off, or " if name == "charge" else ""
        raise InputError(f"{name} is {words}a share of every allowance above 0 and at most 1, got {text[:40]!r}")
    return share


def _flag(name: str, text: str) -> bool:
    if str(text).lower() not in FLAGS:
        raise InputError(f"{name} is on or off, got {str(text)[:40]!r}")
    return FLAGS[str(text).lower()]


def _tables(connection: Any) -> list[dict[str, Any]]:
    database = connection.connection.dbapi_connection.database
    found: list[dict[str, Any]] = database.tables()
    return found


def _table(connection: Any, name: str) -> dict[str, Any]:
    from sqlalchemy.exc import NoSuchTableError

    found = next((one for one in _tables(connection) if one["name"] == name), None)
    if found is None:
        raise NoSuchTableError(name)
    return found
