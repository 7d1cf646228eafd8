"""Which snapshots belong to a ledger: registration writes them down, and no other is ever charged.

Without this a ledger that was never charged would pass for the one that a snapshot was charged in: a disk that is not
mounted, the ledger of another house, an older copy.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from errorfloor.errors import LedgerError
from errorfloor.ledger.book import Book

Pinned = Mapping[tuple[str, ...], Mapping[str, Any]]
REGISTERED, SOURCE, ERASED = "registered", "source", "erased"  # what paths of terms are called


class Deposit(NamedTuple):
    """A snapshot as a ledger knows it: its table, its version, and the identity that was drawn for it.

    >>> Deposit("meters", "2013", "5eed").path
    ('meters', 'registered', '5eed')
    """

    table: str
    version: str
    identity: str

    @property
    def path(self) -> tuple[str, ...]:
        """Where the terms say that it belongs to the ledger."""
        return self.table, REGISTERED, self.identity


def first_charged(fixed: Mapping[str, str]) -> list[Deposit]:
    """Give the snapshots among terms that are about to be fixed.

    >>> first_charged({'["meters", "snapshot", "homes", "a"]': '{"identity": "5eed"}', '["meters"]': "{}"})
    [Deposit(table='homes', version='a', identity='5eed')]
    """
    found = []
    for name, text in fixed.items():
        match json.loads(name), json.loads(text):
            case [_, "snapshot", str(table), str(version)], {"identity": str(identity)}:
                found.append(Deposit(table, version, identity))
    return found


def check_belong(book: Book, deposits: Iterable[Deposit]) -> None:
    """Refuse snapshots that the book does not know."""
    wanted = {json.dumps(list(one.path), ensure_ascii=False): one for one in deposits}
    known = book.terms(list(wanted)) if wanted else {}
    for name, one in wanted.items():
        if name not in known:
            raise LedgerError(
                f"this ledger does not know the snapshot of {one.table} in version {one.version!r}, so nothing can be "
                f"charged for it: it was registered with another ledger, or this is an older copy. Mount or restore "
                f"the one that was in use. Only if you vouch that this one lacks no charge, run errorfloor ledger "
                f"checkpoint --accept",
                table=one.table,
                version=one.version,
            )


def successor(identity: str, table: str, pinned: Pinned) -> str:
    """Give the identity of the snapshot that goes on from one after erasures; its own if there were none.

    >>> successor("a", "meters", {("meters", "erased", "a"): {"into": "b"}, ("meters", "erased", "b"): {"into": "c"}})
    'c'
    """
    seen = {identity}
    while (after := pinned.get((table, ERASED, identity))) is not None and after["into"] not in seen:
        identity = str(after["into"])
        seen.add(identity)
    return identity
