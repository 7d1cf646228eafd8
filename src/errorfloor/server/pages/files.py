"""The files that pages are drawn with: read once, and kept by browsers for good under an address of their own."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


@dataclass(frozen=True)
class StaticFiles:
    """Files by name, and the edition that they make together: any change of any of them is another edition.

    Scripts load each other from beside them, so that an edition is never mixed with another.

    >>> files = StaticFiles({"mark.svg": b"<svg/>"})
    >>> files.type_of("mark.svg"), len(files.edition), files.edition == StaticFiles({"mark.svg": b"<svg />"}).edition
    ('image/svg+xml', 16, False)
    """

    content: Mapping[str, bytes]

    @property
    def edition(self) -> str:
        """A digest of all names and contents."""
        each = (f"{name} {hashlib.sha256(self.content[name]).hexdigest()}\n" for name in sorted(self.content))
        return hashlib.sha256("".join(each).encode()).hexdigest()[:16]

    def type_of(self, name: str) -> str:
        """Give the media type of a file."""
        return TYPES[Path(name).suffix]


def read_folder(folder: Path) -> StaticFiles:
    """Read the styles, scripts and pictures of a folder; nothing else can be asked for by name."""
    paths = sorted(path for path in folder.iterdir() if path.suffix in TYPES)
    return StaticFiles({path.name: path.read_bytes() for path in paths})
