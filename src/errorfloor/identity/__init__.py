"""Identity: keys, and labels that say exactly when two draws are the same draw.

``keys`` has key files, and ``private_file`` what holds of every file with secrets; ``labels`` has what makes two
questions the same, and a tag for each row of a table.
"""

from errorfloor.identity.keys import Key, KeyRing
from errorfloor.identity.labels import Label, Part, encode

__all__ = ["Key", "KeyRing", "Label", "Part", "encode"]
