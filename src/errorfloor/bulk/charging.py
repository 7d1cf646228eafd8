"""What the release of a declared column costs, from public facts: every row of it is an answer of its own."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from errorfloor.bulk.answered import AnsweredColumn
from errorfloor.bulk.columns import ReleasedColumn
from errorfloor.bulk.ruled import RuledColumn
from errorfloor.catalogue import Catalogue, PrivateColumn
from errorfloor.catalogue.promise import owner_distance
from errorfloor.engines import Engine
from errorfloor.errors import InputError
from errorfloor.floors.adversary import counted_as
from errorfloor.identity import Part
from errorfloor.noise.lattice import MOST
from errorfloor.pricing import Account, Charge, bounds, cell_text
from errorfloor.pricing.joint import SLACK
from errorfloor.sql import parse
from errorfloor.vault import Snapshot

ROUNDING = 2.0**-49  # of the largest number on the way from a stored value to the lattice: eight roundings and more
FARTHEST = MOST / 4  # steps from zero: the value's own roundings then stay within the lattice's margin too


@dataclass(frozen=True)
class Exposure:
    """What is public about the rows of a private column that have a value.

    ``cells`` are the cells of the partition of accounts that hold some of them; ``most`` is how many of them the owner
    with most has, for each cell of owners' accounts, none where no owner is declared; ``reach`` by how much each
    differs at most in two histories; ``owners_of`` is what the accounts of owners are kept for, if not the table.
    """

    cells: tuple[tuple[Part, ...], ...]
    most: Mapping[str, int] = field(default_factory=dict)
    reach: float = math.inf
    owners_of: str = ""


def exposure(catalogue: Catalogue, snapshot: Snapshot, column: str, engine: Engine) -> Exposure:
    """Find it out; public columns are read, and where the private one is null if that is declared public."""
    question = parse(f'SELECT count(*) AS n FROM "{snapshot.table_name}" WHERE "{column}" IS NOT NULL', catalogue)
    found = bounds(question, catalogue, [snapshot], engine)
    most = {}
    if found.owners is not None:
        counts = found.owners.largest(found.owners.count)  # there is one group
        most = {account.cell: int(count) for account, count in zip(found.owner_accounts, counts, strict=True)}
    reach = owner_distance(catalogue.tables[snapshot.table_name], column)
    return Exposure(tuple(found.cells), most, reach, found.owners_of)


def charges(
    column: RuledColumn, declared: PrivateColumn, table: str, shown: Exposure, *, exact: bool = False
) -> dict[Account, Charge]:
    """Give what the release of a column costs each account.

    With I the information of the noise or policy, η the evaluation error, L the width of the range and n the rows of
    the owner with most of them: A = I and E = I·η² for every cell of accounts, A = n·I·(L + 2η)² for owners, or with
    the distance of two histories in place of L, if that is less.

    ``exact`` accounts count raised-cosine noise apart.

    Guarantee: each number is rounded up; see charging.proof.md.

    Raises InputError if the lattice is too fine for the range, so that rounding could break the bound.

    >>> from errorfloor.support import Interval
    >>> column = ReleasedColumn.plan("kwh", Interval(-1, 1), range=(0.0, 50.0), out_of_range="clamp", nulls="keep")
    >>> kwh = PrivateColumn(range=(0, 50), resolution=0.001, floor=0.1)
    >>> cost = charges(column, kwh, "meters", Exposure(((),), {"": 30}))
    >>> [(account.column, round(charge.information)) for account, charge in cost.items()]
    [('kwh', 10), ('', 747678)]
    """
    factor = counted_as(column.noise) if exact and isinstance(column, ReleasedColumn) else None
    information = column.information * (factor or 1.0)
    error = evaluation_error(column)

    def booked(charge: Charge) -> Charge:
        return charge if factor is None else charge.as_raised_cosine()

    entry = booked(Charge(information * SLACK, information * error**2 * SLACK))
    cost = {Account(table, column.name, cell_text(cell)): entry for cell in shown.cells}
    moved = min(float(declared.width), shown.reach) + 2 * error
    for cell, most in shown.most.items():
        if most:
            cost[Account(shown.owners_of or table, "", cell)] = booked(
                Charge(most * information * moved**2 * SLACK, 0.0)
            )
    return cost


def evaluation_error(column: RuledColumn) -> float:
    """Bound how far a released number, as computed, is off the one that its exact value would have had.

    Of a policy it is how far the value is off, and what the draws' own roundings tell, as a shift of the value; of
    noise how far value plus noise is off its exact sum. What is beyond the lattice is refused.
    """
    if isinstance(column, AnsweredColumn):
        value = float(np.abs(column.policy.nodes).max())
        apart = column.policy.laws.shape[1] * 2.0**-53 + 2.0**-50  # total variation of draws and law
        angle = math.pi * math.sqrt(apart / 2)
        return ROUNDING * value + 2 * angle / math.sqrt(column.information)
    assert isinstance(column, ReleasedColumn) and column.range is not None
    value, lattice = max(map(abs, column.range)), column.lattice
    noise = max(map(abs, (column.noise.knots[0], column.noise.knots[-1])))
    if not value + (noise if math.isfinite(noise) else 0.0) < FARTHEST * lattice.size:
        raise InputError(
            f"a step of {lattice.step} is too fine for {column.name}, whose numbers may reach {value:g}: beyond "
            f"{FARTHEST * lattice.size:g} the bound could not be kept in double precision; choose a wider step"
        )
    return ROUNDING * (value + min(noise, MOST * lattice.size))
