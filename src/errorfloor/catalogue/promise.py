"""What is promised whatever is asked: the figures at the allowance, which is fixed before the first question."""

import json
import math
from fractions import Fraction
from functools import lru_cache

from errorfloor.accounts import Charge
from errorfloor.catalogue.allowance import Protected, allowance, allowed, exact_allowance
from errorfloor.catalogue.columns import PrivateColumn
from errorfloor.catalogue.model import Period
from errorfloor.floors.prior import LatticeNormal, ziv_zakai_under
from errorfloor.floors.two_point import told_apart
from errorfloor.floors.words import Promise

TIES = Fraction(1, 256)  # of a step: more than doubles can be off by before they are rounded to steps


def believed(column: PrivateColumn) -> LatticeNormal | None:
    """Give what everybody may be assumed to believe about an entry in advance; None if nothing is declared.

    >>> prior = {"mean": 10, "deviation": 0.25}
    >>> law = believed(PrivateColumn(range=(0, 50), resolution=1, floor=2.0, prior=prior))
    >>> law.count, round(law.spread, 3)
    (51, 0.026)
    """
    if column.prior is None:
        return None
    first, last = column.steps
    return LatticeNormal(
        mean=column.prior.mean,
        deviation=column.prior.deviation,
        low=float(column.low),
        spacing=float(column.resolution),
        count=last - first + 1,
    )


def promise(table: Protected, column: str) -> Promise:
    """Give what is promised of the entries of a private column of a table or, for "", of its owners.

    Two values of an entry are two histories of its owner, so that the owner's figure bounds the entry's, too, unless
    the owner's is about histories that are nearer than these values.

    >>> from errorfloor.catalogue import Table
    >>> kwh = {"range": [0, 50], "resolution": 0.001, "floor": 2.0, "unit": "kWh"}
    >>> owned = {"owner": {"column": "home", "floor": 0.2}, "public": {"id": "whole", "home": "whole"}}
    >>> table = Table(source="-", version="1", row_key=["id"], private={"kwh": kwh}, **owned)
    >>> promise(table, "").times, promise(table, "kwh").times, promise(table, "kwh").least
    ('80', '80', '2')
    """
    told = 1.0 if table.owner is None else float(told_apart(1.0, **allowed(table, "").amounts()))
    if not column:
        stated = None if table.owner is None else table.owner.stated
        if stated is None:
            return Promise(told)
        return Promise(stated.told(told, 1.0), epsilon=stated.epsilon_at(allowed(table, "").raised_cosine, 1.0))
    found = entry_promise(table.private[column], exact=table.exact)
    if table.owner is not None and stored_distance(table.private[column]) > owner_distance(table, column):
        return found
    return Promise(min(found.told_apart, told), found.floor, found.against_prior)


def entry_promise(column: PrivateColumn, *, exact: bool = False) -> Promise:
    """Give what is promised of an entry by its own allowance; ``exact`` if raised-cosine answers are counted apart.

    >>> found = entry_promise(PrivateColumn(range=(0, 50), resolution=0.001, floor=2.0))
    >>> found.times, found.least
    ('86.6', '2')
    """
    limits = Charge(*(exact_allowance(column) if exact else allowance(column))).amounts()
    law = believed(column)
    return Promise(
        told_apart=float(told_apart(stored_distance(column), **limits)),
        floor=column.floor,
        against_prior=None if law is None else math.sqrt(ziv_zakai_under(law, **limits)),
    )


def stored_distance(column: PrivateColumn) -> float:
    """Give how far apart two values can be stored that are as far apart as the example in words.

    Values h apart on the two sides of rounding ties are stored up to ⌊h/s⌋ + 1 steps of s apart, though never wider
    than the range; `vault/fixed_point.proof.md`, part 6.

    >>> stored_distance(PrivateColumn(range=(0, 50), resolution="0.01", floor=2.0, distance=0.01))
    0.02
    """
    lowest, highest = column.steps
    return _stored_distance(column.example, column.resolution, highest - lowest)


def owner_distance(table: Protected, column: str) -> float:
    """Give how far apart a number of a private column can be stored in two histories of an owner.

    >>> from errorfloor.catalogue import Table
    >>> kwh = {"range": [0, 50], "resolution": 0.001, "floor": 2.0, "unit": "kWh"}
    >>> owned = {"owner": {"column": "home", "floor": 0.2, "apart": {"kwh": 5}}, "public": {"home": "whole"}}
    >>> table = Table(source="-", version="1", row_key=["home"], private={"kwh": kwh}, **owned)
    >>> owner_distance(table, "kwh"), histories(table)
    (5.001, 'two histories of one home that differ by at most 5 kWh in each kwh')
    """
    declared = table.private[column]
    lowest, highest = declared.steps
    apart = {} if table.owner is None else table.owner.apart
    return _stored_distance(apart.get(column, declared.width), declared.resolution, highest - lowest)


def histories(table: Protected, cell: str = "") -> str:
    """Say which two histories of an owner are hard to tell apart, in one ``cell`` of its accounts or in any.

    >>> from errorfloor.catalogue import Table
    >>> owner = {"column": "home", "floor": 0.2, "per": {"column": "day", "period": "month"}}
    >>> kwh = {"range": [0, 50], "resolution": 0.001, "floor": 2.0}
    >>> public = {"home": "whole", "day": "date"}
    >>> table = Table(source="-", version="1", row_key=["home"], private={"kwh": kwh}, public=public, owner=owner)
    >>> histories(table)
    'two histories of one home that differ within one month only'
    >>> histories(table, '["2013-07"]')
    'two histories of one home that differ within the month 2013-07 only'
    >>> joined = {"column": "home", "floor": 0.2, "joined": {"column": "day", "period": "year"}}
    >>> table = Table(source="-", version="1", row_key=["home"], private={"kwh": kwh}, public=public, owner=joined)
    >>> histories(table, '["2013"]')
    'two histories of one home (day in the year 2013)'
    """
    owner = table.owner
    assert owner is not None
    if owner.is_hidden:
        where = "" if owner.register is None else f" in all tables of the register {owner.register}"
        return f"the presence and the absence of one {owner.noun}{where}, or two contents of it,"
    limits = []
    for column, distance in owner.apart.items():
        unit = table.private[column].unit
        limits.append(f"{float(distance):g}{f' {unit}' if unit else ''} in each {column}")
    differ = [f"by at most {' and '.join(limits)}"] if limits else []
    if owner.per is not None:
        differ.append(f"within {_period(owner.per, cell)} only")
    near = f" that differ {' and '.join(differ)}" if differ else ""
    where = "" if owner.register is None else f" in all tables of the register {owner.register}"
    when = "" if owner.joined is None or not cell else f" ({_joined(owner.joined, cell)})"
    return f"two histories of one {owner.column}{when}{where}{near}"


def _period(per: Period, cell: str) -> str:
    if not cell:
        return f"one {per.name}"
    (value,) = json.loads(cell)
    return f"the rows without {per.column}" if value is None else f"the {per.name} {value}"


def _joined(joined: Period, cell: str) -> str:
    (value,) = json.loads(cell)
    if value is None:
        return f"without {joined.column}"
    return f"{joined.column} in the {joined.period} {value}" if joined.period else f"{joined.column} {value}"


@lru_cache(maxsize=1024)  # exact arithmetic, the same for every cell of every answer
def _stored_distance(example: float | Fraction, resolution: Fraction, most: int) -> float:
    exact = min(math.floor(Fraction(example) / resolution + TIES) + 1, most) * resolution
    nearest = float(exact)
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)
