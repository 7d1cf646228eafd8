"""The book of a ledger, in tables: every read and write of a charge goes by a key, whatever the history."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, final

from errorfloor.accounts import Account
from errorfloor.errors import InputError, LedgerError
from errorfloor.ledger.connections import LedgerConnection, marks, paged
from errorfloor.ledger.entry import (
    EMPTY,
    FORMAT,
    Head,
    Record,
    Tail,
    account_from_json,
    account_key,
    account_name,
    account_to_json,
    canonical,
    charges_to_json,
)
from errorfloor.ledger.total import Total

CHUNK = 500  # keys in one statement
ENTRY = "sequence, time, labels, charges, note, terms, previous, hash"
KNOWN = "SELECT label FROM @labels WHERE label"
FOUND = f"""SELECT label, {ENTRY} FROM @entries JOIN (SELECT label, sequence AS paid_by FROM @labels) AS paid
    ON sequence = paid_by WHERE label"""
ACCOUNTS = "SELECT key, coordinate, account, amount FROM @accounts"
TERMS = "SELECT name, terms FROM @terms"


@final
class Book:
    """Everything that is written down, as one transaction sees it. Terms are canonical JSON texts by name."""

    def __init__(self, connection: LedgerConnection) -> None:
        self.connection = connection
        self._tail: Tail | None = None
        self._there: dict[str, set[str]] = {}  # of which coordinates an account has rows, if it was looked for

    def tail(self) -> Tail:
        """Where the ledger stands, and the time of its last record."""
        if self._tail is None:
            last = self.connection.run("SELECT sequence, hash, time FROM @entries ORDER BY sequence DESC LIMIT 1")
            self._tail = Tail(Head(last[0]["sequence"], last[0]["hash"]), last[0]["time"]) if last else Tail()
        return self._tail

    def hash_at(self, sequence: int) -> str | None:
        """The hash of one record; None if there is no such record."""
        found = self.connection.run("SELECT hash FROM @entries WHERE sequence = ?", sequence)
        if found:
            return str(found[0]["hash"])
        return self.start().hash if sequence == self.start().sequence else None

    def start(self) -> Head:
        """Where the ledger stood before its first record: nowhere, or at the end of an older one."""
        first = self.connection.run("SELECT sequence, previous FROM @entries ORDER BY sequence LIMIT 1")
        return Head(first[0]["sequence"] - 1, first[0]["previous"]) if first else EMPTY

    def known(self, labels: Collection[str]) -> set[str]:
        """Those labels that are charged already."""
        return {row["label"] for row in self._rows(KNOWN, labels)}

    def labels(self) -> Iterator[tuple[str, int]]:
        """Every label that is charged, with the number of the record that pays for it."""
        page = "SELECT label, sequence FROM @labels WHERE label > ? ORDER BY label LIMIT ?"
        rows = paged(partial(self.connection.run, page), "", None, CHUNK, lambda row: row["label"])
        return ((row["label"], row["sequence"]) for row in rows)

    def found(self, labels: Collection[str]) -> dict[str, Record]:
        """The records with those labels; a label that was never charged is left out."""
        return {row["label"]: _record(row) for row in self._rows(FOUND, labels)}

    def totals(
        self, accounts: Collection[Account] | None = None, *, of: str | None = None, holder: str | None = None
    ) -> dict[Account, Total]:
        """The totals of accounts, or of all those of a table and a holder; one that was never charged is left out."""
        if accounts is None:
            asked = {"table_name": of, "holder": holder}
            given = {name: value for name, value in asked.items() if value is not None}
            where = " AND ".join(f"{name} = ?" for name in given) or "1 = 1"
            rows = self.connection.run(f"{ACCOUNTS} WHERE {where}", *given.values())
        else:
            keys = [account_key(account) for account in accounts]
            rows = list(self._rows(f"{ACCOUNTS} WHERE key", keys))
            self._there |= {key: set() for key in keys}
            for row in rows:
                self._there[row["key"]].add(row["coordinate"])
        amounts: dict[str, dict[str, str]] = {}
        for row in rows:
            amounts.setdefault(row["account"], {})[row["coordinate"]] = row["amount"]
        return {_account(account): _total(account, found) for account, found in amounts.items()}

    def terms(self, names: Collection[str] | None = None, *, prefix: str = "") -> dict[str, str]:
        """The terms of those names, or all whose names begin alike; those that were never fixed are left out."""
        if names is None:
            rows = self.connection.run(f"{TERMS} WHERE substr(name, 1, ?) = ?", len(prefix), prefix)
        else:
            rows = list(self._rows(f"{TERMS} WHERE name", names))
        return {row["name"]: row["terms"] for row in rows}

    def records(self, after: int = 0, limit: int | None = None) -> Iterator[Record]:
        """The records after one number, in order, at most ``limit`` of them."""
        page = f"SELECT {ENTRY} FROM @entries WHERE sequence > ? ORDER BY sequence LIMIT ?"
        rows = paged(partial(self.connection.run, page), after, limit, CHUNK, lambda row: row["sequence"])
        return map(_record, rows)

    def append(self, records: Sequence[Record], totals: Mapping[Account, Total], terms: Mapping[str, str]) -> None:
        """Write records, the new totals of the accounts that they charge, and the terms that they fix."""
        if records:
            self.connection.insert("entries", map(_row, records))
            paid = ({"label": label, "sequence": record.sequence} for record in records for label in record.labels)
            self.connection.insert("labels", paid)
            self._tail = Tail(records[-1].head, records[-1].time)
        self.connection.run_all("DELETE FROM @terms WHERE name = ?", [(name,) for name in terms])
        self.connection.insert("terms", ({"name": name, "terms": text} for name, text in terms.items()))
        keys = {account_key(account): account for account in totals}
        self.totals([account for key, account in keys.items() if key not in self._there])
        new, old = [], []
        for key, account in keys.items():
            for coordinate, amount in totals[account].to_json().items():
                if coordinate in self._there[key]:
                    old.append((amount, key, coordinate))
                else:
                    new.append({**_place(key, account), "coordinate": coordinate, "amount": amount})
                    self._there[key].add(coordinate)
        self.connection.insert("accounts", new)
        self.connection.run_all("UPDATE @accounts SET amount = ? WHERE key = ? AND coordinate = ?", old)

    def _rows(self, lookup: str, wanted: Collection[str]) -> Iterator[dict[str, Any]]:
        """Give the rows with those keys, a chunk of keys at a time."""
        keys = list(wanted)
        for start in range(0, len(keys), CHUNK):
            chunk = keys[start : start + CHUNK]
            yield from self.connection.run(f"{lookup} IN ({marks(len(chunk))})", *chunk)


def _row(record: Record) -> dict[str, Any]:
    return {
        "sequence": record.sequence,
        "time": record.time,
        "labels": json.dumps(record.labels),
        "charges": json.dumps(charges_to_json(record.charges)),
        "note": canonical("note", record.note),
        "terms": canonical("terms", record.terms),
        "previous": record.previous,
        "hash": record.hash,
    }


def _record(row: dict[str, Any]) -> Record:
    plain = row | {"format": FORMAT}
    try:
        plain |= {name: json.loads(plain[name]) for name in ("labels", "charges", "note", "terms")}
    except ValueError:
        raise LedgerError(f"record {row['sequence']} is damaged: restore the ledger from its newest export") from None
    return Record.from_json(plain)


def _place(key: str, account: Account) -> dict[str, str]:
    return {
        "key": key,
        "table_name": account.table,
        "holder": account.holder,
        "account": canonical("account", account_to_json(account)),
    }


def _account(text: str) -> Account:
    try:
        return account_from_json(json.loads(text))
    except (ValueError, TypeError, InputError):
        raise LedgerError("the name of an account is damaged: restore the ledger from its newest export") from None


def _total(account: str, amounts: Mapping[str, str]) -> Total:
    try:
        return Total.from_json(amounts)
    except (ValueError, ZeroDivisionError):
        raise LedgerError(
            f"what is kept as spent of {account_name(_account(account))} is not a number: restore the ledger from its "
            f"newest export"
        ) from None
