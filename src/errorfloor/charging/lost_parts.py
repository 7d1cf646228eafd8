"""Parts of a table that grows which the vault has lost: without them, answers would be about fewer rows, unnoticed.

A folder that is mounted or restored in part, and a version that an erasure took away, look like a table that has not
grown so far yet. The ledger knows which parts answers were made from.
"""

from collections.abc import Sequence

from errorfloor.errors import CatalogueError
from errorfloor.ledger import Ledger
from errorfloor.vault import Snapshot
from errorfloor.vault.parts import MOST_NAMED


def lost_parts(ledger: Ledger, found: Snapshot) -> tuple[str, ...]:
    """Give the parts that a table lacks, and that were charged in the version that is declared."""
    growth = found.table.grows_by
    if growth is None:
        return ()
    there, lost = {part.name for part in found.parts}, []
    for path in ledger.pinned(found.table_name):
        match path:
            case (_, "snapshot", found.table_name, version, part) if part not in there:
                lost += [part] if version == growth.version(part, found.table.version) else []
    return tuple(sorted(lost))


def check_none_is_lost(table: str, parts: Sequence[str]) -> None:
    """Refuse to read parts that are lost; raises CatalogueError."""
    if parts:
        named = f"{', '.join(parts[:MOST_NAMED])}{', …' if len(parts) > MOST_NAMED else ''}"
        raise CatalogueError(
            f"this would read {named} of {table}, which was charged before and which this vault has lost in the "
            f"version that is declared: mount or put back the vault that was in use; or, where somebody was erased, "
            f"declare the version that is there now (grows_by.corrected)",
            table=table,
            parts=list(parts),
        )
