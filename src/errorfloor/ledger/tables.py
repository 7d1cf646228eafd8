"""The tables of a ledger and their version; ``upgrade.py`` leads from an older version to this one."""

from errorfloor.errors import LedgerError
from errorfloor.ledger.connections import LedgerConnection

VERSION = 5
SHELF = (
    """CREATE TABLE @kept (number WHOLE PRIMARY KEY, text TEXT NOT NULL, seal VARCHAR(64) NOT NULL, size WHOLE NOT NULL,
        content BYTES NOT NULL)""",
    """CREATE TABLE @kept_outputs (asked VARCHAR(64) PRIMARY KEY, over_what VARCHAR(64) NOT NULL, label VARCHAR(64),
        number WHOLE NOT NULL)""",
    "CREATE INDEX ledger_kept_sizes ON @kept (number, size)",  # older ledgers are without it, and are counted slower
    "CREATE INDEX ledger_kept_by_what ON @kept_outputs (over_what, number)",
    "CREATE INDEX ledger_kept_by_label ON @kept_outputs (label)",
    "CREATE INDEX ledger_kept_by_number ON @kept_outputs (number)",
)
TABLES = (
    "CREATE TABLE @schema (version INTEGER NOT NULL)",
    """CREATE TABLE @entries (sequence WHOLE PRIMARY KEY, time TEXT NOT NULL, labels TEXT NOT NULL,
        charges TEXT NOT NULL, note TEXT NOT NULL, terms TEXT NOT NULL, previous VARCHAR(64) NOT NULL,
        hash VARCHAR(64) NOT NULL)""",
    "CREATE TABLE @labels (label VARCHAR(64) NOT NULL PRIMARY KEY, sequence WHOLE NOT NULL)",
    """CREATE TABLE @accounts (key VARCHAR(64) NOT NULL, coordinate TEXT NOT NULL, holder TEXT NOT NULL,
        table_name TEXT NOT NULL, account TEXT NOT NULL, amount TEXT NOT NULL, PRIMARY KEY (key, coordinate))""",
    "CREATE INDEX ledger_accounts_by_holder ON @accounts (holder, table_name)",
    "CREATE TABLE @terms (name TEXT NOT NULL PRIMARY KEY, terms TEXT NOT NULL)",
    *SHELF,
)


def version(connection: LedgerConnection, name: str) -> int:
    """Give the version of the tables that are there; 0 if there are none.

    Raises LedgerError if the file ``name`` is a database of something else.
    """
    there = {row["name"] for row in connection.run(connection.kind.tables)}
    if "ledger_schema" in there:
        found = [row["version"] for row in connection.run("SELECT version FROM @schema")]
        if len(found) != 1 or not isinstance(found[0], int):
            raise LedgerError(
                f"the ledger {name} is damaged: its version is missing; restore it from its newest export"
            )
        return found[0]
    if there:
        raise LedgerError(f"{name} is not a ledger: name the file of the ledger, or one that does not exist yet")
    return 0


def create(connection: LedgerConnection) -> None:
    """Make the tables, in the caller's transaction."""
    for statement in (*connection.kind.room, *TABLES):
        connection.run(statement)
    connection.insert("schema", [{"version": VERSION}])


def add_shelf(connection: LedgerConnection) -> None:
    """Bring tables of version 4 to version 5, in the caller's transaction: what is released gets a place."""
    for statement in SHELF:
        connection.run(statement)
    connection.run("UPDATE @schema SET version = ?", VERSION)
