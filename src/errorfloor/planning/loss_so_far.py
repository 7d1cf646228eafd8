"""(ε, δ) of everything that a ledger has charged to an account so far, and of all that it may charge, beside its floor.

*Guarantee*: the ε of charges so far holds if the questions had been fixed in advance, as all figures at the amount
spent do. The ε of the whole allowance holds whatever is asked, also where questions follow from answers: the allowance
is fixed beforehand, and limits what is cut and every moment; ``floors/privacy_loss.proof.md``, parts 3, 4 and 6.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from errorfloor.accounts import Account, Charge
from errorfloor.catalogue import Catalogue
from errorfloor.catalogue.allowance import allowed
from errorfloor.charging.standing import concerned
from errorfloor.errors import InputError
from errorfloor.floors.privacy_loss import epsilon_of
from errorfloor.floors.tapered import DeclaredLoss
from errorfloor.floors.two_point import angle
from errorfloor.ledger import Ledger
from errorfloor.ledger.entry import account_name
from errorfloor.ledger.joining import JOINED

LEAST = 1e-6  # δ: far above what samplers may be off
SAMPLED = 2.0**-30  # in total variation, for all that one record pays for: a thousand times what one answer may be off
ALL_SAMPLED = 2.0**-19  # the same for all that an allowance can pay for: each output takes a millionth of it at least
SPARE = 1e-3  # of δ, for that
PARTS = (1.0, 0.5, 0.25, 0.125)  # of δ, for each of which an ε is looked for


@dataclass(frozen=True)
class LossSoFar:
    """What ``records`` charges to an account state together: two values ``distance`` apart, or two histories (None).

    ``allowed`` is the ε of the whole allowance, whatever is asked.
    """

    account: Account
    records: int
    delta: float
    distance: float | None
    unit: str
    epsilon: float
    allowed: float

    def explain(self) -> str:
        """Say it in a sentence."""
        apart = f"two values {self.distance:g} {self.unit}".rstrip() + " apart" if self.distance else "two histories"
        about = f"{account_name(self.account)}, {self.records:,} charge{'s' if self.records != 1 else ''}"
        return (
            f"{about}: if the questions so far had been fixed in advance, {self._of(apart, self.epsilon)} Whatever is "
            f"asked within the whole allowance, {self._of(apart, self.allowed)}"
        )

    def _of(self, apart: str, epsilon: float) -> str:
        if math.isinf(epsilon):
            nearer = ", or for a smaller distance" if self.distance else ""
            return (
                f"no ε can be stated for {apart} at δ = {self.delta:g}, since answers may decide for certain more "
                f"often: ask for a larger δ{nearer}."
            )
        return f"{apart} are (ε = {math.ceil(epsilon * 1000) / 1000:g}, δ = {self.delta:g})-indistinguishable."

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain JSON types; an ε that cannot be stated is None."""
        return {
            "table": self.account.table,
            "column": self.account.column or None,
            "cell": self.account.cell or None,
            "records": self.records,
            "delta": self.delta,
            "distance": self.distance,
            "epsilon": self.epsilon if math.isfinite(self.epsilon) else None,
            "allowed": self.allowed if math.isfinite(self.allowed) else None,
        }


def losses_so_far(
    catalogue: Catalogue, ledger: Ledger, table: str, *, delta: float, column: str = "", distance: float | None = None
) -> list[LossSoFar]:
    """Give it for each account of a private column that was charged, or of the table's owners without one.

    Raises InputError if there is no such account, ``delta`` is not in its range, or a column comes without a distance.
    """
    declared = catalogue.tables.get(table)
    if declared is None or (column not in declared.private if column else declared.owner is None):
        known = {name: [*one.private, *([""] if one.owner else [])] for name, one in catalogue.tables.items()}
        listed = ", ".join(f"{name}.{one}" if one else f"owners of {name}" for name in known for one in known[name])
        raise InputError(f"there is no account {table}.{column or 'owners'}: the catalogue declares {listed or 'none'}")
    if not LEAST <= delta < 1:
        raise InputError(f"delta must be at least {LEAST:g} and below 1, got {delta!r}")
    if bool(column) != (distance is not None) or not (distance is None or 0 < distance < math.inf):
        raise InputError(
            f"a distance is how far apart two values of a column are, a positive number, and owners have none; got "
            f"{distance!r} for {column or 'owners'!r}"
        )
    charged: dict[Account, list[Charge]] = {}
    whose = table if column or declared.owner is None else declared.owner.accounts_of(table)
    joined = ledger.joined(declared.owner.register) if whose != table and declared.owner is not None else set()
    names = {whose, *joined}
    for record in ledger.entries():
        if record.note.get("event") == JOINED:  # a sum of charges, each of which is counted
            continue
        for account, total in record.charges.items():
            if account.table in names and (account.column, account.holder) == (column, ""):
                charged.setdefault(replace(account, table=whose), []).append(total.rounded_up())
    unit = declared.private[column].unit or "" if column else ""
    apart = distance or 1.0
    stated = None if column or declared.owner is None else declared.owner.stated
    if stated is not None:
        most = allowed(declared, "").raised_cosine
        whole = stated.epsilon_at(most, 1.0, delta)
        return [_normal(stated, account, found, most, delta, whole) for account, found in sorted(charged.items())]
    limits = {account: allowed(concerned(declared, account), column) for account in charged}
    by_limit = {limit: _epsilon([limit], apart, delta, ALL_SAMPLED) for limit in set(limits.values())}
    return [
        LossSoFar(
            account,
            len(found),
            delta,
            distance,
            unit,
            _epsilon(found, apart, delta, len(found) * SAMPLED),
            by_limit[limits[account]],
        )
        for account, found in sorted(charged.items())
    ]


def _normal(
    stated: DeclaredLoss, account: Account, charged: Sequence[Charge], most: float, delta: float, whole: float
) -> LossSoFar:
    """Give it where all answers are normal and cut off, which is more exact."""
    spent = math.fsum(one.raised_cosine for one in charged) * (1 + 1e-12)
    return LossSoFar(account, len(charged), delta, None, "", stated.epsilon_at(spent, spent / most, delta), whole)


def _epsilon(charged: Sequence[Charge], distance: float, delta: float, sampled: float) -> float:
    """Give ε for charges, each of one answer or of several; ``sampled`` is what samplers may be off in all."""
    cosines = [2 * angle(distance, one.raised_cosine, one.evaluation) for one in charged if one.raised_cosine]
    others = [one for one in charged if one.information]
    lost = 0.0
    if others:  # all that noises of any law may tell apart is given up
        sums = (math.fsum(one.information for one in others), math.fsum(one.evaluation for one in charged))
        lost = math.sin(min(float(angle(distance, *sums)), math.pi / 2))
    squares = np.square(np.array(cosines, dtype=float))
    left = delta * (1 - SPARE) - lost
    found = min(  # what holds for a smaller δ holds for this one, and may be found more easily
        epsilon_of(left * part, squares, np.ones(len(squares)), split=True).epsilon for part in PARTS
    )
    return found if (1 + math.exp(min(found, 700))) * sampled <= SPARE * delta else math.inf
