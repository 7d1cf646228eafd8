"""Which group sets a price, what the price would be without the small ones, and what an answer costs to compute.

All from public facts: of cost, rows, sums, cells and steps; never from a private number.
"""

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from errorfloor.accounts import Account, percent, share
from errorfloor.checks import Array
from errorfloor.preparing.preparation import Prepared
from errorfloor.pricing.joint import dearest
from errorfloor.sql.plan import Apply, Call, Different
from errorfloor.sql.question import walk
from errorfloor.sql.records import domain_rows

FEW_ROWS = 0.1  # of all rows: what groups may hold that a price is also given without
START = 0.02  # seconds, for what every answer needs
PER_ROW = {"duckdb": 2e-8, "postgresql": 4e-7, "spark": 4e-7}  # seconds for each sum over a row, generously
STARTING: Mapping[str, float] = {"spark": 2.0}  # what an engine needs for any question
PER_LOOKUP = 1e-7  # seconds for each row that is looked up in a joined table, or what a sum over it takes, if longer
PER_CALL = 2e-7  # seconds for each function of a row
PER_DIFFERENT = 1e-6  # seconds for each value that is looked for among those before, if no two are the same
PER_PART = 1e-3  # seconds for each part of a table that is read
PER_CELL = 2e-6  # seconds for each number of an answer
PER_STEP = 4e-7  # seconds for each node of a formula on a cell
PER_NODE = 1e-4  # seconds for each node of a formula, however few cells there are
PER_NOISE = 2e-6, 1.5e-8  # seconds for each noise of a standing question, and for each period before it
PER_PERIOD = 2e-4  # seconds for each period that is drawn, however few groups there are
PER_FUNCTION = {"exp": 2e-3, "ln": 2.5e-3, "tanh": 2.5e-3}  # the same where a node is a series of many terms


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


def drawing_cost(groups: int, periods: int) -> float:
    """Bound the seconds that drawing the joint noise of periods takes, which are drawn together for each group.

    >>> drawing_cost(0, 487), 20 < drawing_cost(9000, 487) < 60
    (0.0, True)
    """
    one, before = PER_NOISE
    return periods * (PER_PERIOD + groups * (one + before * periods)) if groups else 0.0


def public_cost(prepared: Prepared) -> float:
    """Bound the seconds between a charge and its answer on a machine of our time that does nothing else.

    It grows with the rows of the snapshots times the sums that are asked for, with the cells times the steps of
    their formulas, and with the steps themselves: an operation on an array of one cell takes its time, too.
    Whoever limits the time of answers compares this with the limit before anything is charged.

    >>> from errorfloor.service.example import example_database
    >>> with example_database() as db:
    ...     small, large = (public_cost(db.price(f"SELECT {what} FROM meters", max_error=50).prepared)
    ...                     for what in ("avg(kwh)", "avg(kwh), sum(kwh), var_pop(kwh)"))
    >>> 0 < small < large < 1
    True
    """
    first, *joined = prepared.plan.snapshots
    rows = first.rows + prepared.pieces * sum(one.rows for one in joined) if prepared.looked_up else 0
    if rows and prepared.table.hides_records:
        rows += domain_rows(prepared.question, prepared.table)
    cells = len(prepared.bounds.groups)
    nodes = {node for one in prepared.looked_up for node in walk(one.output.formula)}  # each is computed once
    calls = sum(isinstance(node, Call) for node in nodes)
    different = sum(isinstance(atom, Different) for monomial, _ in prepared.sums for atom, _ in monomial)
    each = PER_ROW.get(prepared.engine, max(PER_ROW.values()))
    scanning = rows * (
        (1 + len(prepared.sums)) * each
        + len(joined) * max(PER_LOOKUP, each)
        + calls * PER_CALL
        + different * PER_DIFFERENT
    )
    computing = cells * (PER_CELL * (1 + len(prepared.outputs)) + PER_STEP * len(nodes))
    starting = sum(PER_FUNCTION.get(node.function, PER_NODE) if isinstance(node, Apply) else PER_NODE for node in nodes)
    opening = len(first.parts) * PER_PART
    return prepared.pieces * (START + starting) + STARTING.get(prepared.engine, 0.0) + opening + scanning + computing
