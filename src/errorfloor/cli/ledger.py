"""``errorfloor ledger``: what has been spent; check, export and restore the record of it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer

from errorfloor.accounts import percent, share
from errorfloor.answering.keeping import Keeper
from errorfloor.catalogue import Catalogue, PrivateColumn, allowance, allowed, load
from errorfloor.catalogue.registers import charged_in
from errorfloor.charging.standing import concerned
from errorfloor.cli.app import AsJson, app, counted, messages, print_json
from errorfloor.cli.app import show as print_found
from errorfloor.errors import LedgerError
from errorfloor.identity import KeyRing
from errorfloor.ledger import Account, Charge, FileAnchor, Kept, Quotas, Record, SqlLedger, open_ledger
from errorfloor.ledger.entry import account_name
from errorfloor.ledger.quotas import holder_parts, part
from errorfloor.planning.loss_so_far import losses_so_far
from errorfloor.service.registering import accept_ledger, create_ledger

ledger = typer.Typer(help="Show, check, export and restore the ledger of what has been spent.", no_args_is_help=True)
app.add_typer(ledger, name="ledger")

CatalogueFile = Annotated[Path, typer.Option("--catalogue", "-c", help="The catalogue, which names the ledger.")]
FILE = Path("errorfloor.toml")


@ledger.command()
def show(
    catalogue: CatalogueFile = FILE,
    places: Annotated[
        bool,
        typer.Option("--places", help="Also how much each part of the range exposes an entry, version by version."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what each account has spent, and which share of its allowance that is; then the quotas that apply now."""
    declared, book = opened(catalogue, read_only=True)
    with book:
        head, time, spent = book.head(), book.time(), book.accounts(holder=None)
        profiles = book.profiles() if places else {}
    rows = [(account, spent[account], _allowance(declared, account)) for account in sorted(spent)]
    accounts = [row for row in rows if not row[0].holder]
    quotas = [row for row in rows if row[0].holder and _applies(declared, row[0], time)]
    if as_json:
        plain = [
            _row(*row) | ({"places": _shares(profiles.get(row[0], {}), row[2])} if places else {}) for row in accounts
        ]
        of_quotas = [_row(*row) | {"holder": json.loads(row[0].holder)} for row in quotas]
        print_json({"records": head.sequence, "hash": head.hash, "accounts": plain, "quotas": of_quotas})
        return
    print(f"{counted(head.sequence, 'record')}, {counted(len(accounts), 'account')}")
    for account, charge, limit in (*accounts, *quotas):
        print(f"{account_name(account)}: {_words(charge, limit)}")
        for version, shares in _shares(profiles.get(account, {}), limit).items():
            for line in _by_place(declared.tables[account.table].private[account.column], shares):
                print(f"  {line} in version {version}")


@ledger.command()
def epsilon(
    table: Annotated[str, typer.Option(help="The table.")],
    delta: Annotated[float, typer.Option(help="The probability δ that is left out, such as 0.01.")],
    column: Annotated[str, typer.Option(help="A private column; without one, the owners.")] = "",
    distance: Annotated[float | None, typer.Option(help="How far apart two values of the column are.")] = None,
    catalogue: CatalogueFile = FILE,
    as_json: AsJson = False,
) -> None:
    """State (ε, δ) of all charges so far, beside the floor; it is for questions that were fixed in advance."""
    declared, book = opened(catalogue, read_only=True)
    with book:
        found = losses_so_far(declared, book, table, delta=delta, column=column, distance=distance)
    text = "\n".join(one.explain() for one in found) or "nothing was charged to it"
    print_found([one.to_dict() for one in found], text, as_json)


