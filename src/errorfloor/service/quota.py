"""How a quota stands: which share of an allowance one analyst, one period, or one analyst in one period has used."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from errorfloor.ledger import Entry, Quotas, Settlement
from errorfloor.ledger.entry import account_name
from errorfloor.ledger.quotas import holder_parts
from errorfloor.pricing import Account, Charge
from errorfloor.service.standing import asked, percent, share


@dataclass(frozen=True)
class QuotaStanding:
    """A quota before and after a charge; ``part`` is its declared share of the allowance.

    >>> from errorfloor.service.example import example_database
    >>> with example_database(quota={"analyst": 0.25}) as db:
    ...     answer = db.ask("SELECT avg(kwh) FROM meters", spend=0.05, analyst="ada")
    ...     [quota.name for quota in db.quotas("ada")], [0.19 < quota.used <= 0.2 for quota in answer.quotas]
    (['the quota of analyst ada of meters.kwh'], [True])
    """

    account: Account
    part: float
    charge: Charge
    spent: Charge
    allowance: Charge

    @property
    def name(self) -> str:
        """The quota in words."""
        return account_name(self.account)

    @property
    def used(self) -> float:
        """The share of the quota that is used, this charge included."""
        return share(self.spent, self.allowance)

    @property
    def used_by_this(self) -> float:
        """The share of the quota that this charge takes."""
        return share(self.charge, self.allowance)

    def explain(self) -> str:
        """Say it in a sentence."""
        return (
            f"Used of {self.name} ({percent(self.part)} of the allowance): {percent(self.used)} in all, "
            f"{percent(self.used_by_this)} by this answer."
        )

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain JSON types."""
        kind, whose, period = holder_parts(self.account.holder)
        return {
            "kind": kind,
            "analyst": whose if kind.startswith("analyst") else None,
            "token": whose if kind.startswith("token") else None,
            "period": period,
            "table": self.account.table,
            "column": self.account.column or None,
            "cell": self.account.cell or None,
            "share": self.part,
            "charge": [self.charge.information, self.charge.evaluation],
            "spent": [self.spent.information, self.spent.evaluation],
            "allowance": [self.allowance.information, self.allowance.evaluation],
            "used": self.used,
            "used_by_this": self.used_by_this,
        }


def quota_standings(
    quotas: Quotas,
    entries: Sequence[Entry],
    allowances: Mapping[Account, Charge],
    settled: Settlement,
    *,
    charged: bool,
) -> tuple[QuotaStanding, ...]:
    """Say how the quotas of some entries stand once they are charged; ``charged`` says whether that has happened."""
    limits = quotas.limits(allowances, settled.time)
    found = []
    for holder, part in quotas.holders(settled.time).items():
        for account, charge in sorted(asked(entries, settled.fresh).items()):
            one = replace(account, holder=holder)
            spent = settled.spent[one] if charged else settled.spent[one] + charge
            found.append(QuotaStanding(one, part, charge, spent, limits[one]))
    return tuple(found)
