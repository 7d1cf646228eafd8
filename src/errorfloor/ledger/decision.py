"""Decisions: which entries are free, which are written, whether allowances cover them, and whether terms still hold."""

import datetime
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

from errorfloor.accounts import NOTHING, REGISTER, Account, Charge
from errorfloor.errors import AllowanceError, CatalogueError, InputError, LedgerError
from errorfloor.ledger.book import Book, check_belong, check_in_cells, first_charged
from errorfloor.ledger.entry import JSON, Entry, Head, Record, account_name, canonical, check_charge
from errorfloor.ledger.joining import accounts_of, check_joined
from errorfloor.ledger.quotas import Quotas
from errorfloor.ledger.total import BOOKED, Total, round_down, round_up

Path = str | tuple[str, ...]
Versions = Mapping[Account, str | None]  # of tables, where a charge has a profile
FAR = datetime.timedelta(days=366)  # between two records; a server that rests for longer has its clock confirmed
SHOWN = 3  # accounts that a refusal names; its fields have all of them
FROM_THE_START = {
    "noises",
    "apart",
    "per",
    "joined",
    "life",
    "max_delta",
    "max_epsilon",
}  # terms of answers already given, too
RISING = {"floor", "min_group"}  # what is pinned alone, and may rise and not fall


def term_name(path: Path) -> str:
    """Give a path as the text that it is kept under; a lone text is the path of a table.

    >>> term_name("meters"), term_name(("a.b", "column", "c")) == term_name(("a", "b.column", "c"))
    ('["meters"]', False)
    """
    return json.dumps([path] if isinstance(path, str) else list(path), ensure_ascii=False)


def table_of(name: str) -> str:
    """Give the table that terms belong to, by the name they are kept under.

    >>> table_of('["meters", "column", "kwh"]')
    'meters'
    """
    return str(json.loads(name)[0])


def texts(terms: Mapping[Path, object]) -> dict[str, str]:
    """Give terms as they are kept: canonical texts by name."""
    return {term_name(path): canonical(f"the terms of {words(term_name(path))}", terms[path]) for path in terms}


