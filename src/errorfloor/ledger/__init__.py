"""The ledger: what has been spent, durably, never beyond the allowance, and never forgotten (extra ``sql``)."""

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
