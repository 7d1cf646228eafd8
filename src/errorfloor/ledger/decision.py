"""Decisions: which entries are free, which are written, whether allowances cover them, and whether terms still hold."""

import datetime
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

from errorfloor.accounts import NOTHING, REGISTER, Account, Charge
from errorfloor.errors import AllowanceError, CatalogueError, InputError, LedgerError
from errorfloor.ledger.book import Book
from errorfloor.ledger.entry import Entry, Head, Record, account_name, canonical, check_charge
from errorfloor.ledger.joining import accounts_of, check_joined
from errorfloor.ledger.quotas import Quotas
from errorfloor.ledger.terms import (
    Path,
    changed,
    check_belong,
    check_in_cells,
    first_charged,
    table_of,
    term_name,
    texts,
)
from errorfloor.ledger.total import BOOKED, Total, round_down, round_up

Versions = Mapping[Account, str | None]  # of tables, where a charge has a profile
FAR = datetime.timedelta(days=366)  # between two records; a server that rests for longer has its clock confirmed
SHOWN = 3  # accounts that a refusal names; its fields have all of them


@dataclass(frozen=True)
class Settlement:
    """How a call stands: for each label whether it is (or would be) charged, and what all its accounts have spent.

    ``spent`` is rounded up. It has the quotas that apply at ``time``, too, which is never before the last record's.
    ``asked`` is what the charge takes from each account, rounded up; nothing where all is free.

    >>> Settlement([True], "2026-11-15T13:00:00+00:00", {}, {}).fresh
    [True]
    """

    fresh: list[bool]
    time: str
    spent: dict[Account, Charge]
    asked: dict[Account, Charge]


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
    time = max(time, book.tail().time)
    fresh, written = _fresh(book, entries)
    spent = _rounded(*_totals(book, entries, time, quotas))
    return Settlement(written, time, spent, asked_of(entries, fresh))


def asked_of(entries: Sequence[Entry], charged: Sequence[Entry]) -> dict[Account, Charge]:
    """Give what the ``charged`` ones of some entries take from each account of all of them, rounded up."""
    total = {account: NOTHING for entry in entries for account in entry.charges}
    for entry in charged:
        for account, charge in entry.charges.items():
            total[account] = total[account] + charge
    return total


def decide(
    book: Book,
    entries: Sequence[Entry],
    allowances: Mapping[Account, Charge],
    terms: Mapping[Path, object],
    *,
    time: str,
    quotas: Quotas,
    held: dict[str, str],
    spend: bool = True,
    is_forgotten: bool = False,
) -> Decision:
    """Decide on a call, reading the book and changing nothing. With ``spend`` off, whatever is not free is refused.

    ``held`` are terms that were read before and still stand, so that they are not read again; others are added to it.
    A ledger that ``is_forgotten`` with its process takes every snapshot for its own.

    Guarantee: if every account's total was at most its allowance, it still is once the decision is written. Time never
    goes back: a clock that was set back opens no earlier day, week or month.

    Raises AllowanceError if an account or a quota does not cover what is asked of it, CatalogueError if a table's terms
    are not those it was first charged under or an account has no allowance, InputError if one label comes with two
    prices, LedgerError if a snapshot does not belong to the ledger, or the clock is far ahead of the last record.
    """
    fixed = _check_terms(book, entries, terms, held)
    if any(name.endswith(f', "{REGISTER}"]') for name in fixed):
        check_joined(book, fixed)
    if fixed and not is_forgotten:
        check_belong(book, first_charged(fixed))
        check_in_cells(book, fixed, texts(terms))
    fresh, written = _fresh(book, entries)
    if fresh and not spend:
        raise AllowanceError(
            "this answer was never released, and a reader cannot spend: ask for one that was, or have an analyst ask "
            "for this one",
            labels=[entry.label for entry in fresh],
        )
    head, latest = book.tail()
    if fresh:
        check_clock(time, latest)
    time = max(time, latest)
    taken = asked_of(entries, fresh)
    if quotas.shares:
        fresh = [replace(entry, charges=quotas.extend(entry.charges, time)) for entry in fresh]
    accounts, totals = _totals(book, entries, time, quotas)
    asked: dict[Account, Total] = {}
    for entry in fresh:
        for account, charge in entry.charges.items():
            asked[account] = asked.get(account, Total()).plus(charge)
    limits = quotas.limits(allowances, time) if quotas.shares else allowances
    short = [
        line
        for account in sorted(asked)
        for line in _shortfalls(account, totals.get(account, Total()), asked[account], limits)
    ]
    if short:
        raise _refusal(short)
    before, records = head, []
    for entry in fresh:
        tables = _tables([entry], terms)
        new = {name: json.loads(fixed.pop(name)) for name in sorted(fixed) if table_of(name) in tables}
        records.append(Record.after(head, entry, time=time, terms=new))
        head = records[-1].head
    sums = {account: totals.get(account, Total()).plus(more) for account, more in asked.items() if more}
    settled = Settlement(written, time, _rounded(accounts, {**totals, **sums}), taken)
    new_terms = {table: canonical("terms", value) for record in records for table, value in record.terms.items()}
    return Decision(settled, before, records, sums, new_terms)