def stricter(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Say whether terms may take the place of others: a floor that rises, or the same with something more fixed.

    How accounts count noises, which histories an owner's are about, and whether (ε, δ) is stated, is fixed with the
    first charge: other limits hold from the start, or not at all.

    >>> stricter({"floor": 2.0}, {"floor": 2.5}), stricter({"floor": 2.0}, {"floor": 1.5})
    (True, False)
    >>> stricter({"unit": "m"}, {"unit": "m", "resolution": "1"}), stricter({"unit": "m"}, {"unit": "cm"})
    (True, False)
    >>> stricter({"owner": None}, {"owner": None, "noises": "raised cosine"})
    False
    """
    if len(old) == 1 and set(old) == set(new) <= RISING:
        (name,) = old
        return bool(old[name] < new[name])
    if set(old) == set(new) == {REGISTER}:
        return old[REGISTER] is None
    return (
        set(old) < set(new)
        and not FROM_THE_START & (set(new) - set(old))
        and all(new[name] == value for name, value in old.items())
    )


def changed(held: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Give those terms that are new or stricter than those that are held.

    Raises CatalogueError, with advice, if other terms are given than are held.
    """
    found = {}
    for name in sorted(given):
        if name not in held:
            found[name] = given[name]
        elif held[name] != given[name]:
            old, new = json.loads(held[name]), json.loads(given[name])
            if not stricter(old, new):
                raise _changed_meaning(name, old, new)
            found[name] = given[name]
    return found


def words(name: str) -> str:
    """Name what terms are about.

    >>> words('["meters"]'), words('["meters", "column", "kwh"]'), words('["meters", "owner floor"]')
    ('meters', 'meters.kwh', "meters' owners")
    """
    match json.loads(name):
        case [table]:
            return str(table)
        case [table, "smallest group"]:
            return str(table)
        case [table, "owner floor", *_]:
            return f"{table}' owners"
        case [table, *_, last]:
            return f"{table}.{last}"
        case _:
            return name


def _changed_meaning(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> CatalogueError:
    path = json.loads(name)
    if set(old) == {"identity"}:
        if len(path) < 4:
            return CatalogueError(f"{words(name)} is not the stream that was charged under that name", table=path[0])
        what = (
            f"{path[2]} in version {path[3]!r}"
            if len(path) == 4
            else f"part {path[4]} of {path[2]} in version {path[3]!r}"
        )
        return CatalogueError(
            f"{what} is not the snapshot that was charged under that version: the vault was made again. Put back the "
            f"vault that was in use; or declare a new version and register it",
            table=path[0],
        )
    if set(old) == set(new) == {"floor"}:
        return CatalogueError(
            f"the floor of {words(name)} was {old['floor']:g} when it was charged, which is a promise; the catalogue "
            f"now says {new['floor']:g}. A floor may rise but must not fall: declare it as it was",
            table=path[0],
        )
    if set(old) == set(new) == {"min_group"}:
        return CatalogueError(
            f"{path[0]} was charged when min_group was {old['min_group']}; the catalogue now says {new['min_group']}. "
            f"min_group may rise but must not fall: declare it as it was",
            table=path[0],
        )
    if set(old) == set(new) == {REGISTER}:
        return CatalogueError(
            f"the owners of {path[0]} share the accounts of the register {old[REGISTER]!r}; the catalogue now says "
            f"{json.dumps(new[REGISTER])}. What was spent there stays theirs: declare register = "
            f"{json.dumps(old[REGISTER])} for {path[0]}",
            table=path[0],
        )
    differ = sorted(one for one in {*old, *new} if old.get(one) != new.get(one) and one in {*old, *FROM_THE_START})
    if differ == ["noises"]:
        return _counted_otherwise(words(name), old, path[0])
    return CatalogueError(
        f"the accounts of {words(name)} were opened with {_listed(old, differ)}; the catalogue now says "
        f"{_listed(new, differ)}. That would change what its floor means for answers already given, and what was "
        f"spent cannot be moved to other accounts: declare it as it was",
        table=path[0],
        held=old,
        given=new,
    )


def _counted_otherwise(name: str, old: Mapping[str, Any], table: str) -> CatalogueError:
    before, declare = ("apart", "leave noises out") if old.get("noises") else ("like any other", 'noises = "any"')
    return CatalogueError(
        f"the accounts of {name} were opened while raised-cosine noise was counted {before}. What was spent keeps that "
        f"meaning, and so do its floors: declare {declare} for {name}",
        table=table,
        held=old,
    )


def _listed(terms: Mapping[str, JSON], names: Sequence[str]) -> str:
    return ", ".join(f"{name} = {json.dumps(terms.get(name), ensure_ascii=False)}" for name in names)


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
    _, latest = book.tail()
    fresh, written = _fresh(book, entries)
    spent = _rounded(*_totals(book, entries, max(time, latest), quotas))
    return Settlement(written, max(time, latest), spent, asked_of(entries, fresh))


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
    charges = [quotas.extend(entry.charges, time) for entry in entries]
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
    together = allowances[account].raised_cosine > 0 and bool(asked)  # one sum too large, and none may grow
    after = spent.plus(asked)
    for kind in BOOKED:
        total, limit = after.face(kind), Fraction(getattr(allowances[account], kind))
        if (asked.face(kind) > 0 or together) and total > limit:
            more = after.taken_by(asked, kind)
            left = max(Fraction(0), limit - (total - more))
            amounts = (round_up(more), round_down(left), round_up(more - left), float(limit))
            yield _Shortfall(account.table, account.column, account.cell, account.holder, kind, *amounts)


def _refusal(short: list[_Shortfall]) -> AllowanceError:
    """Say what is asked, what is left and what is missing, account by account, and what to do."""
    worst = sorted(short, key=lambda line: line.remaining / line.requested if line.requested else 0.0)[:SHOWN]
    lines = [
        f"{account_name(Account(line.table, line.column, line.cell, line.holder))}: {line.kind.replace('_', ' ')} "
        f"requested {line.requested:.4g}, "
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
