"""Which files a source is made of: by where they are on the disk, and by what is in them.

A hard link and a copy have other paths. Of a table that protects records neither may be registered under another name:
what is public there would tell who is in it.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

WHOLE = 2**26  # bytes of a file that are all read; of a larger one, parts that lie evenly
PARTS, SIZE = 256, 2**16


def marks_of(source: str) -> list[str]:
    """Give marks of the files of a source, a line for each: two sources that share one share a file, or its content.

    >>> marks_of("table public.meters")
    []
    """
    return [mark for line in source.split("\n") if Path(line).is_file() for mark in (place_of(line), _content(line))]


def places_of(source: str) -> list[str]:
    """Give where the files of a source are on the disk, whatever their names."""
    return [place_of(line) for line in source.split("\n") if Path(line).is_file()]


def place_of(path: str) -> str:
    """Give the device and the number of a file."""
    found = Path(path).stat()
    return f"file {found.st_dev}:{found.st_ino}"


def _content(path: str) -> str:
    size, hashed = Path(path).stat().st_size, hashlib.sha256()
    with Path(path).open("rb") as file:
        for start, count in _read(size):
            file.seek(start)
            hashed.update(file.read(count))
    return f"content {size}:{hashed.hexdigest()}"


def _read(size: int) -> Iterator[tuple[int, int]]:
    if size <= WHOLE:
        yield 0, size
        return
    for part in range(PARTS):
        yield part * (size - SIZE) // (PARTS - 1), SIZE
