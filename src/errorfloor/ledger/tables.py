"""The tables of a ledger and their version; ``upgrade.py`` leads from an older version to this one."""

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
)
from sqlalchemy.schema import CreateSchema

from errorfloor.errors import LedgerError

VERSION = 4
SCHEMA = "errorfloor"  # on PostgreSQL; SQLite has a file of its own for the ledger

metadata = MetaData()

schema_version = Table("ledger_schema", metadata, Column("version", Integer, nullable=False))

entries = Table(
    "ledger_entries",
    metadata,
    Column("sequence", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("time", Text, nullable=False),
    Column("labels", Text, nullable=False),
    Column("charges", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("terms", Text, nullable=False),
    Column("previous", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
)

labels = Table(
    "ledger_labels",
    metadata,
    Column("label", String(64), primary_key=True),
    Column("sequence", BigInteger().with_variant(Integer, "sqlite"), nullable=False),
)

accounts = Table(
    "ledger_accounts",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("coordinate", Text, primary_key=True),
    Column("holder", Text, nullable=False),
    Column("table_name", Text, nullable=False),
    Column("account", Text, nullable=False),
    Column("amount", Text, nullable=False),
)
by_holder = Index("ledger_accounts_by_holder", accounts.c.holder, accounts.c.table_name)

terms = Table(
    "ledger_terms",
    metadata,
    Column("name", Text, primary_key=True),
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
            raise LedgerError(
                f"the ledger {name} is damaged: its version is missing; restore it from its newest export"
            )
        return found[0]
    if schema is None and inspector.get_table_names():
        raise LedgerError(f"{name} is not a ledger: name the file of the ledger, or one that does not exist yet")
    return 0


def create(connection: Connection) -> None:
    """Make the tables, in the caller's transaction."""
    if connection.dialect.name == "postgresql" and not inspect(connection).has_schema(SCHEMA):
        connection.execute(CreateSchema(SCHEMA))
    metadata.create_all(connection, checkfirst=False)
    connection.execute(schema_version.insert().values(version=VERSION))
