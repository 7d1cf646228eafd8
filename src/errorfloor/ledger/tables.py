"""The tables of a ledger, their version, and the way from each version to the next."""

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    inspect,
    select,
    text,
)
from sqlalchemy.schema import CreateSchema

from errorfloor.errors import LedgerError

VERSION = 3
SCHEMA = "errorfloor"  # on PostgreSQL; SQLite has a file of its own for the ledger

metadata = MetaData()

schema_version = Table("ledger_schema", metadata, Column("version", Integer, nullable=False))

entries = Table(
    "ledger_entries",
    metadata,
    Column("sequence", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("label", String(64), nullable=False, unique=True),
    Column("time", Text, nullable=False),
    Column("charges", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("terms", Text, nullable=False),
    Column("previous", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
)

accounts = Table(
    "ledger_accounts",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("table_name", String(63), nullable=False),
    Column("column_name", Text, nullable=False),
    Column("cell", Text, nullable=False),
    Column("information", Text, nullable=False),
    Column("evaluation", Text, nullable=False),
    Column("holder", Text, nullable=False, server_default=""),
)
by_holder = Index("ledger_accounts_by_holder", accounts.c.holder, accounts.c.table_name)

terms = Table(
    "ledger_terms",
    metadata,
    Column("table_name", Text, primary_key=True),
    Column("terms", Text, nullable=False),
)


def version(connection: Connection, name: str) -> int:
    """Give the version of the tables that are there; 0 if there are none.

    Raises LedgerError if the file ``name`` is a database of something else.
    """
    schema = SCHEMA if connection.dialect.name == "postgresql" else None
    inspector = inspect(connection)
    if inspector.has_table(schema_version.name, schema=schema):
        found = connection.execute(select(schema_version.c.version)).scalars().all()
        if len(found) != 1 or not isinstance(found[0], int):
            raise LedgerError(f"the ledger {name} is damaged: its version is lost; restore it from its newest export")
        return found[0]
    if schema is None and inspector.get_table_names():
        raise LedgerError(f"{name} is not a ledger: name the file of the ledger, or one that does not exist yet")
    return 0


def migrate(connection: Connection, name: str) -> None:
    """Make the tables, or bring them from the version they have to this one, in the caller's transaction."""
    found = version(connection, name)
    if found == 0:
        _create(connection)
    else:
        for step in range(found, VERSION):
            STEPS[step](connection)
    connection.execute(schema_version.delete())
    connection.execute(schema_version.insert().values(version=VERSION))


def _create(connection: Connection) -> None:
    if connection.dialect.name == "postgresql" and not inspect(connection).has_schema(SCHEMA):
        connection.execute(CreateSchema(SCHEMA))
    metadata.create_all(connection, checkfirst=False)


def _add_holders(connection: Connection) -> None:
    """From version 1 to 2: an account may be a quota; those there are belong to nobody."""
    schema = f"{SCHEMA}." if connection.dialect.name == "postgresql" else ""
    connection.execute(text(f"ALTER TABLE {schema}ledger_accounts ADD COLUMN holder TEXT DEFAULT '' NOT NULL"))
    connection.execute(text(f"DROP INDEX {schema}ix_ledger_accounts_table_name"))
    by_holder.create(connection)


def _lengthen_terms(connection: Connection) -> None:
    """From version 2 to 3: terms are kept of columns, floors and snapshots too, whose names are longer."""
    if connection.dialect.name == "postgresql":  # SQLite sets no limit
        connection.execute(text(f"ALTER TABLE {SCHEMA}.ledger_terms ALTER COLUMN table_name TYPE TEXT"))


STEPS = {1: _add_holders, 2: _lengthen_terms}
