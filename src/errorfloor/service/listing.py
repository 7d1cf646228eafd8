"""Lists of what is declared, how accounts stand, what was charged and what is kept, as one may see them.

Accounts are listed under the terms that they were charged under; a table that is declared otherwise now has none.

A question's text is shown to who asked it, to an owner, and to everybody who may ask the table if it declared that
when the question was asked. The same goes for the names in it, for the wish, and for what would tie a guess to the
line of a hidden question: its bounds and cells, what was charged, and which parts of a table were read.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from fractions import Fraction
from typing import Any

from errorfloor.accounts import NOTHING, Account, Charge
from errorfloor.answering.keeping import Keeper, is_seen
from errorfloor.answering.kept import KeptAnswer
from errorfloor.catalogue import Catalogue, Table
from errorfloor.charging.settling import Grant, column_terms, table_terms
from errorfloor.charging.standing import QuotaStanding, Standing, allowances_of, concerned
from errorfloor.display import Accounts
from errorfloor.errors import CatalogueError, InputError
from errorfloor.ledger import Ledger, Record
from errorfloor.ledger.quotas import part

MOST = 1000  # lines of one page


def table_facts(name: str, table: Table, rows: int | None) -> dict[str, Any]:
    """Give what is declared of a table, and its number of rows (None if it is not registered), as plain JSON types.

    Of a table that protects records the number of rows is the declared bound on it.
    """
    return {
        "name": name,
        "version": table.version,
        "rows": rows,
        "row_key": list(table.row_key),
        "private": [
            {
                "name": column,
                "unit": one.unit,
                "range": [float(one.low), float(one.high)],
                "resolution": float(one.resolution),
                "floor": one.floor,
                "distance": one.example,
                "nulls": one.nulls,
                "impute": None if one.impute is None else float(one.impute),
                "prior": None if one.prior is None else {"mean": one.prior.mean, "deviation": one.prior.deviation},
            }
            for column, one in table.private.items()
        ],
        "public": [
            {
                "name": column,
                "type": one.type,
                "unit": one.unit,
                "resolution": None if one.resolution is None else float(one.resolution),
            }
            for column, one in table.public.items()
        ],
        **({"protects": "records", "columns": record_columns(table)} if table.hides_records else {}),
        "owner": None
        if table.owner is None
        else {
            "column": table.owner.column,
            "floor": table.owner.floor,
            "apart": {column: float(distance) for column, distance in table.owner.apart.items()},
            "per": None if table.per is None else table.per.model_dump(),
            "joined": None if table.joined is None else table.joined.model_dump(),
            "register": table.owner.register,
            "life": table.owner.life,
            **({"rows": table.owner.rows} if table.hides_records else {}),
        },
        "account_by": list(table.account_by),
    }


def record_columns(table: Table) -> list[dict[str, Any]]:
    """Give the declared domain of each column of a table that protects records, as plain JSON types."""
    return [
        {
            "name": name,
            "type": one.public.type,
            "unit": one.unit,
            "values": list(one.texts) if one.range is None else None,
            "range": None if one.range is None else [_plain(end) for end in one.range],
            "resolution": None if one.public.step is None else float(one.public.step),
            "rest": None if one.rest is None else _plain(one.rest),
        }
        for name, one in table.columns.items()
    ]


def _plain(value: object) -> str | float:
    return float(value) if isinstance(value, Fraction) else str(value)


def page(records: Iterable[Record]) -> list[dict[str, Any]]:
    """Give records as plain JSON types: number, time, label, what was asked for, what was charged to whom."""
    return [
        {
            "sequence": record.sequence,
            "time": record.time,
            "label": record.labels[0] if record.labels else "",
            **dict.fromkeys(("table", "version", "output", "analyst", "key")),
            **record.note,
            "charges": [
                {**asdict(account), **record.charges[account].rounded_up().amounts()}
                for account in sorted(record.charges)
            ],
            "hash": record.hash,
        }
        for record in records
    ]


def about(record: Mapping[str, Any]) -> str:
    """Give the table or stream that a record of a page is about.

    >>> about({"table": None, "stream": "cars"})
    'cars'
    """
    return str(record.get("table") or record.get("stream") or "")


def answers_from(ledger: Ledger, table: str, versions: Iterable[str]) -> dict[str, int]:
    """Count the records of answers and releases that were made from versions of a table.

    >>> from errorfloor.service.example import example_database
    >>> with example_database() as db:
    ...     _ = db.ask("SELECT avg(kwh) FROM meters", max_error=0.5)
    ...     sum(answers_from(db.ledger, "meters", [db.catalogue.tables["meters"].version]).values())
    1
    """
    found = dict.fromkeys(versions, 0)
    for record in page(ledger.entries()):
        if about(record) == table and "event" not in record:
            parts = [f"{version}, part {part}" for part, version in (record.get("parts") or {}).items()]
            for named in parts or [str(record.get("version"))]:
                if named in found:
                    found[named] += 1
    return found


class ListingFace:
    """What a database says of its accounts, of what was charged, and of what is kept."""

    catalogue: Catalogue
    ledger: Ledger
    _keeper: Keeper
    _grant: Grant

    def history(
        self, after: int = 0, limit: int = 100, analyst: str | None = None, by: str | None = None
    ) -> list[dict[str, Any]]:
        """Give what was charged, in order: at most ``limit`` records after the one with number ``after``.

        An analyst sees the questions that were theirs, or shared; the custodian, None, sees all. Of others' it is said
        that something was charged, and when. ``by`` leaves those of one analyst.
        """
        check_page(after, limit)
        found: list[dict[str, Any]] = []
        while True:
            read = page(self.ledger.entries(after, limit))
            found += [
                one
                for one in read
                if self._grant.covers(about(one)) and "event" not in one and (by is None or one["analyst"] == by)
            ]
            if len(read) < limit or len(found) >= limit:
                break
            after = read[-1]["sequence"]
        found = found[:limit]
        kept = self._keeper.of_labels({one["label"] for one in found if one["label"]})
        for one in found:
            answer = kept.get(one["label"])
            seen = answer is not None and _is_covered(answer, self._grant) and is_seen(answer.facts, analyst)
            one["question"] = answer.facts["sql"] if answer is not None and seen else None
            if not seen and (answer is not None or analyst not in (None, one["analyst"])):
                one |= {"output": None, "analyst": None, "label": "", "charges": []}
                one.pop("parts", None)
        return found

    def known(self, after: int = 0, limit: int = 100, analyst: str | None = None) -> list[dict[str, Any]]:
        """Give what was released and is kept, in order, with its bounds: asked again, it is free.

        An analyst sees the questions that were theirs, or shared; the custodian, None, sees all. Of others' it is said
        that there are some, and when: its bounds, cells and bytes would tie a guess to its line.
        """
        check_page(after, limit)
        found = []
        for answer in self._keeper.opened(after):
            if _is_covered(answer, self._grant) and not answer.kept.lasts:  # what is followed has a list of its own
                found.append(_line(answer, analyst))
                if len(found) == limit:
                    break
        return found

    def quotas(self, analyst: str | None = None) -> list[QuotaStanding]:
        """Say how the quotas stand that apply to an analyst now; those that nothing was charged to are unused."""
        declared = self._grant.quotas(self.catalogue.quota.shares, analyst)
        holders = declared.holders(self.ledger.time())
        found = []
        of_whole = self.left() if holders else []
        for holder, share in holders.items():
            spent = self.ledger.accounts(holder=holder)
            for whole in of_whole:
                account = replace(whole.account, holder=holder)
                limit = part(whole.allowance, share)
                found.append(QuotaStanding(account, NOTHING, spent.get(account, NOTHING), limit, share))
        return found

    def left(self) -> Accounts[Standing]:
        """Say how each undivided account, and each divided one that was charged, stands."""
        return left(self.catalogue, self.ledger)


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
    are_whole = type(after) is int and type(limit) is int
    if not are_whole or not 0 <= after < 2**63 or not 1 <= limit <= MOST:
        raise InputError(f"after must be at least 0 and limit 1 to {MOST}, got {after!r} and {limit!r}")


def _line(answer: KeptAnswer, analyst: str | None) -> dict[str, Any]:
    said, seen = answer.facts, is_seen(answer.facts, analyst)
    own = seen and (analyst is None or said["analyst"] == analyst)
    return {
        "number": answer.kept.number,
        "time": said["time"],
        "table": said["table"],
        "version": said["version"],
        "cells": said["cells"] if seen else None,
        "bytes": answer.kept.size if seen else None,
        "question": said["sql"] if seen else None,
        "wish": said["wish"] if seen else None,
        "analyst": said["analyst"] if own else None,
        "shared": said["shared"],
        "outputs": [_output(one) for one in {one["name"]: one for one in said["outputs"]}.values()] if seen else [],
    }


def _output(one: Mapping[str, Any]) -> dict[str, Any]:
    added = one["added"]
    bounds = {"exact": True} if added is None else {"exact": False, "low": added["low"], "high": added["high"]}
    if added is not None and (times := one.get("times")):  # a bin is farther off than what is released for its edges
        bounds |= {"low": added["low"] * times, "high": added["high"] * times}
    if one.get("part"):  # its bound is not that of what is derived from it, which has intervals
        bounds = {"exact": False, "low": None, "high": None}
    return {"name": one["name"], "unit": one["unit"], **bounds}


def _is_covered(answer: KeptAnswer, grant: Grant) -> bool:
    """Say whether a grant covers every table that an answer is from, those that were joined among them."""
    return all(grant.covers(table) for table, _, _ in answer.facts["snapshots"])


def _is_declared(account: Account, table: Table, whose: str) -> bool:
    """Say whether a table still has what an account was opened for."""
    return account.column in table.private if account.column else account.table == whose and table.owner is not None
