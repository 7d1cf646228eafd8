"""Registering tables as a custodian does: the ledger is there first, agrees with what is declared, and knows them all.

A ledger is made here once, with the first registration of a vault, and never by opening it: where snapshots are
registered and the ledger is missing, or does not know them, it was lost, or a disk is not mounted.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from errorfloor.catalogue import Catalogue
from errorfloor.charging.settling import column_terms, table_terms
from errorfloor.engines import Engine, open_engine
from errorfloor.errors import CatalogueError, LedgerError
from errorfloor.ledger import Head, Ledger, open_ledger
from errorfloor.ledger.book import ERASED, SOURCE, Deposit, successor
from errorfloor.ledger.opening import open_anchor
from errorfloor.vault import Erasure, Registration, copy, erase, register
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
        ledger.check_belong(map(deposit, notes(engine).values()))
        taken = ledger.sources()
        for name in catalogue.tables if names is None else names:
            if name in catalogue.tables:
                table = catalogue.tables[name]
                ledger.check({**table_terms(name, table), **column_terms(name, table.private)})
                if table.account_by and source is None:
                    _check_versions(name, ledger, engine)
            if source is None:
                yield register_with(ledger, catalogue, name, engine=engine, taken=taken)
            else:
                yield copy(catalogue, name, source=source, target=engine, entering=lambda note: enter(ledger, note))


def register_with(
    ledger: Ledger,
    catalogue: Catalogue,
    name: str,
    *,
    engine: Engine,
    identity: str | None = None,
    taken: Sequence[tuple[str, str]] = (),
) -> Registration:
    """Register a table, and enter its snapshot in the ledger before anybody can see it.

    If it is killed between the two, the ledger knows a snapshot that was never made, which does no harm. ``taken`` are
    tables and sources that other names are refused for.
    """
    return register(
        catalogue, name, engine=engine, identity=identity, taken=taken, entering=lambda note: enter(ledger, note)
    )


def enter(ledger: Ledger, note: Mapping[str, Any]) -> None:
    """Write down that a snapshot belongs to a ledger, and where its rows come from; once is enough."""
    known = deposit(note)
    said = {"event": "registered", "table": known.table, "version": known.version}
    ledger.enter(said, {known.path: {}, (known.table, SOURCE, note["source"]): {}})


def deposit(note: Mapping[str, Any]) -> Deposit:
    """Give a snapshot as a ledger knows it, from its note in the vault."""
    return Deposit(note["table"], note["version"], note["identity"])


def erase_with(
    ledger: Ledger,
    catalogue: Catalogue,
    name: str,
    person: Mapping[str, str],
    *,
    engine: Engine,
    base: str | None = None,
) -> Erasure:
    """Erase a person from the snapshots of a table, and write down in the ledger which one goes on from which."""

    def destroying(old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
        said = {"event": "erased", "table": name, "version": old["version"]}
        ledger.enter(said, {(name, ERASED, old["identity"]): {"into": new["identity"]}})

    ledger.check_belong(map(deposit, notes(engine).values()))
    return erase(
        catalogue,
        name,
        person,
        engine=engine,
        base=base,
        entering=lambda note: enter(ledger, note),
        destroying=destroying,
    )


def create_ledger(catalogue: Catalogue, *, accept: bool = False) -> Head:
    """Make an empty ledger and its anchor if neither exists; give its head.

    Raises LedgerError if snapshots are registered: then there was a ledger, and an empty one would forget every charge.
    ``accept`` vouches that nothing was ever charged.
    """
    place, folder = catalogue.place, catalogue.folder
    with _vault(catalogue) as engine:
        tables = [] if engine is None else sorted({str(note["table"]) for note in notes(engine).values()})
        if tables and not (accept or open_anchor(place, folder).read() or ledger_exists(catalogue)):
            raise LedgerError(
                f"snapshots of {', '.join(tables)} are registered, so there was a ledger, and an empty one would "
                f"forget what was charged: mount or restore it (errorfloor ledger restore --from …); only if nothing "
                f"was ever asked of them, run errorfloor ledger create --accept",
                tables=tables,
            )
        with open_ledger(place, folder, create=True) as ledger:
            if accept and engine is not None:
                enter_all(ledger, engine)
            return ledger.head()


def accept_ledger(catalogue: Catalogue) -> Head:
    """Take a ledger for the one in use because its custodian vouches for it: anchor it, and enter every snapshot."""
    with open_ledger(catalogue.place, catalogue.folder, accept=True) as ledger, _vault(catalogue) as engine:
        if engine is not None:
            enter_all(ledger, engine)
        return ledger.head()


def enter_all(ledger: Ledger, engine: Engine) -> None:
    """Enter every snapshot of an engine in a ledger: its custodian vouches that the ledger lacks no charge for them."""
    for note in notes(engine).values():
        enter(ledger, note)


@contextmanager
def _vault(catalogue: Catalogue) -> Iterator[Engine | None]:
    """Open the vault; None if there is none."""
    place, folder = catalogue.place, catalogue.folder
    if place.engine != "postgresql" and not (folder / place.snapshots).exists():
        yield None
        return
    with open_engine(place, folder) as engine:
        yield engine


def ledger_exists(catalogue: Catalogue) -> bool:
    """Say whether the ledger of a catalogue is there, whatever its anchor says."""
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


def _check_versions(name: str, ledger: Ledger, engine: Engine) -> None:
    """Refuse to go on where a charged version of a table with divided accounts is not in the vault.

    One that was destroyed to erase a person has a successor, whose rows are in the same cells.
    """
    there = {(note["version"], note["identity"]) for note in notes(engine).values() if note["table"] == name}
    identities = {identity for _, identity in there}
    pinned = ledger.pinned(name)
    for path, value in pinned.items():
        match path:
            case (_, "snapshot", table, version) if table == name and (version, value["identity"]) not in there:
                if successor(value["identity"], name, pinned) in identities:
                    continue
                raise CatalogueError(
                    f"version {version!r} of {name} was charged but is not in this vault: account_by divides the "
                    f"accounts, and nobody could tell whether rows stay in their cells. Put back the vault that was "
                    f"in use, then register",
                    table=name,
                    version=version,
                )
