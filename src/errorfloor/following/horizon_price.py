"""What a standing question costs, from declarations alone: nobody knows the rows that are still to come.

What a period turns out to have is compared with what was priced, by public facts, before it is read.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np

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
from errorfloor.sql.layout import Layout
from errorfloor.sql.plan import Sum, TableColumn

MOST_GROUPS = 10_000
ERROR = 2.0**-40  # of the bound: the evaluation error that is priced; a period that has more is refused
MOST_STEPS = 2.0**41  # of a figure: five hundred of them, and their grains, are integers that are kept exactly


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
