"""Decisions: which entries of a call are free, which are written, and whether the allowances cover them."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction

from errorfloor.errors import AllowanceError, CatalogueError, InputError
from errorfloor.ledger.book import Book
from errorfloor.ledger.entry import JSON, Entry, account_name, canonical, check_charge, rises
from errorfloor.ledger.quotas import Quotas
from errorfloor.ledger.record import Head, Record
from errorfloor.ledger.total import Total, round_down, round_up
from errorfloor.pricing.accounts import Account, Charge

SHOWN = 3  # accounts that a refusal names; its fields have all of them


@dataclass(frozen=True)
class Settlement:
    """How a call stands: for each entry whether it is (or would be) charged, and what all its accounts have spent.

    ``spent`` is rounded up. It has the quotas that apply at ``time``, too, which is never before the last record's.

    >>> Settlement([True], "2026-11-15T13:00:00+00:00", {}).fresh
    [True]
    """

    fresh: list[bool]
    time: str
    spent: dict[Account, Charge]


@dataclass(frozen=True)
class Decision:
    """How a call is settled, and what is to be written for that; ``before`` is where the ledger stood."""

    settlement: Settlement
    before: Head
    records: list[Record]
    totals: dict[Account, Total]
    terms: dict[str, str]


def look(book: Book, entries: Sequence[Entry], *, time: str, quotas: Quotas) -> Settlement:
    """Say which entries would be charged, and what the accounts and quotas of all of them have spent before that."""
    _, latest = book.tail()
    _, written = _fresh(book, entries)
    return Settlement(written, max(time, latest), _rounded(*_totals(book, entries, max(time, latest), quotas)))


def decide(
    book: Book,
    entries: Sequence[Entry],
    allowances: Mapping[Account, Charge],
    terms: Mapping[str, object],
    *,
    time: str,
    quotas: Quotas,
    held: dict[str, str],
    spend: bool = True,
) -> Decision:
    """Decide on a call, reading the book and changing nothing. With ``spend`` off, whatever is not free is refused.

    ``held`` are terms that were read before and still stand, so that they are not read again; others are added to it.

    Guarantee: if every account's total was at most its allowance, it still is once the decision is written. Time never
    goes back: a clock that was set back opens no earlier day, week or month.

    Raises AllowanceError if an account or a quota does not cover what is asked of it, CatalogueError if a table's terms
    are not those it was first charged under or an account has no allowance, InputError if one label comes with two
    prices.
    """
    fixed = _check_terms(book, entries, terms, held)
    fresh, written = _fresh(book, entries)
    if fresh and not spend:
        raise AllowanceError(
            "this answer was never released, and a reader cannot spend: ask for one that was, or have an analyst ask "
            "for this one",
            labels=[entry.label for entry in fresh],
        )
    head, latest = book.tail()
    time = max(time, latest)
    if quotas.shares:
        fresh = [replace(entry, charges=quotas.extend(entry.charges, time)) for entry in fresh]
    accounts, totals = _totals(book, entries, time, quotas)
    asked: dict[Account, Total] = {}
    for entry in fresh:
        for account, charge in entry.charges.items():
            asked[account] = asked.get(account, Total()).plus(charge)
    limits = quotas.limits(allowances, time)
    short = [
        line
        for account in sorted(asked)
        for line in _shortfalls(account, totals.get(account, Total()), asked[account], limits)
    ]
    if short:
        raise _refusal(short)
    before, records = head, []
    for entry in fresh:
        tables = _tables([entry])
        new = {name: json.loads(fixed.pop(name)) for name in sorted(fixed) if name.partition(".")[0] in tables}
        records.append(Record.after(head, entry, time=time, terms=new))
        head = records[-1].head
    sums = {
        account: Total(
            totals.get(account, Total()).information + more.information,
            totals.get(account, Total()).evaluation + more.evaluation,
        )
        for account, more in asked.items()
    }
    settled = Settlement(written, time, _rounded(accounts, {**totals, **sums}))
    new_terms = {table: canonical("terms", value) for record in records for table, value in record.terms.items()}
    return Decision(settled, before, records, sums, new_terms)


def _totals(
    book: Book, entries: Sequence[Entry], time: str, quotas: Quotas
) -> tuple[Collection[Account], dict[Account, Total]]:
    """Give the accounts and quotas of entries, and the totals of those that were ever charged."""
    accounts = {account for entry in entries for account in quotas.extend(entry.charges, time)}
    return accounts, book.totals(accounts)


def _rounded(accounts: Collection[Account], totals: Mapping[Account, Total]) -> dict[Account, Charge]:
    return {account: totals.get(account, Total()).rounded_up() for account in sorted(accounts)}


def _tables(entries: Iterable[Entry]) -> set[str]:
    return {account.table for entry in entries for account in entry.charges}


def _check_terms(
    book: Book, entries: Sequence[Entry], terms: Mapping[str, object], held: dict[str, str]
) -> dict[str, str]:
    """Compare terms with those that hold; give the texts of those that are new, and of floors that rise."""
    tables = _tables(entries)
    missing = sorted(tables - set(terms))
    if missing:
        raise InputError(f"terms must say what the accounts of {missing[0]} mean, got terms for {sorted(terms)}")
    given = {name: canonical(f"the terms of {name}", terms[name]) for name in terms if name.partition(".")[0] in tables}
    unread = [name for name in given if name not in held]
    if unread:
        held |= book.terms(unread)
    risen = set()
    for table in sorted(given.keys() & held.keys()):
        if held[table] != given[table]:
            old, new = json.loads(held[table]), json.loads(given[table])
            if set(old) == {"snapshot"}:
                raise CatalogueError(
                    f"{table.partition('.')[2]} is not the snapshot that was charged under that version: the vault was "
                    f"made anew, and its noise must not be drawn for other data. Declare a new version and register it",
                    table=table,
                )
            if set(old) == {"floor"}:
                if rises(old, new):
                    risen.add(table)
                    continue
                raise CatalogueError(
                    f"the {table} was {old['floor']:g} when it was charged, and that was promised; the catalogue now "
                    f"says {new['floor']:g}. A floor may rise, and must not fall: declare it as it was",
                    table=table,
                )
            changed = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
            raise CatalogueError(
                f"the accounts of {table} were opened with {_listed(old, changed)}; the catalogue now says "
                f"{_listed(new, changed)}. What was spent cannot be moved to other accounts: declare it as it was",
                table=table,
                held=old,
                given=new,
            )
    return {table: text for table, text in given.items() if table not in held or table in risen}


def _listed(terms: Mapping[str, JSON], names: Sequence[str]) -> str:
    return ", ".join(f"{name} = {json.dumps(terms.get(name), ensure_ascii=False)}" for name in names)


def _fresh(book: Book, entries: Sequence[Entry]) -> tuple[list[Entry], list[bool]]:
    """Give the entries to charge, and for each entry of the call whether it is one of them."""
    known = book.known({entry.label for entry in entries})
    charges: dict[str, Mapping[Account, Charge]] = {}
    written = []
    for entry in entries:
        written.append(entry.label not in known and entry.label not in charges)
        if charges.setdefault(entry.label, entry.charges) != entry.charges:
            raise InputError(f"label {entry.label} comes with two different prices in one call")
    return [entry for entry, new in zip(entries, written, strict=True) if new], written


@dataclass(frozen=True)
class _Shortfall:
    table: str
    column: str
    cell: str
    holder: str
    kind: str
    requested: float
    remaining: float
    difference: float
    allowance: float


def _shortfalls(
    account: Account, spent: Total, asked: Total, allowances: Mapping[Account, Charge]
) -> Iterable[_Shortfall]:
    if account not in allowances:
        raise CatalogueError(
            f"{account_name(account)} has no allowance, so it cannot be charged: declare its floor in the catalogue",
            table=account.table,
            column=account.column,
        )
    check_charge(f"the allowance of {account_name(account)}", allowances[account])
    for kind in ("information", "evaluation"):
        before, more = getattr(spent, kind), getattr(asked, kind)
        limit = Fraction(getattr(allowances[account], kind))
        if more > 0 and before + more > limit:
            left = max(Fraction(0), limit - before)
            amounts = (round_up(more), round_down(left), round_up(more - left), float(limit))
            yield _Shortfall(account.table, account.column, account.cell, account.holder, kind, *amounts)


def _refusal(short: list[_Shortfall]) -> AllowanceError:
    """Say what is asked, what is left and what is missing, account by account, and what to do."""
    worst = sorted(short, key=lambda line: line.remaining / line.requested)[:SHOWN]
    lines = [
        f"{account_name(Account(line.table, line.column, line.cell, line.holder))}: {line.kind} requested "
        f"{line.requested:.4g}, "
        f"remaining {line.remaining:.4g} of {line.allowance:.4g}, difference {line.difference:.4g}"
        for line in worst
    ]
    more = f" (and {len(short) - SHOWN} more)" if len(short) > SHOWN else ""
    broken = "break a declared floor" if any(not line.holder for line in short) else "exceed a declared quota"
    return AllowanceError(
        f"the answer would {broken}; nothing was charged. {'; '.join(lines)}{more}. "
        f"Ask for a larger max_error or for fewer outputs; what was answered before can be asked again free of charge",
        accounts=[asdict(line) for line in short],
    )
