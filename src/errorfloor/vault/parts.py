"""Parts of a table that grows: each is a snapshot of its own; a question reads some of them, as one table."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from errorfloor.catalogue.model import Table
from errorfloor.errors import CatalogueError

MOST_NAMED = 12  # parts in a message
REMAINS = "remains_of"  # what an erasure left of a snapshot: kept to be compared with, and never asked


class SnapshotPart(NamedTuple):
    """One registered part: its name, its version, what its noise goes by, and public facts about its rows."""

    name: str
    version: str
    identity: str
    key: str  # under which the engine keeps it
    select: str
    rows: int
    extent: Mapping[str, tuple[int, int]]

    @property
    def whose(self) -> tuple[str, str, str]:
        """Which rows these are, for labels."""
        return self.name, self.version, self.identity


def part_of(note: Mapping[str, Any]) -> str | None:
    """Give the name of the part that a note is about; None for a snapshot of a whole table."""
    named = note.get("parts")
    return str(named[0]) if named else None


def declared_parts(table_name: str, table: Table, notes: Collection[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Give the notes of the parts in the versions that are declared, in the order of the parts.

    Raises CatalogueError if a version that was declared for a part is not registered, or nothing is.
    """
    growth = table.grows_by
    assert growth is not None
    mine = {(part_of(note), str(note["version"])): note for note in notes if note["table"] == table_name}
    for name, version in growth.corrected.items():
        if (name, version) not in mine:
            raise CatalogueError(
                f"part {name} of table {table_name} is not registered in version {version!r}: run errorfloor register",
                table=table_name,
                part=name,
                version=version,
            )
    chosen = [
        note
        for (name, version), note in mine.items()
        if name is not None and version == growth.version(name, table.version)
    ]
    if not chosen:
        raise CatalogueError(
            f"table {table_name} has no registered part in version {table.version!r}: run errorfloor register",
            table=table_name,
            version=table.version,
        )
    return sorted(chosen, key=lambda note: _rank(table, str(part_of(note))))


def check_one_way(table_name: str, table: Table, notes: Collection[Mapping[str, Any]]) -> None:
    """Refuse a version that was registered in parts and is declared whole, or the other way round."""
    for note in notes:
        if note["table"] == table_name and note["version"] == table.version:
            if (part_of(note) is None) == (table.grows_by is None):
                continue
            before, now = ("in parts", "without grows_by") if part_of(note) else ("as a whole", "with grows_by")
            raise CatalogueError(
                f"version {table.version!r} of {table_name} was registered {before}, and is now declared {now}: "
                f"declare a new version, or undo the change",
                table=table_name,
                version=table.version,
            )


def corrected_word(parts: Sequence[str]) -> str:
    """Write what declares a new version of parts.

    >>> corrected_word(["2024-01"])
    'grows_by.corrected = { "2024-01" = "2" }'
    """
    named = ", ".join(f'"{part}" = "2"' for part in parts[:MOST_NAMED])
    return f"grows_by.corrected = {{ {named}{', …' if len(parts) > MOST_NAMED else ''} }}"


def merged_extent(parts: Sequence[SnapshotPart]) -> dict[str, tuple[int, int]]:
    """Give the least and the greatest stored integer of each public column of numbers, over all parts.

    >>> some = [SnapshotPart(name, "1", "", "", "", 1, {"id": ends}) for name, ends in (("a", (1, 3)), ("b", (2, 9)))]
    >>> merged_extent(some)
    {'id': (1, 9)}
    """
    found: dict[str, tuple[int, int]] = {}
    for part in parts:
        for column, (low, high) in part.extent.items():
            least, most = found.get(column, (low, high))
            found[column] = min(least, low), max(most, high)
    return found


def _rank(table: Table, name: str) -> tuple[int, str]:
    """Whole numbers go by size, all else by its text: periods are written so that the earlier one is the smaller."""
    growth = table.grows_by
    assert growth is not None
    return (int(name), "") if table.public[growth.column].type == "whole" else (0, name)
