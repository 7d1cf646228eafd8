"""The ledger: what has been spent, durably, never beyond the allowance, and never forgotten (extra ``sql``).

=============================  =============================================================================
``base``, ``decision``, ``terms``   charge once: which entries are free, which allowances cover them, which terms hold
``entry``, ``total``               what is charged under a label, the chained records, and their exact sums
``book``, ``tables``             what is read and written in one transaction
``shelf``                        what was released: kept, found again, forgotten
``sql_ledger``, ``memory``         a ledger in a database, and one for tests
``connections``, ``sqlite``, ``postgresql``  the databases and their shared transactions; ``failures`` words errors
``anchor``                       the head, kept outside; ``audit`` compares the two
``quotas``, ``joining``            shares for analysts and periods; registers of owners
``upgrade``                      from older versions
=============================  =============================================================================

A new database: a ``connections.DatabaseKind`` in a module of its own, as ``postgresql`` has, and its case in
``sql_ledger``.
"""

from errorfloor.extras import require

require("sql", "pydantic")

from errorfloor.accounts import Account, Charge
from errorfloor.ledger.anchor import Anchor, CommandAnchor, FileAnchor, open_anchor
from errorfloor.ledger.audit import Replay
from errorfloor.ledger.base import Ledger
from errorfloor.ledger.decision import Settlement
from errorfloor.ledger.entry import Entry, Head, Record
from errorfloor.ledger.memory import MemoryLedger
from errorfloor.ledger.quotas import Quotas
from errorfloor.ledger.shelf import Kept
from errorfloor.ledger.sql_ledger import SqlLedger, open_ledger

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
