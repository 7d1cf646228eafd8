"""The periods of a public date that a standing question is answered for, and what they cost.

What they cost follows from declarations alone: nobody knows the rows that are still to come. What a period turns out to
have is compared with what was priced, by public facts, before it is read.
"""

import datetime
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from errorfloor.accounts import PERIODS
from errorfloor.catalogue.growth import days_of
from errorfloor.catalogue.promise import owner_distance
from errorfloor.errors import InputError, RefusedError
from errorfloor.floors.adversary import counted_as
from errorfloor.preparing.joint_noise import JointAdded
from errorfloor.preparing.preparation import PlannedQuestion, ReadQuestion
from errorfloor.pricing import Account, Bounds, Charge, Noised, OutputBounds, charges
from errorfloor.pricing.bounding import RowSlopes
from errorfloor.pricing.interval import up
from errorfloor.pricing.keys import GroupKeys
from errorfloor.pricing.owners import OwnerCounts
from errorfloor.sql.plan import Sum, TableColumn
from errorfloor.sql.sums import Layout

MOST_PARTS = 500
MOST_GROUPS = 10_000
ERROR = 2.0**-40  # of the bound: the evaluation error that is priced; a period that has more is refused
MOST_STEPS = 2.0**41  # of a figure: five hundred of them, and their grains, are integers that are kept exactly