def check_clock(time: str, latest: str) -> None:
    """Refuse a time far beyond the last record's: time never goes back, so that a wrong one would stay."""
    if not latest:
        return
    now, before = datetime.datetime.fromisoformat(time), datetime.datetime.fromisoformat(latest)
    if now - before > FAR:
        raise LedgerError(
            f"this machine's clock says {now.date()}, and the last record is from {before.date()}; nothing was "
            f"charged, "
            f"since a ledger never goes back in time: correct the clock; or, if it is right, run errorfloor ledger "
            f"clock --accept",
            clock=time,
            latest=latest,
        )


def _totals(book: Book, entries: Sequence[Entry], time: str, quotas: Quotas) -> tuple[Versions, dict[Account, Total]]:
    """Give the accounts and quotas of entries, the versions asked about, and the totals of those ever charged."""
    charges = [quotas.extend(one.charges, time) if quotas.shares else one.charges for one in entries]
    accounts = {account: charge.version for one in charges for account, charge in one.items()}
    return accounts, book.totals(accounts)


def _rounded(accounts: Versions, totals: Mapping[Account, Total]) -> dict[Account, Charge]:
    return {account: totals.get(account, Total()).rounded_up(accounts[account]) for account in sorted(accounts)}


def _tables(entries: Iterable[Entry], terms: Mapping[Path, object]) -> set[str]:
    """Give the tables and registers that entries charge, and the tables by which terms let them charge registers."""
    found = {account.table for entry in entries for account in entry.charges}
    for path, value in terms.items():
        match path, value:
            case (str(table), "register"), {"register": str(register)} if accounts_of(register) in found:
                found.add(table)
    return found


def _check_terms(
    book: Book, entries: Sequence[Entry], terms: Mapping[Path, object], held: dict[str, str]
) -> dict[str, str]:
    """Compare terms with those that hold; give the texts of those that are new or stricter."""
    tables = _tables(entries, terms)
    if not tables:
        return {}
    given = {name: text for name, text in texts(terms).items() if table_of(name) in tables}
    missing = sorted(table for table in tables if term_name(table) not in given)
    if missing:
        raise InputError(f"terms must say what the accounts of {missing[0]} mean, got terms for {list(terms)}")
    unread = [name for name in given if name not in held]
    if unread:
        held |= book.terms(unread)
    return changed(held, given)


def _fresh(book: Book, entries: Sequence[Entry]) -> tuple[list[Entry], list[bool]]:
    """Give the entries to charge, with the labels to pay for, and for each label of the call whether it is one."""
    known = book.known({label for entry in entries for label in entry.labels})
    charges: dict[tuple[str, ...], Mapping[Account, Charge]] = {}
    paid, fresh, written = set(known), [], []
    for entry in entries:
        if charges.setdefault(entry.labels, entry.charges) != entry.charges:
            raise InputError(f"label {entry.label} has two different prices in one call")
        labels = [label for label in entry.labels if label not in paid]
        written += [label not in paid for label in entry.labels]
        if labels:
            fresh.append(entry.of(labels))
            paid.update(labels)
    return fresh, written


def _shortfalls(
    account: Account, spent: Total, asked: Total, allowances: Mapping[Account, Charge]
) -> Iterable[dict[str, Any]]:
    """Say which of an account's limits a charge would exceed, and by how much."""
    if account not in allowances:
        raise CatalogueError(
            f"{account_name(account)} has no allowance, so it cannot be charged: declare its floor in the catalogue",
            table=account.table,
            column=account.column,
        )
    check_charge(f"the allowance of {account_name(account)}", allowances[account])
    together = allowances[account].raised_cosine > 0 and bool(asked)  # one sum too large, and none may grow
    after = spent.plus(asked)
    for kind in BOOKED:
        total, limit = after.face(kind), Fraction(getattr(allowances[account], kind))
        if (asked.face(kind) > 0 or together) and total > limit:
            more = after.taken_by(asked, kind)
            left = max(Fraction(0), limit - (total - more))
            amounts = {"requested": round_up(more), "remaining": round_down(left), "difference": round_up(more - left)}
            yield {**asdict(account), "kind": kind, **amounts, "allowance": float(limit)}


def _refusal(short: list[dict[str, Any]]) -> AllowanceError:
    """Say what is asked, what is left and what is missing, account by account, and what to do."""
    worst = sorted(short, key=lambda one: one["remaining"] / one["requested"] if one["requested"] else 0.0)[:SHOWN]
    lines = [
        f"{account_name(Account(*(one[part] for part in ('table', 'column', 'cell', 'holder'))))}: "
        f"{one['kind'].replace('_', ' ')} requested {one['requested']:.4g}, remaining {one['remaining']:.4g} of "
        f"{one['allowance']:.4g}, difference {one['difference']:.4g}"
        for one in worst
    ]
    more = f" (and {len(short) - SHOWN} more)" if len(short) > SHOWN else ""
    broken = "break a declared floor" if any(not one["holder"] for one in short) else "exceed a declared quota"
    return AllowanceError(
        f"the answer would {broken}; nothing was charged. {'; '.join(lines)}{more}. "
        f"Ask for a larger max_error or for fewer outputs; what was answered before can be asked again free of charge",
        accounts=short,
    )
