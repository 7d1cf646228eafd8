"""Registering tables as a custodian does: the ledger is there first, agrees with what is declared, and knows them all.

A ledger is made here once, with the first registration of a vault, and never by opening it: where snapshots are
registered and the ledger is missing, or does not know them, it was lost, or a disk is not mounted.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from errorfloor.catalogue import Catalogue, Table
from errorfloor.charging.settling import Terms, column_terms, table_terms
from errorfloor.engines import Engine, has_vault, open_engine
from errorfloor.errors import CatalogueError, LedgerError
from errorfloor.ledger import Head, Ledger, open_anchor, open_ledger
from errorfloor.ledger.shelf import from_snapshot
from errorfloor.ledger.terms import ERASED, GONE, RECORDS, SOURCE, Deposit, Pinned
from errorfloor.service.continuing import check_versions, compare, keep
from errorfloor.service.correcting import register_parts
from errorfloor.service.joining import check_none_left, join, join_charged, unrelated
from errorfloor.vault import Erasure, Registration, copy, erase, register
from errorfloor.vault.continuity import check_no_copy, renamed
from errorfloor.vault.parts import corrected_word, part_of
from errorfloor.vault.registration import overlap, shared_source
from errorfloor.vault.snapshot import notes


def register_all(catalogue: Catalogue, names: Sequence[str] | None = None) -> list[Registration]:
    """Do all that ``registering`` does, one table after the other.

    >>> import inspect
    >>> list(inspect.signature(register_all).parameters)
    ['catalogue', 'names']
    """
    return list(registering(catalogue, names))


def registering(
    catalogue: Catalogue,
    names: Sequence[str] | None = None,
    *,
    copied_from: Catalogue | None = None,
    corrections: bool = False,
) -> Generator[Registration, None, None]:
    """Register tables one after the other, all that are declared unless some are named; make the ledger if it is first.

    With ``copied_from``, snapshots come from the vault of another catalogue, with their identities. Their accounts come
    with them: no ledger is made then, and the one here must go on from the one there. Without ``corrections``, a new
    version of a part of a table that grows is refused, and the message says what it would cost.

    Raises CatalogueError before a snapshot is made if it could never be charged: because its declaration changes what a
    promised floor means, or the vault has lost a version whose cells it would have to be compared with. Raises
    LedgerError if the ledger is missing and snapshots are registered already, or does not know what was charged for a
    copied snapshot.

    >>> import inspect
    >>> inspect.isgeneratorfunction(registering)
    True
    """
    with ExitStack() as stack:
        source = None if copied_from is None else open_engine(copied_from.place, copied_from.folder)
        if source is not None:
            stack.enter_context(source)
        engine = stack.enter_context(open_engine(catalogue.place, catalogue.folder, read_only=False))
        first = not notes(engine)
        create = first and copied_from is None
        ledger = stack.enter_context(open_ledger(catalogue.place, catalogue.folder, create=create))
        if copied_from is not None and source is not None:
            theirs = stack.enter_context(open_ledger(copied_from.place, copied_from.folder, read_only=True))
            theirs.check_belong(map(deposit, notes(source).values()))
            _check_goes_on(ledger, theirs.head())
        ledger.check_belong(map(deposit, notes(engine).values()))
        check_none_left(ledger, catalogue.tables)
        join_charged(ledger, catalogue)
        for name in catalogue.tables if names is None else names:
            if name in catalogue.tables:
                table = catalogue.tables[name]
                ledger.check({**table_terms(name, table), **column_terms(name, table.private)})
                _check_columns(name, table, ledger, engine)
                if table.divided_by and source is None:
                    check_versions(name, table, ledger, engine)
            if source is None:
                yield register_with(ledger, catalogue, name, engine=engine, corrections=corrections)
            else:
                yield copy(catalogue, name, source=source, target=engine, entering=lambda note: enter(ledger, note))
                join(ledger, name, catalogue.tables[name])


def register_with(
    ledger: Ledger,
    catalogue: Catalogue,
    name: str,
    *,
    engine: Engine,
    identity: str | None = None,
    corrections: bool = False,
) -> Registration:
    """Register a table, or the new parts of one that grows, and enter it in the ledger before anybody can see it.

    If it is killed between the two, the ledger knows a snapshot that was never made, which does no harm. Where accounts
    are divided, a version that is there already is compared with the others before its source is read, which may be
    gone; a fresh one is compared while it is made.
    """
    table = catalogue.tables.get(name)
    if table is not None and table.divided_by:
        compare(name, table, ledger, engine)

    def entering(*noted: Mapping[str, Any]) -> None:
        if table is not None:
            join(ledger, name, table)
        enter(ledger, *noted)

    def checking(relation: str) -> None:
        if table is not None:
            check_no_copy(name, table, relation, unrelated(name, catalogue, ledger, engine), engine)

    if table is not None and table.grows_by is not None:
        made = register_parts(
            ledger,
            catalogue,
            name,
            engine=engine,
            corrections=corrections,
            entering=lambda parts: entering(*parts),
            checking=checking,
        )
    else:
        made = register(catalogue, name, engine=engine, identity=identity, entering=entering, checking=checking)
    join(ledger, name, made.snapshot.table)
    if made.fresh and made.snapshot.table.divided_by:  # killed before this, the next registration compares them
        keep(name, made.snapshot.table, made.compared, ledger, engine)
    return made


def enter(ledger: Ledger, note: Mapping[str, Any], *others: Mapping[str, Any]) -> None:
    """Write down that a snapshot belongs to a ledger, and where its rows come from; once is enough.

    ``others`` are further parts of the same table. Raises CatalogueError if the ledger knows the source under another
    table's name, or a part under another identity, also where the vault has lost it.
    """
    known = deposit(note)
    parts = {name: one for one in (note, *others) if (name := part_of(one)) is not None}
    hidden = "records" in note.get("declaration", {})

    def check(pinned: Pinned) -> None:
        if ((known.table, RECORDS) in pinned) != hidden and any(path[:2] == (known.table, SOURCE) for path in pinned):
            raise protected_otherwise(known.table, now="records" if hidden else "values")
        for path in pinned:
            if path[1:2] == (SOURCE,) and path[0] != known.table and overlap(path[2], note["source"]):
                raise shared_source(known.table, path[0])
        for name, one in parts.items():
            held = pinned.get((known.table, "snapshot", known.table, one["version"], name))
            if held is not None and held["identity"] != one["identity"]:
                raise CatalogueError(
                    f"part {name} of {known.table} was registered and charged in version {one['version']!r} before, as "
                    f"another snapshot, which this vault has lost: put back the vault that was in use; or declare a "
                    f"new version of that part, which is charged anew ({corrected_word([name])})",
                    table=known.table,
                    part=name,
                )

    said: dict[str, Any] = {"event": "registered", "table": known.table, "version": known.version}
    said |= {"parts": {name: one["version"] for name, one in parts.items()}} if parts else {}
    terms: Terms = {(known.table, SOURCE, note["source"]): {}}
    terms |= {deposit(one).path: {} for one in (note, *others)}
    ledger.enter(said, terms | ({(known.table, RECORDS): {}} if hidden else {}), check)


def protected_otherwise(table: str, now: str) -> CatalogueError:
    """Say that a table was registered for another kind of protection: what was public then cannot be a secret now."""
    before = "values" if now == "records" else "records"
    return CatalogueError(
        f"table {table} was registered with protects = {before!r}, and now declares {now!r}: what everybody could "
        f"learn of its rows then is no secret now, and the accounts of one kind do not count for the other. Declare "
        f"{before!r} as before",
        table=table,
    )


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
    """Erase a person from the snapshots of a table, and write down in the ledger which one goes on from which.

    What is kept of answers from a snapshot that is destroyed goes with it: their keys may name the person. What
    standing questions released stays, unless their rows or groups go by the owner or the row key.
    """

    def destroying(old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
        said = {"event": "erased", "table": name, "version": old["version"]}
        ledger.enter(said, {(name, ERASED, old["identity"], new["identity"]): {}, (name, GONE, old["identity"]): {}})
        ledger.forget(from_snapshot(old["identity"], name))

    ledger.check_belong(map(deposit, notes(engine).values()))
    table = catalogue.tables.get(name)
    if table is not None:  # else what is left of a charged version would be kept only where accounts are divided now
        ledger.check(table_terms(name, table))
    done = erase(
        catalogue,
        name,
        person,
        engine=engine,
        base=base,
        entering=lambda note: enter(ledger, note),
        destroying=destroying,
    )
    if table is not None and table.divided_by:
        with suppress(CatalogueError):  # the person is erased; why the version cannot be asked, registering it says
            compare(name, table, ledger, engine)
    return done


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
    """Take a ledger for the one in use because its custodian vouches for it: anchor it, and enter every snapshot.

    Each time is recorded: standing questions that are older release nothing new after it.
    """
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
    if not has_vault(catalogue.place, catalogue.folder):
        yield None
        return
    with open_engine(catalogue.place, catalogue.folder) as engine:
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


def _check_columns(name: str, table: Table, ledger: Ledger, engine: Engine) -> None:
    """Refuse a charged column that seems to have another name now, also where the vault has lost its version."""
    charged = {path[2] for path in ledger.pinned(name) if path[1:2] == ("column",)}
    known = {column for note in notes(engine).values() if note["table"] == name for column in _private(note)}
    new, gone = sorted(set(table.private) - charged - known), sorted(charged - set(table.private))
    if new and gone:
        raise renamed(name, table.version, "what was charged", gone[0], new[0])


def _private(note: Mapping[str, Any]) -> list[str]:
    return list(note["declaration"]["private"])
