"""Entries: what is charged under a label, with a note of public facts."""

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from errorfloor.errors import InputError
from errorfloor.ledger.quotas import holder_words
from errorfloor.pricing.accounts import Account, Charge

JSON = None | bool | int | float | str | Sequence["JSON"] | Mapping[str, "JSON"]
HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Entry:
    """What an answer costs: its label (a SHA-256 in hexadecimal), the charges, and a note of public facts.

    ``more`` are further labels that the same charge pays for. It is free if all of its labels were paid for before; if
    only some were, the whole charge is made, for the others.

    The note says what a custodian needs to read the ledger, such as the output's name and the table's version; it must
    not hold the text of the question. Raises InputError for a label that is no hash, a charge that is negative or not
    finite, a note that is not JSON.

    >>> entry = Entry("ab" * 32, {Account("meters", "kwh", ""): Charge(0.5, 0.0)}, {"output": "avg_kwh"})
    >>> entry.note
    {'output': 'avg_kwh'}
    >>> Entry("x", {}, {})
    Traceback (most recent call last):
    errorfloor.errors.InputError: a label must be 64 hexadecimal digits, got 'x'
    """

    label: str
    charges: Mapping[Account, Charge]
    note: Mapping[str, JSON]
    more: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for label in self.labels:
            if not isinstance(label, str) or not HASH.fullmatch(label):
                raise InputError(f"a label must be 64 hexadecimal digits, got {label!r}")
        if len(set(self.labels)) < len(self.labels):
            raise InputError("an entry names a label twice")
        charges = {}
        for account, charge in self.charges.items():
            check_account(account)
            check_charge(f"the charge to {account_name(account)}", charge)
            charges[account] = Charge(float(charge.information), float(charge.evaluation))
        object.__setattr__(self, "charges", charges)
        object.__setattr__(self, "note", json.loads(canonical("note", self.note)))

    @property
    def labels(self) -> tuple[str, ...]:
        """All that the charge pays for."""
        return (self.label, *self.more)


def canonical(name: str, value: object) -> str:
    """Write a JSON object in the one way that compares and hashes.

    >>> canonical("note", {"b": 1, "a": (True, None)})
    '{"a":[true,null],"b":1}'
    """
    if not isinstance(value, Mapping):
        raise InputError(f"{name} must be a JSON object, got {type(value).__name__}")
    return json.dumps(_plain(name, value), sort_keys=True, separators=(",", ":"))


def _plain(name: str, value: object) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case float() if math.isfinite(value):
            return value
        case list() | tuple():
            return [_plain(name, item) for item in value]
        case Mapping() if all(isinstance(key, str) for key in value):
            return {key: _plain(name, item) for key, item in value.items()}
        case _:
            raise InputError(
                f"{name} must be JSON (texts, finite numbers, truth values, lists, objects with names that are texts), "
                f"got {value!r}"
            )


def account_name(account: Account) -> str:
    """Name an account in words.

    >>> account_name(Account("meters", "kwh", '["standard"]')), account_name(Account("meters", "", ""))
    ('meters.kwh for ["standard"]', 'the owners of meters')
    >>> account_name(Account("meters", "kwh", "", '["analyst_month", "ada", "2026-11"]'))
    'the quota of analyst ada in month 2026-11 of meters.kwh'
    """
    name = f"{account.table}.{account.column}" if account.column else f"the owners of {account.table}"
    name = f"{name} for {account.cell}" if account.cell else name
    return f"the quota of {holder_words(account.holder)} of {name}" if account.holder else name


def account_to_json(account: Account) -> dict[str, str]:
    """Give the texts that make an account, without those that are empty.

    >>> account_to_json(Account("meters", "kwh", ""))
    {'table': 'meters', 'column': 'kwh'}
    """
    parts = {"table": account.table, "column": account.column, "cell": account.cell, "holder": account.holder}
    return {name: text for name, text in parts.items() if text}


def account_from_json(plain: Mapping[str, str]) -> Account:
    """Read what ``account_to_json`` gave; raises TypeError or InputError if it is not that."""
    account = Account(**{"column": "", "cell": "", **plain})
    check_account(account)
    return account


def account_key(account: Account) -> str:
    """Give the digest that an account is found by, however long its cell is."""
    return hashlib.sha256(canonical("account", account_to_json(account)).encode()).hexdigest()


def check_account(account: Account) -> None:
    """Refuse an account whose names a database cannot hold as they are."""
    for text in (account.table, account.column, account.cell, account.holder):
        if not isinstance(text, str) or "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
            raise InputError(f"the table, column, cell and holder of an account must be plain texts, got {text!r}")
    if not account.table:
        raise InputError("an account must name its table, got ''")


def check_charge(name: str, charge: Charge) -> None:
    """Refuse a charge or an allowance that is negative, not a number or without end."""
    for what, value in (("information", charge.information), ("evaluation", charge.evaluation)):
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise InputError(f"{name} must be finite and not negative, got {what} {value!r}")
