"""Identity: keys, and labels that say exactly when two draws are the same draw.

``labels`` has what makes two questions the same: a key and a label; and a tag for each row of a table. ``keys`` has key
files, ``private_file`` what holds of every file with secrets, and how files are put on disk.
"""

from errorfloor.identity.keys import KeyRing
from errorfloor.identity.labels import Key, Label, Part, encode

__all__ = ["Key", "KeyRing", "Label", "Part", "encode"]
