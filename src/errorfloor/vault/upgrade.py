"""From the notes of an older vault to those of this version; snapshots themselves stay as they are."""

import json
import secrets
from collections.abc import Mapping
from typing import Any

from errorfloor.engines import Engine
from errorfloor.vault.snapshot import FORMAT


def raw_notes(engine: Engine) -> dict[str, dict[str, Any]]:
    """Give the notes of all snapshots, of whatever version they are."""
    return {name: json.loads(text) for name, text in engine.recall_all().items() if name.startswith("s_")}


def upgrade_notes(engine: Engine, notes: Mapping[str, Mapping[str, Any]]) -> int:
    """Bring notes to this version, identities kept; give how many were not. One that was never drawn is drawn now.

    >>> import inspect
    >>> list(inspect.signature(upgrade_notes).parameters)
    ['engine', 'notes']
    """
    older = {name: note for name, note in notes.items() if note["format"] < FORMAT}
    for name, note in older.items():
        identity = note.get("identity") or secrets.token_hex(16)
        engine.note_anew(name, json.dumps({**note, "format": FORMAT, "identity": identity, "parts": []}))
    return len(older)
