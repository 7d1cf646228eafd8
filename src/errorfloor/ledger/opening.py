"""Open the ledger that a catalogue names."""

from collections.abc import Iterable
from pathlib import Path

from errorfloor.catalogue.model import Place
from errorfloor.ledger.anchor import Anchor, CommandAnchor, FileAnchor
from errorfloor.ledger.entry import Record
from errorfloor.ledger.sql_ledger import SqlLedger


def open_ledger(
    place: Place,
    folder: Path,
    *,
    create: bool = False,
    accept: bool = False,
    restore: Iterable[Record] | None = None,
    read_only: bool = False,
) -> SqlLedger:
    """Open the ledger of a place; paths are relative to ``folder``, where the catalogue lies.

    ``place.ledger`` is a file or postgresql://…, ``place.anchor`` a file, or ``!`` and a command of the custodian's.
    For ``create``, ``accept``, ``restore``, ``read_only`` and what is raised see ``SqlLedger``.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name, open_ledger(Place(), Path(name), create=True) as ledger:
    ...     ledger.head().sequence, sorted(path.name for path in Path(name).glob("*.anchor"))
    (0, ['ledger.anchor'])
    """
    where = place_of(place, folder)
    anchor = open_anchor(place, folder)
    ledger = SqlLedger(where, anchor, create=create, accept=accept, restore=restore, read_only=read_only)
    ledger.room = place.kept_bytes
    return ledger


def place_of(place: Place, folder: Path) -> str | Path:
    """Give where the ledger of a place is: a URL, or a path.

    >>> place_of(Place(), Path("there")).as_posix()
    'there/ledger.sqlite'
    """
    return place.ledger if "://" in place.ledger else Path(folder) / place.ledger


def open_anchor(place: Place, folder: Path) -> Anchor:
    """Give the anchor of a place.

    >>> open_anchor(Place(anchor="!notary meters"), Path(".")).name
    '!notary meters'
    """
    if place.anchor.startswith("!"):
        return CommandAnchor(place.anchor[1:], Path(folder))
    return FileAnchor(Path(folder) / place.anchor)