@dataclass(frozen=True)
class Horizon:
    """The periods of a public date, from the first to the last, that a standing question is answered for.

    >>> Horizon.of("day", "month", "2024-11", "2025-02").names
    ('2024-11', '2024-12', '2025-01', '2025-02')
    """

    column: str
    part: str
    days: Mapping[str, tuple[datetime.date, datetime.date]]

    @classmethod
    def of(cls, column: str, part: str, since: str, until: str) -> "Horizon":
        """Give the periods between two names; raises InputError if one is none, or there are too many."""
        if part not in PERIODS:
            raise InputError(f"part must be one of {', '.join(PERIODS)}, got {part!r}")
        days = _days(part, str(since), str(until))
        if days is None:
            raise _no_period(part, since, until)
        return cls(column, part, days)

    @classmethod
    def after(cls, column: str, part: str, last: str, until: str) -> "Horizon":
        """Give the periods that come after one, up to a later one.

        >>> Horizon.after("day", "month", "2024-11", "2025-01").names
        ('2024-12', '2025-01')
        """
        try:
            found = list(cls.of(column, part, last, until).days)
            return cls.of(column, part, found[1], until)
        except InputError:
            raise InputError(
                f"until names a later {part} than {last}, and at least the second one after it, got {str(until)[:40]!r}"
            ) from None

    @property
    def first(self) -> datetime.date:
        """The first day of it."""
        return self.days[self.names[0]][0]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the periods, in order."""
        return tuple(self.days)


@lru_cache(maxsize=2048)
def _days(part: str, since: str, until: str) -> Mapping[str, tuple[datetime.date, datetime.date]] | None:
    """Give the first and the last day of each period between two; None if these are none, or there are too many.

    >>> [len(_days("year", "0002", "0500")), _days("year", "0002", "0502"), _days("month", "2024-13", "2025-01")]
    [499, None, None]
    """
    found: dict[str, tuple[datetime.date, datetime.date]] = {}
    name = since
    try:
        _, end = days_of(part, until)
        while name != until and len(found) < MOST_PARTS - 1 and days_of(part, name)[1] < end:
            found[name] = days_of(part, name)
            name = PERIODS[part](found[name][1] + datetime.timedelta(days=1))
    except (ValueError, OverflowError):
        return None
    return MappingProxyType(found | {until: days_of(part, until)}) if found and name == until else None


def _no_period(part: str, since: str, until: str) -> InputError:
    example = PERIODS[part](datetime.date(2030, 12, 31))
    return InputError(
        f"since and until name the first and the last {part}, such as {example!r}, with 2 to {MOST_PARTS} of them in "
        f"all; got {since!r} and {until!r}"
    )


def horizon_charges(read: ReadQuestion, added: JointAdded, parts: int, rows: int) -> dict[Account, Charge]:
    """Price the horizon from declarations alone, as a question with a group for each period is priced.

    An entry is in one period and one group. An owner may have ``rows`` rows in every period, each in another group:
    what all periods tell together is that of one move, so many times as far.
    """
    from errorfloor.joint.normal import together_in_row  # loaded where it is needed: most questions do without

    table, output = read.table, read.question.outputs[0]
    column, factor = summed_column(output.formula)
    slope, off = float(up(np.array(float(factor)))), added.high * ERROR
    one = np.zeros(1, dtype=np.int64)
    moved = rows * (slope * owner_distance(table, column) + 2 * (off + added.grain)) * (1 + 2.0**-40)
    moved *= math.sqrt(together_in_row(parts))
    bound = OutputBounds(
        slopes={column: RowSlopes(np.array([slope]), one, one, (1, 1))},
        owner=np.array([moved if table.owner is not None else 0.0]),
        error=np.array([off]),
        low=np.zeros(1),
        high=np.zeros(1),
        defined=np.array([True]),
    )
    owners = None if table.owner is None else OwnerCounts(one, one, np.ones(1))
    bounds = Bounds(
        table=read.question.table,
        groups=GroupKeys((), 1),
        cells=[()],
        group=one,
        cell=one,
        kind=one,
        rows=one + 1,
        layout=Layout({}, {}, rows=1),
        outputs=(bound,),
        owners=owners,
        owners_of="" if table.owner is None else table.owner.accounts_of(read.question.table),
    )
    counted, (other, error) = counted_as(added.noise) if table.exact else None, added.beside
    rounding = added.grain * 0.5
    return charges(
        bounds,
        [
            Noised(0, np.array([added.information * (counted or 1.0)]), rounding, counted is not None, True),
            Noised(0, np.array([other]), rounding + error * math.sqrt(rows * parts), False, True),
        ],
    )


def date_of(read: ReadQuestion) -> str:
    """Give the date that a table grows by, or the only public date of its row key."""
    if read.table.grows_by is not None:
        return read.table.grows_by.column
    found = [name for name in read.table.row_key if read.table.public[name].type == "date"]
    if len(found) != 1:
        raise InputError(
            f"column names the public date that says which period a row is in; the row key of {read.question.table} "
            f"has {', '.join(found) or 'none'}"
        )
    return found[0]


def check_question(read: ReadQuestion, column: str, *, averaged: bool = False) -> None:
    """Refuse what has no price yet: all that depends on rows that are not there.

    Where an average is followed the number of rows comes along.
    """
    question, table = read.question, read.table
    day = table.public.get(column)
    wrong = None
    if table.hides_records or table.is_public:
        wrong = "a standing question is about private numbers of a table that protects values"
    elif day is None or day.type != "date" or column not in table.row_key:
        wrong = f"column must name a public date of the row key of {question.table}, got {column!r}"
    elif table.divided_by:
        wrong = (
            f"the accounts of {question.table} are divided (account_by, owner.per or owner.joined), and later parts "
            f"are not known"
        )
    elif question.joins or question.sets or question.running or question.order or question.limit is not None:
        wrong = "a standing question has one table and no totals, ORDER BY or LIMIT: running totals come by themselves"
    elif question.least > 1:
        wrong = "groups that are too small would be missing in running totals (min_group, HAVING): leave that out"
    elif len(read.private) != 1 or len(question.outputs) > 1 + averaged or question.quantiles:
        wrong = "a standing question has one output, sum(x) or avg(x) of a private column"
    elif _private_sum(question.outputs[0].formula) is None:
        wrong = (
            "the output must be sum(x), a constant times that, or avg(x): how far one row moves it must not depend on "
            "others"
        )
    if wrong is not None:
        raise RefusedError(f"{wrong}; ask the rest with ask", reason="follow")


def _private_sum(formula: Any) -> tuple[str, Fraction] | None:
    """Give the private column that is summed, and by what it is multiplied; None if it is not that."""
    if not isinstance(formula, Sum) or len(formula.of.terms) != 1:
        return None
    monomial, factor = formula.of.terms[0]
    match tuple(monomial):
        case ((TableColumn(place=0, name=name, private=True), 1),):
            return name, abs(factor)
    return None


def summed_column(formula: Any) -> tuple[str, Fraction]:
    """Give the private column that an accepted question sums, and by what it is multiplied."""
    found = _private_sum(formula)
    assert found is not None
    return found


def rows_of_owner(read: ReadQuestion, given: int | None) -> int:
    """Give how many rows of an owner are priced in each period; 1 where no owner is declared."""
    if read.table.owner is None:
        return 1
    if not isinstance(given, int) or isinstance(given, bool) or not 1 <= given <= 10**6:
        raise InputError(
            f"owner_rows is how many rows of one {read.table.owner.column} a period has at most, such as 31; later "
            f"periods are not there yet, so that it has to be said. Got {given!r}"
        )
    return given


def check_priced(planned: PlannedQuestion, name: str, rows: int, added: JointAdded) -> None:
    """Refuse a period that is not what was priced: public facts decide."""
    bounds = planned.bounds
    if len(bounds.groups) > MOST_GROUPS:
        raise RefusedError(f"{name} has more than {MOST_GROUPS:,} groups: ask for fewer", reason="cells")
    output = bounds.outputs[0]
    largest = float(np.maximum(np.abs(output.low), np.abs(output.high)).max(initial=0.0))
    error = float(output.error.max(initial=0.0))
    if error > added.high * ERROR or not largest < MOST_STEPS * added.lattice.size:
        raise RefusedError(
            f"sums of {name} may reach {largest:.2g}, which is too much for a max_error of {added.high:g}: {name} is "
            f"not released; follow with a larger max_error",
            reason="too-large",
        )
    if bounds.owners is not None:
        most = np.bincount(bounds.owners.owner, weights=bounds.owners.count).max(initial=0)
        if most > rows:
            raise RefusedError(
                f"some owner has more than {rows:,} rows in {name}, which is what was priced: {name} is not released; "
                f"register a version in which nobody has more, or follow with larger owner_rows from the start",
                reason="follow",
            )
