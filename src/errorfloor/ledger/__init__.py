"""The ledger: what has been spent, durably, never beyond the allowance, and never forgotten (extra ``sql``).

=============================  =============================================================================
``base``, ``decision``, ``terms``   charge once: which entries are free, which allowances cover them, which terms hold
``entry``, ``total``               what is charged under a label, the chained records, and their exact sums
``book``, ``sql_book``, ``tables``   what is read and written in one transaction, in tables
``sql_ledger``, ``memory``         a ledger in a database, and one for tests; ``together`` shares transactions
``connections``, ``sqlite``, ``postgresql``  the databases; ``failures`` puts their errors into words
``anchor``                       the head, kept outside; ``opening``, ``accepting`` and ``audit`` compare the two
``quotas``, ``joining``            shares for analysts and periods; registers of owners
``shelf``, ``sql_shelf``, ``keeping``  what was released, kept beside the records
``upgrade``                      from older versions
=============================  =============================================================================

A new database: a ``connections.DatabaseKind`` in a module of its own, as ``postgresql`` has, and its case in
``sql_ledger``.
"""

from errorfloor.extras import require

require("sql", "pydantic")

from errorfloor.accounts import Account, Charge
from errorfloor.ledger.anchor import Anchor, CommandAnchor, FileAnchor
from errorfloor.ledger.audit import Replay
from errorfloor.ledger.base import Ledger
from errorfloor.ledger.decision import Settlement
from errorfloor.ledger.entry import Entry, Head, Record
from errorfloor.ledger.memory import MemoryLedger
from errorfloor.ledger.opening import open_anchor, open_ledger
from errorfloor.ledger.quotas import Quotas
from errorfloor.ledger.shelf import Kept
from errorfloor.ledger.sql_ledger import SqlLedger

__all__ = [
    "Account",
    "Anchor",
    "Charge",
    "CommandAnchor",
    "Entry",
    "FileAnchor",
    "Head",
    "Kept",
    "Ledger",
    "MemoryLedger",
    "Quotas",
    "Record",
    "Replay",
    "Settlement",
    "SqlLedger",
    "open_anchor",
    "open_ledger",
]
