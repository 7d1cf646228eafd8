"""From the notes of an older vault to those of this version; snapshots themselves stay as they are."""

import json
import secrets
from collections.abc import Mapping
from typing import Any

from errorfloor.engines import Engine
from errorfloor.vault.registration import Entering
from errorfloor.vault.snapshot import FORMAT


def raw_notes(engine: Engine) -> dict[str, dict[str, Any]]:
    """Give the notes of all snapshots, of whatever version they are."""
    return {name: json.loads(text) for name, text in engine.recall_all().items() if name.startswith("s_")}


def older(notes: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Give the notes that an older version wrote."""
    return {name: note for name, note in notes.items() if note["format"] < FORMAT}


def upgrade_notes(engine: Engine, notes: Mapping[str, Mapping[str, Any]], entering: Entering) -> int:
    """Bring notes to this version, identities kept; give how many were not. One that was never drawn is drawn now.

    ``entering`` is told each note before it is kept: to enter the snapshot in the ledger, which older ones did not.
    """
    found = older(notes)
    for name, note in found.items():
        identity = note.get("identity") or secrets.token_hex(16)
        newer = {**note, "format": FORMAT, "identity": identity, "parts": []}
        entering(newer)
        engine.note_anew(name, json.dumps(newer))
    return len(found)
