"""Registered, immutable snapshots on an engine: private columns clamped and stored in fixed point."""

from errorfloor.extras import require

require("sql", "pyarrow", "pydantic")

from errorfloor.vault.copying import copy
from errorfloor.vault.registration import Registration, register
from errorfloor.vault.snapshot import Snapshot, is_current, snapshot

__all__ = ["Registration", "Snapshot", "copy", "is_current", "register", "snapshot"]