@ledger.command()
def export(
    catalogue: CatalogueFile = FILE,
    kept: Annotated[
        bool, typer.Option("--kept", help="Instead, the answers that are kept: released numbers and questions.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print every record, one JSON object per line: a backup that can be restored anywhere. With --json, one list."""
    with opened(catalogue, read_only=True)[1] as book:
        lines = (one.to_json() for one in (book.kept_page(whole=True) if kept else book.entries()))
        if as_json:
            print_json(list(lines))
            return
        for line in lines:
            print(json.dumps(line))


@ledger.command()
def verify(
    catalogue: CatalogueFile = FILE,
    checkpoint: Annotated[
        Path | None, typer.Option(help="A file that errorfloor ledger checkpoint wrote earlier.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Replay every record; compare the chain, the sums, the terms, the anchor and a checkpoint; check what is kept."""
    earlier = None
    if checkpoint is not None:
        earlier = FileAnchor(checkpoint).read()
        if earlier is None:
            raise LedgerError(
                f"there is no checkpoint {checkpoint}: name a file that errorfloor ledger checkpoint wrote"
            )
    declared, book = opened(catalogue, read_only=True)
    file = declared.folder / declared.place.keys
    with book:
        replay = book.verify(earlier)
        checked = Keeper(book, KeyRing(file).keys[::-1] if file.exists() else []).check()
    if as_json:
        counts = {"accounts": len(replay.totals), **checked._asdict()}
        print_json({"records": replay.head.sequence, "hash": replay.head.hash, **counts})
        return
    records, accounts = counted(replay.head.sequence, "record"), counted(len(replay.totals), "account")
    print(f"{records} and the sums of {accounts} are as they were written")
    if checked.kept:
        print(f"{counted(checked.kept, 'kept answer')} too, {checked.bytes:,} bytes")
    if checked.sealed_otherwise:
        there = counted(checked.sealed_otherwise, "kept answer")
        print(f"{there} cannot be checked, and will not be given: {file} lacks their key")


@ledger.command("checkpoint")
def make_checkpoint(
    catalogue: CatalogueFile = FILE,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Also write it to this file.")] = None,
    accept: Annotated[
        bool,
        typer.Option(
            "--accept",
            help="Take this ledger for the one in use although its anchor is missing or it does not know a snapshot; "
            "you vouch that no charge is missing.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print where the ledger stands: one line that fixes its whole history. Keep it apart from the ledger."""
    if accept:
        head = accept_ledger(load(catalogue))
    else:
        with opened(catalogue, read_only=True)[1] as book:
            head = book.head()
    if output is not None:
        FileAnchor(output, alone=True).advance(head)
        messages.say(f"wrote {output}")
    print_found({"format": 1, "sequence": head.sequence, "hash": head.hash}, head.to_text().rstrip("\n"), as_json)


@ledger.command()
def restore(
    source: Annotated[Path, typer.Option("--from", help="What errorfloor ledger export printed.")],
    catalogue: CatalogueFile = FILE,
    accept: Annotated[
        bool,
        typer.Option(
            "--accept", help="Restore without an anchor to compare with; you vouch that no record is missing."
        ),
    ] = False,
    kept: Annotated[
        Path | None, typer.Option(help="What errorfloor ledger export --kept printed; it may be incomplete.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fill a new ledger with the records of an export; an export older than the anchor is refused."""
    declared = load(catalogue)
    records = list(map(Record.from_json, _lines(source)))
    with open_ledger(declared.place, declared.folder, accept=accept, restore=records) as book:
        head = book.head()
        answers = 0 if kept is None else sum(book.keep(Kept.from_json(line)) for line in _lines(kept))
    more = f" and {counted(answers, 'kept answer')}" if kept is not None else ""
    plain = {"records": head.sequence, "hash": head.hash, "kept": answers}
    print_found(plain, f"restored {counted(len(records), 'record')}{more}", as_json)


@ledger.command()
def create(
    catalogue: CatalogueFile = FILE,
    accept: Annotated[
        bool,
        typer.Option("--accept", help="Make it although snapshots are registered; you vouch that nothing was charged."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make an empty ledger and its anchor if neither exists; errorfloor register does this by itself."""
    head = create_ledger(load(catalogue), accept=accept)
    text = f"the ledger exists, with {counted(head.sequence, 'record')}"
    print_found({"records": head.sequence, "hash": head.hash}, text, as_json)


@ledger.command()
def clock(
    catalogue: CatalogueFile = FILE,
    accept: Annotated[
        bool,
        typer.Option(
            "--accept", help="Vouch that this machine's clock is right, however long ago the last record was."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the time of the ledger, which never goes back; accept a clock that is far ahead of the last record."""
    with opened(catalogue, read_only=not accept)[1] as book:
        time = book.accept_clock() if accept else book.time()
    print_found({"time": time}, time, as_json)


def opened(catalogue: Path, read_only: bool = False) -> tuple[Catalogue, SqlLedger]:
    """Open a catalogue and its ledger."""
    declared = load(catalogue)
    return declared, open_ledger(declared.place, declared.folder, read_only=read_only)


def _lines(source: Path) -> Iterator[Any]:
    with source.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                plain = json.loads(line)
            except ValueError:
                plain = None
            if plain is None:
                raise LedgerError(f"line {number} of {source} is not JSON: give what errorfloor ledger export printed")
            yield plain


def _allowance(declared: Catalogue, account: Account) -> Charge | None:
    """Give what the catalogue allows an account; None if it no longer declares it."""
    if account.holder:
        whole = _allowance(declared, replace(account, holder=""))
        share = declared.quota.shares.get(holder_parts(account.holder)[0])
        return None if whole is None or share is None else part(whole, share)
    table = charged_in(account.table, declared.tables)
    if table is None:
        stream = declared.streams.get(account.table)
        state = None if stream is None else stream.private.get(account.column)
        return None if state is None else Charge(*allowance(state))
    whose = None if table.owner is None else table.owner.accounts_of(account.table)
    known = account.column in table.private if account.column else account.table == whose
    return allowed(concerned(table, account), account.column) if known else None


def _applies(declared: Catalogue, account: Account, time: str) -> bool:
    """Say whether a quota is declared, and its period, if it has one, is the present one."""
    _, analyst, _ = holder_parts(account.holder)
    return account.holder in Quotas(declared.quota.shares, analyst).holders(time)


def _row(account: Account, charge: Charge, limit: Charge | None) -> dict[str, Any]:
    row: dict[str, Any] = {
        "table": account.table,
        "column": account.column or None,
        "cell": json.loads(account.cell) if account.cell else None,
        "information": charge.information,
        "evaluation": charge.evaluation,
        "allowed_information": None if limit is None else limit.information,
        "allowed_evaluation": None if limit is None else limit.evaluation,
    }
    if limit is not None and limit.raised_cosine:
        row |= {"raised_cosine": charge.raised_cosine, "allowed_raised_cosine": limit.raised_cosine}
    return row


def _shares(profiles: Mapping[str, Charge], limit: Charge | None) -> dict[str, list[float]]:
    """Give the used share of an allowance at each place, by version; nothing for an account that is not declared."""
    if limit is None:
        return {}
    return {
        version: [
            share(Charge.of(dict(zip(charge.amounts(), here, strict=True))), limit)
            for here in zip(*map(charge.places, charge.amounts()), strict=True)
        ]
        for version, charge in profiles.items()
    }


def _by_place(column: PrivateColumn, shares: Sequence[float]) -> Iterator[str]:
    """Say which part of the range is used how much, neighbours that are used alike together."""
    low, step = float(column.low), float(column.high - column.low) / len(shares)
    first = 0
    for said, alike in groupby(map(percent, shares)):
        last = first + len(list(alike))
        yield f"{low + first * step:.6g} … {low + last * step:.6g}: {said}"
        first = last


def _words(charge: Charge, most: Charge | None) -> str:
    words = []
    limits = {} if most is None else most.amounts()
    for name, spent in charge.amounts().items():
        limit, said = limits.get(name), name.replace("_", " ")
        if limit:
            words.append(f"{said} {spent:.4g} of {limit:.4g} ({percent(spent / limit)})")
        elif spent or (limit is None and name != "raised_cosine"):
            words.append(f"{said} {spent:.4g}")
    return ", ".join(words)
