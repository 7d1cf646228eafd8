"""The ledger: what has been spent, durably, never beyond the allowance, and never forgotten (extra ``sql``)."""

from errorfloor.extras import require

require("sql", "pydantic", "sqlalchemy")

from errorfloor.ledger.anchor import Anchor, CommandAnchor
from errorfloor.ledger.audit import Replay
from errorfloor.ledger.base import Ledger
from errorfloor.ledger.decision import Settlement
from errorfloor.ledger.entry import Entry
from errorfloor.ledger.file_anchor import FileAnchor
from errorfloor.ledger.memory import MemoryLedger
from errorfloor.ledger.opening import open_anchor, open_ledger
from errorfloor.ledger.quotas import Quotas
from errorfloor.ledger.record import Head, Record
from errorfloor.ledger.sql_ledger import SqlLedger
from errorfloor.pricing.accounts import Account, Charge

__all__ = [
    "Account",
    "Anchor",
    "Charge",
    "CommandAnchor",
    "Entry",
    "FileAnchor",
    "Head",
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
