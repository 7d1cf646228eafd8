"""How much of the allowance one question may take, so that no slip of the pen uses up years of answers."""

from collections.abc import Mapping, Sequence

from errorfloor.errors import AllowanceError
from errorfloor.ledger import Entry
from errorfloor.pricing import Account, Charge
from errorfloor.service.answer import Price
from errorfloor.service.standing import asked, percent, share


def takes_more(entries: Sequence[Entry], allowances: Mapping[Account, Charge], limit: float) -> bool:
    """Say whether some entries would take more than this share of an allowance if all of them were charged now.

    >>> account = Account("meters", "kwh", "")
    >>> takes_more([Entry("a" * 64, {account: Charge(2.0, 0.0)}, {})], {account: Charge(10.0, 1.0)}, 0.1)
    True
    """
    charged = asked(entries, [True] * len(entries))
    return any(share(charge, allowances[account]) > limit for account, charge in charged.items())


def check_share(price: Price, limit: float) -> None:
    """Refuse a charge that takes more than this share of an allowance; one that cannot be afforded has other advice."""
    worst = max(price.standings, key=lambda one: one.used_by_this, default=None)
    if worst is not None and price.affordable and worst.used_by_this > limit:
        raise AllowanceError(
            f"this question takes {percent(worst.used_by_this)} of the allowance of {worst.name}, and one question may "
            f"take {percent(limit)} ([limit] question); nothing was charged: ask with a larger max_error or with spend "
            f"{limit:g}, or as an owner say that it may be over the limit",
            reason="question",
            limit=limit,
            share=worst.used_by_this,
        )
