"""What a standing question would cost, and what is certain of its figures, in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from errorfloor.charging.standing import QuotaStanding, Standing
from errorfloor.floors.words import rounded_up
from errorfloor.following.block import Block, Offer
from errorfloor.following.horizon import Horizon
from errorfloor.following.table import FollowedShape


@dataclass(frozen=True, eq=False)
class FollowPrice:
    """What a standing question, or one more block of it, would cost; nothing is charged.

    ``standings`` and ``quotas`` say how each account and each quota would stand.
    """

    offer: Offer
    before: tuple[Block, ...]
    standings: tuple[Standing, ...]
    quotas: tuple[QuotaStanding, ...]

    @classmethod
    def of(cls, offer: Offer, before: tuple[Block, ...] = ()) -> "FollowPrice":
        """Price an offer that goes on from some blocks."""
        return cls(offer, before, *offer.stand())

    @property
    def affordable(self) -> bool:
        """Whether every allowance and every quota suffices."""
        return all(one.used <= 1 for one in (*self.standings, *self.quotas))

    def explain(self) -> str:
        """Say what would be certain, and what it would cost."""
        followed = self.offer.followed
        shape = FollowedShape(followed.part, (), followed.output.name, followed.least_rows)
        before = [one.bound for one in self.before]
        said = certain(shape, followed.output.unit or "", self.offer.horizon, self.offer.bound, before)
        return " ".join([said, *(one.explain() for one in self.standings), *(one.explain() for one in self.quotas)])

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain JSON types."""
        return {
            "affordable": self.affordable,
            "max_error": self.offer.bound,
            "total_error": sum(one.bound for one in self.before) + self.offer.bound,
            "accounts": [one.to_dict() for one in self.standings],
            "quotas": [one.to_dict() for one in self.quotas],
        }

    def __repr__(self) -> str:
        return self.explain()


def certain(shape: FollowedShape, unit: str, horizon: Horizon, bound: float, before: Sequence[float]) -> str:
    """Say what is certain of the figures of a block that goes on from others with these bounds."""
    names, unit = horizon.names, f" {unit}" if unit else ""
    if shape.least_rows is None:
        each, total = f"Every {shape.part} from {names[0]} to {names[-1]}", "every running total"
    else:
        over = f"over at least {shape.least_rows:,} rows"
        each = f"Every {shape.output} of a {shape.part} from {names[0]} to {names[-1]} {over}"
        total = "every one over all rows so far"
    if not before:
        within = f"{each}, and {total}, is within ±{rounded_up(bound)}{unit}"
    else:
        within = (
            f"{each} is within ±{rounded_up(bound)}{unit}; {total} goes on from the last one, and bounds add up to "
            f"±{rounded_up(sum(before) + bound)}{unit}"
        )
    wider = "" if shape.least_rows is None else "; over fewer rows the bound is wider in proportion, and shown"
    return f"{within}{wider}; all {len(names)} are paid for."
