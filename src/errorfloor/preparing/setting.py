"""Which group sets a price, and what the price would be without the small ones; from public facts alone."""

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from errorfloor.accounts import Account, percent, share
from errorfloor.checks import Array
from errorfloor.preparing.preparation import Prepared
from errorfloor.pricing.joint import dearest

FEW_ROWS = 0.1  # of all rows: what groups may hold that a price is also given without


@dataclass(frozen=True)
class Setting:
    """The group that sets the price of a question, among how many, and its price without the groups under ``least``.

    >>> from errorfloor.service.example import example_database
    >>> with example_database() as db:
    ...     price = db.price("SELECT tariff, avg(kwh) FROM meters GROUP BY tariff", max_error=0.5)
    >>> price.setting.keys, price.setting.rows, price.setting.groups
    ({'tariff': 'ToU'}, 250, 2)
    """

    keys: Mapping[str, Any]
    rows: int
    groups: int
    least: int | None = None
    left: int = 0
    used_by_left: float = 0.0

    def explain(self) -> str:
        """Say it in a sentence."""
        which = ", ".join(f"{name} = {value}" for name, value in self.keys.items())
        said = f"Of {self.groups:,} groups, the one with {which} ({self.rows:,} rows) sets the price"
        if self.least is None:
            return f"{said}."
        return (
            f"{said}; without the {self.groups - self.left:,} of fewer than {self.least:,} rows (HAVING count(*) >= "
            f"{self.least}) the answer would take {percent(self.used_by_left)} of the allowance."
        )

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain JSON types."""
        without = {"least": self.least, "groups": self.left, "used_by_this": self.used_by_left}
        return {
            "keys": dict(self.keys),
            "rows": self.rows,
            "groups": self.groups,
            "without": None if self.least is None else without,
        }


def setting(prepared: Prepared) -> Setting | None:
    """Give the group that moves the scarcest account most.

    None if there is one group, or nothing is charged, or bounds follow a share, or what was released is given again.
    """
    if prepared.recorded is not None or prepared.table.hides_records:
        return None
    account, taken = _scarcest(prepared, 1)
    bounds = prepared.bounds
    if account is None or len(bounds.groups) < 2 or prepared.spend is not None:
        return None
    kind = dearest(bounds, prepared.noised(prepared.charged), account)
    place = int(np.argmax(bounds.kind == kind))
    columns = zip(prepared.question.keys, bounds.groups.columns, strict=True)
    shown = {key.name: column.taken(place).shown[0].as_py() for key, column in columns}
    keys = {name: one.isoformat() if isinstance(one, datetime.date) else one for name, one in shown.items()}
    found = Setting(keys, int(bounds.rows[kind]), len(bounds.groups))
    summed = prepared.question.sets or prepared.question.running  # of which no group may be missing
    least = None if summed else _without_few(bounds.rows, bounds.kind)
    if least is None:
        return found
    used = _scarcest(prepared, least)[1]
    left = int((bounds.rows[bounds.kind] >= least).sum())
    return Setting(keys, found.rows, found.groups, least, left, used) if used < taken else found


def least_that_fits(prepared: Prepared, share_left: float) -> tuple[int, float] | None:
    """Give a round number of rows such that the groups with as many can be afforded, and what they would take."""
    rows = prepared.bounds.rows
    for least in _round_numbers(int(rows.max(initial=0))):
        if least > rows.min(initial=least):
            _, used = _scarcest(prepared, least)
            if used <= share_left:
                return least, used
    return None


def _without_few(rows: Array, kind: Array) -> int | None:
    """Give the largest round number such that groups with fewer rows hold at most a tenth of them; None if none do."""
    held = rows * np.bincount(kind, minlength=len(rows))
    found = None
    for least in _round_numbers(int(rows.max(initial=0))):
        small = held[rows < least].sum()
        if small > FEW_ROWS * held.sum():
            break
        found = least if small > 0 else found
    return found


def _round_numbers(most: int) -> Iterator[int]:
    """Give 2, 5, 10, 20, 50 and so on, up to ``most``."""
    number, factor = 2, 0
    while number <= most:
        yield number
        factor += 1
        number = (2, 5, 10)[factor % 3] * 10 ** (factor // 3)


def _scarcest(prepared: Prepared, least: int) -> tuple[Account | None, float]:
    """Give the account that a question takes most of, if groups under ``least`` rows are left out; and how much."""
    total = prepared.charges_of(prepared.charged, least) if least > 1 else prepared.charges
    shares = {account: share(charge, prepared.plan.allowances[account]) for account, charge in total.items()}
    worst = max(shares, key=shares.__getitem__, default=None)
    return worst, 0.0 if worst is None else shares[worst]
