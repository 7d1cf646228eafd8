"""Lists of how accounts stand, what was charged and what is kept, as one may see them.

Accounts are listed under the terms that they were charged under; a table that is declared otherwise now has none.

A question's text is shown to who asked it, to an owner, and to everybody who may ask the table if it declared that
when the question was asked. The same goes for the names in it, and for the wish.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from errorfloor.accounts import NOTHING, Account, Charge
from errorfloor.answering.keeping import Keeper, KeptAnswer, is_seen
from errorfloor.catalogue import Catalogue, Table
from errorfloor.charging.settling import Grant, column_terms, table_terms
from errorfloor.charging.standing import QuotaStanding, Standing, allowances_of, concerned
from errorfloor.display import Accounts
from errorfloor.errors import CatalogueError, InputError
from errorfloor.ledger import Ledger, Quotas
from errorfloor.ledger.quotas import part
from errorfloor.service.description import about, page

MOST = 1000  # lines of one page


def history(
    keeper: Keeper, grant: Grant, after: int, limit: int, analyst: str | None, by: str | None = None
) -> list[dict[str, Any]]:
    """Give records of charges that a grant covers, each with the question that was kept for it; ``by`` one analyst."""
    check_page(after, limit)
    found: list[dict[str, Any]] = []
    while True:
        read = page(keeper.ledger.entries(after, limit))
        found += [
            one
            for one in read
            if grant.covers(about(one)) and "event" not in one and (by is None or one["analyst"] == by)
        ]
        if len(read) < limit or len(found) >= limit:
            break
        after = read[-1]["sequence"]
    found = found[:limit]
    kept = keeper.of_labels({one["label"] for one in found if one["label"]})
    for one in found:
        answer = kept.get(one["label"])
        seen = answer is not None and _is_covered(answer, grant) and is_seen(answer.facts, analyst)
        one["question"] = answer.facts["sql"] if answer is not None and seen else None
        if not seen and (answer is not None or analyst not in (None, one["analyst"])):
            one["output"] = None  # the names in a question are as much of it as its text
    return found


def known(keeper: Keeper, grant: Grant, after: int, limit: int, analyst: str | None) -> list[dict[str, Any]]:
    """Give answers that are kept and that a grant covers."""
    check_page(after, limit)
    found = []
    for answer in keeper.opened(after):
        if _is_covered(answer, grant) and not answer.kept.lasts:  # what is followed has a list of its own
            found.append(_line(answer, analyst))
            if len(found) == limit:
                break
    return found


def every_known(keeper: Keeper) -> Iterator[dict[str, Any]]:
    """Give all that is kept, as the custodian sees it."""
    return (_line(answer, None) for answer in keeper.opened())


def left(catalogue: Catalogue, ledger: Ledger) -> Accounts[Standing]:
    """Say how each undivided account, and each divided one that was charged, stands.

    Raises CatalogueError, as asking does, if a table is declared otherwise than when it was charged: what is used of an
    allowance would be stated of another one.
    """
    spent = ledger.accounts()
    for name, table in catalogue.tables.items():
        _check(ledger, name, table)
    return _standings(catalogue.tables, spent)


def left_where_terms_hold(catalogue: Catalogue, ledger: Ledger) -> Accounts[Standing]:
    """Say the same of those tables alone that are declared as they were charged: one of many does not hide the rest."""
    spent, held = ledger.accounts(), {}
    for name, table in catalogue.tables.items():
        with suppress(CatalogueError):
            _check(ledger, name, table)
            held[name] = table
    return _standings(held, spent)


def _check(ledger: Ledger, name: str, table: Table) -> None:
    if not table.is_public:
        ledger.check({**table_terms(name, table), **column_terms(name, table.private)})


def _standings(tables: Mapping[str, Table], spent: Mapping[Account, Charge]) -> Accounts[Standing]:
    found: Accounts[Standing] = Accounts()
    for name, table in tables.items():
        accounts = [Account(name, column, "") for column in table.private] if not table.account_by else []
        whose = name if table.owner is None else table.owner.accounts_of(name)
        if table.owner is not None and (table.owners_by is None or table.owner.life is not None):
            accounts.append(Account(whose, "", ""))
        others = [account for account in spent if account.table in (name, whose) and account not in accounts]
        accounts += [account for account in others if _is_declared(account, table, whose)]
        limits = allowances_of(table, accounts)
        listed = {one.account for one in found}  # an account of a register, with an earlier table
        found += [
            Standing(a, NOTHING, spent.get(a, NOTHING), limits[a], concerned(table, a))
            for a in accounts
            if a not in listed
        ]
    return found


def check_page(after: Any, limit: Any) -> None:
    """Refuse a page that is none."""
    if not isinstance(after, int) or after < 0 or not isinstance(limit, int) or not 1 <= limit <= MOST:
        raise InputError(f"after must be at least 0 and limit 1 to {MOST}, got {after!r} and {limit!r}")


def _line(answer: KeptAnswer, analyst: str | None) -> dict[str, Any]:
    said, seen = answer.facts, is_seen(answer.facts, analyst)
    own = seen and (analyst is None or said["analyst"] == analyst)
    return {
        "number": answer.kept.number,
        "time": said["time"],
        "table": said["table"],
        "version": said["version"],
        "cells": said["cells"],
        "bytes": answer.kept.size,
        "question": said["sql"] if seen else None,
        "wish": said["wish"] if seen else None,
        "analyst": said["analyst"] if own else None,
        "shared": said["shared"],
        "outputs": [_output(one, seen) for one in {one["name"]: one for one in said["outputs"]}.values()],
    }


def _output(one: Mapping[str, Any], seen: bool) -> dict[str, Any]:
    added = one["added"]
    bounds = {"exact": True} if added is None else {"exact": False, "low": added["low"], "high": added["high"]}
    if added is not None and (times := one.get("times")):  # a bin is farther off than what is released for its edges
        bounds |= {"low": added["low"] * times, "high": added["high"] * times}
    if one.get("part"):  # its bound is not that of what is derived from it, which has intervals
        bounds = {"exact": False, "low": None, "high": None}
    return {"name": one["name"] if seen else None, "unit": one["unit"] if seen else None, **bounds}


def _is_covered(answer: KeptAnswer, grant: Grant) -> bool:
    """Say whether a grant covers every table that an answer is from, those that were joined among them."""
    return all(grant.covers(table) for table, _, _ in answer.facts["snapshots"])


def _is_declared(account: Account, table: Table, whose: str) -> bool:
    """Say whether a table still has what an account was opened for."""
    return account.column in table.private if account.column else account.table == whose and table.owner is not None


def quotas(ledger: Ledger, declared: Quotas, accounts: Callable[[], list[Standing]]) -> list[QuotaStanding]:
    """Say how quotas stand now, of the given accounts; those that nothing was charged to are unused."""
    holders = declared.holders(ledger.time())
    found = []
    of_whole = accounts() if holders else []
    for holder, share in holders.items():
        spent = ledger.accounts(holder=holder)
        for whole in of_whole:
            account = replace(whole.account, holder=holder)
            limit = part(whole.allowance, share)
            found.append(QuotaStanding(account, NOTHING, spent.get(account, NOTHING), limit, share))
    return found
