"""Registered, immutable snapshots on an engine: private columns clamped and stored in fixed point."""

from errorfloor.extras import require

require("sql", "pyarrow", "pydantic")

from errorfloor.vault.copying import copy
from errorfloor.vault.erasure import Erasure, erase, plan_erasure
from errorfloor.vault.registration import Registration, register
from errorfloor.vault.snapshot import Snapshot, is_current, snapshot

__all__ = [
    "Erasure",
    "Registration",
    "Snapshot",
    "copy",
    "erase",
    "is_current",
    "plan_erasure",
    "register",
    "snapshot",
]
