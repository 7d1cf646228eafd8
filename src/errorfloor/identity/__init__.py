"""Identity: keys, and labels that say exactly when two draws are the same draw."""

from errorfloor.identity.keys import Key, KeyRing
from errorfloor.identity.labels import Label, Part, encode

__all__ = ["Key", "KeyRing", "Label", "Part", "encode"]
