"""Registering tables as a custodian does: the ledger is there first, and agrees with what is declared.

A ledger is made here once, with the first registration of a vault, and never by opening it: where snapshots are
registered and the ledger is missing, it was lost, or a disk is not mounted.
"""

from collections.abc import Generator, Sequence
from contextlib import ExitStack

from errorfloor.catalogue import Catalogue
from errorfloor.charging.settling import column_terms, table_terms
from errorfloor.engines import open_engine
from errorfloor.errors import CatalogueError, LedgerError
from errorfloor.ledger import Head, Ledger, open_ledger
from errorfloor.ledger.opening import open_anchor
from errorfloor.vault import Registration, copy, register
from errorfloor.vault.snapshot import notes


def register_all(catalogue: Catalogue, names: Sequence[str] | None = None) -> list[Registration]:
    """Do all that ``registering`` does, one table after the other.

    >>> import inspect
    >>> list(inspect.signature(register_all).parameters)
    ['catalogue', 'names']
    """
    return list(registering(catalogue, names))


def registering(
    catalogue: Catalogue, names: Sequence[str] | None = None, *, copied_from: Catalogue | None = None
) -> Generator[Registration, None, None]:
    """Register tables one after the other, all that are declared unless some are named; make the ledger if it is first.

    With ``copied_from``, snapshots come from the vault of another catalogue, with their identities. Their accounts come
    with them: no ledger is made then, and the one here must go on from the one there.

    Raises CatalogueError before a snapshot is made if it could never be charged: because its declaration changes what a
    promised floor means, or the vault has lost a version whose cells it would have to be compared with. Raises
    LedgerError if the ledger is missing and snapshots are registered already, or does not know what was charged for a
    copied snapshot.

    >>> import inspect
    >>> inspect.isgeneratorfunction(registering)
    True
    """
    with ExitStack() as stack:
        source = None
        if copied_from is not None:
            source = stack.enter_context(open_engine(copied_from.place, copied_from.folder))
        engine = stack.enter_context(open_engine(catalogue.place, catalogue.folder, read_only=False))
        first = not notes(engine)
        create = first and copied_from is None
        ledger = stack.enter_context(open_ledger(catalogue.place, catalogue.folder, create=create))
        if copied_from is not None:
            theirs = stack.enter_context(open_ledger(copied_from.place, copied_from.folder, read_only=True))
            _check_goes_on(ledger, theirs.head())
        for name in catalogue.tables if names is None else names:
            if name in catalogue.tables:
                table = catalogue.tables[name]
                ledger.check({**table_terms(name, table), **column_terms(name, table.private)})
                there = {(note["table"], note["version"]): note["identity"] for note in notes(engine).values()}
                if table.account_by and source is None:
                    _check_versions(name, ledger, there)
            if source is None:
                yield register(catalogue, name, engine=engine)
            else:
                yield copy(catalogue, name, source=source, target=engine)


def create_ledger(catalogue: Catalogue, *, accept: bool = False) -> Head:
    """Make an empty ledger and its anchor if neither exists; give its head.

    Raises LedgerError if snapshots are registered: then there was a ledger, and an empty one would forget every charge.
    ``accept`` vouches that nothing was ever charged.
    """
    registered = [] if accept or open_anchor(catalogue.place, catalogue.folder).read() else _registered(catalogue)
    if registered and not _exists(catalogue):
        raise LedgerError(
            f"snapshots of {', '.join(registered)} are registered, so there was a ledger, and an empty one would "
            f"forget what was charged: mount or restore it (errorfloor ledger restore --from …); only if nothing "
            f"was ever asked of them, run errorfloor ledger create --accept",
            tables=registered,
        )
    with open_ledger(catalogue.place, catalogue.folder, create=True) as ledger:
        return ledger.head()


def _registered(catalogue: Catalogue) -> list[str]:
    """Name the tables that have snapshots."""
    place, folder = catalogue.place, catalogue.folder
    if place.engine != "postgresql" and not (folder / place.snapshots).exists():
        return []
    with open_engine(place, folder) as engine:
        return sorted({str(note["table"]) for note in notes(engine).values()})


def _exists(catalogue: Catalogue) -> bool:
    try:
        open_ledger(catalogue.place, catalogue.folder, read_only=True, accept=True).close()
    except LedgerError:
        return False
    return True


def _check_goes_on(ledger: Ledger, head: Head) -> None:
    """Refuse a ledger that lacks the history up to the head of another one."""
    if head.sequence == 0:
        return
    same = next(ledger.entries(after=head.sequence - 1, limit=1), None)
    if same is None or same.head != head:
        raise LedgerError(
            "the ledger here does not go on from the one that the snapshots were charged in, so their charges would be "
            "forgotten: export that one (errorfloor ledger export), restore it here (errorfloor ledger restore --from "
            "…), then copy; and never ask the old place again, whose charges this one would not know",
        )


def _check_versions(name: str, ledger: Ledger, there: dict[tuple[str, str], str]) -> None:
    """Refuse to go on where a charged version of a table with divided accounts is not in the vault."""
    for path, value in ledger.pinned(name).items():
        match path:
            case (_, "snapshot", table, version) if table == name and there.get((name, version)) != value["identity"]:
                raise CatalogueError(
                    f"version {version!r} of {name} was charged but is not in this vault: account_by divides the "
                    f"accounts, and nobody could tell whether rows stay in their cells. Put back the vault that was "
                    f"in use, then register",
                    table=name,
                    version=version,
                )
