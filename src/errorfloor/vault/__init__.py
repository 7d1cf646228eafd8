"""Registered, immutable snapshots on an engine: private columns clamped and stored in fixed point."""

from errorfloor.vault.registration import Registration, register
from errorfloor.vault.snapshot import Snapshot, snapshot

__all__ = ["Registration", "Snapshot", "register", "snapshot"]
