"""What can still be asked: how many more answers of one price the allowances and quotas hold, and how exact a next one.

Nothing is charged; public facts and the ledger are all that is read.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from errorfloor.accounts import NOTHING, Account, Charge, fitting, percent, share
from errorfloor.answering.advice import useful
from errorfloor.charging import QuotaStanding, Standing
from errorfloor.floors.words import rounded_up
from errorfloor.preparing.preparation import Prepared, PreparedOutput

MARGIN = 1e-9  # relative: what is called affordable is so after every rounding


@dataclass(frozen=True)
class Room:
    """How many answers of one price an account or a quota still holds; None if they take nothing of it.

    ``spent`` is what is spent before any of them. What is ``renewed`` is whole again for each: it holds none, or any
    number, for which None stands, too.

    >>> Room("meters.kwh", Charge(0.25, 0.0), Charge(0.4, 0.0), Charge(1.0, 1e-6), quota=False).answers
    2
    """

    name: str
    charge: Charge
    spent: Charge
    allowance: Charge
    quota: bool
    renewed: bool = False

    @property
    def answers(self) -> int | None:
        """How many fit, exactly."""
        parts = [
            max(0, (Fraction(allowed) - Fraction(spent)) // Fraction(charge))
            for name, allowed in self.allowance.amounts().items()
            for charge, spent in {*zip(self.charge.places(name), self.spent.places(name), strict=True)}
            if charge > 0
        ]
        fitting = min(parts, default=None)
        return None if self.renewed and fitting else fitting

    @property
    def used(self) -> float:
        """The share that is used now."""
        return share(self.spent, self.allowance)

    @property
    def used_by_each(self) -> float:
        """The share that each further answer takes."""
        return share(self.charge, self.allowance)

    @property
    def part(self) -> float:
        """Which part of the charge of one answer is left."""
        if self.charge.profile is not None:
            return max(0.0, fitting(self.charge, self.spent, self.allowance))
        return max(0.0, (1 - self.used) / self.used_by_each) if self.used_by_each > 0 else math.inf

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain JSON types."""
        return {
            "name": self.name,
            "quota": self.quota,
            "answers": self.answers,
            "used": self.used,
            "used_by_each": self.used_by_each,
            "used_after_next": share(self.spent + self.charge, self.allowance),
        }


@dataclass(frozen=True, repr=False)
class Simulation:
    """What can still be asked, at the price of one question.

    ``answers`` is how many further answers of this price fit, each about something else (None: they cost nothing);
    ``binding`` the account or quota that ends them; ``least_max_error`` for each output the smallest bound, to three
    digits, with which the question can be afforded once more (None: the allowance is used up, no bound within the range
    of the answer is wide enough, its noise has no bound above, or bounds differ from group to group); ``free`` says
    that this very question was answered already and can be asked again without a charge.

    >>> from errorfloor.service.example import example_database
    >>> with example_database() as db:
    ...     simulation = db.simulate("SELECT avg(kwh) AS mean FROM meters", spend=0.2)
    >>> simulation.answers, simulation.binding, simulation.least_max_error
    (5, 'meters.kwh', {'mean': 0.00689})
    >>> print(simulation)
    5 more answers of this price can be given; meters.kwh ends them.
    The next one could be as exact as mean within ±0.00689 kWh.
    meters.kwh: used 0 %, each takes 20 %, 5 more.
    """

    prepared: Prepared
    rooms: tuple[Room, ...]
    free: bool

    @property
    def answers(self) -> int | None:
        """How many further answers of this price fit."""
        return min((room.answers for room in self.rooms if room.answers is not None), default=None)

    @property
    def binding(self) -> str | None:
        """The account or quota that ends them."""
        ending = [room for room in self.rooms if room.answers is not None]
        scarcest = min(ending, key=lambda room: room.part, default=None)
        return None if scarcest is None else scarcest.name

    @property
    def least_max_error(self) -> dict[str, float] | None:
        """The smallest bounds with which the question can be afforded once more, all of them scaled alike."""
        factor = min((room.part for room in self.rooms), default=math.inf)
        noisy = [one for one in self.prepared.outputs if one.added is not None]
        noises = [one.added for one in noisy if one.added is not None]
        if factor <= MARGIN or not noisy or any(one.varies or math.isinf(one.widest.high) for one in noises):
            return None
        bounds = [self._least(one, factor) for one in noisy]
        if any(bound > useful(self.prepared, one) for one, bound in zip(noisy, bounds, strict=True)):
            return None
        return {one.output.asked_as: bound * self.prepared.scale(one) for one, bound in zip(noisy, bounds, strict=True)}

    def _least(self, one: PreparedOutput, factor: float) -> float:
        assert one.added is not None
        if math.isinf(factor):  # no private value moves it: any bound will do, and this one did
            return one.added.widest.high
        bounded = self.prepared.bounds.outputs[self.prepared.outputs.index(one)]
        return one.added.widest.bound_at(factor * (1 - MARGIN), float(bounded.error[bounded.defined].max()))

    def explain(self) -> str:
        """Say it in sentences."""
        if self.answers is None:
            return "Such answers cost nothing: any number can be given."
        count = f"{self.answers:,} more answer{'s' if self.answers != 1 else ''} of this price can be given"
        lines = [f"{count}; {self.binding} ends them."]
        if self.free:
            lines.append("This very question was answered before, and is free.")
        least = self.least_max_error
        if least is not None:
            units = self.prepared.units
            bounds = [
                f"{name} within ±{rounded_up(bound, 6)}{f' {units[name]}' if units[name] else ''}"
                for name, bound in least.items()
            ]
            lines.append(f"The next one could be as exact as {', '.join(bounds)}.")
        lines += [
            f"{room.name}: used {percent(room.used)}, each takes {percent(room.used_by_each)}, {room.answers:,} more."
            for room in self.rooms
            if room.answers is not None
        ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain JSON types."""
        return {
            "table": self.prepared.question.table,
            "version": self.prepared.question.version,
            "answers": self.answers,
            "binding": self.binding,
            "least_max_error": self.least_max_error,
            "free": self.free,
            "accounts": [room.to_dict() for room in self.rooms],
        }

    def __repr__(self) -> str:
        return self.explain()


def rooms(
    standings: Sequence[Standing], quotas: Sequence[QuotaStanding], spent: Mapping[Account, Charge]
) -> tuple[Room, ...]:
    """Give the room in each account and quota of a question; ``spent`` is what they have spent before it.

    What the ledger keeps no account of is a share for one question, which is whole again for each.
    """
    found = [Room(one.name, one.charge, spent[one.account], one.allowance, quota=False) for one in standings]
    for one in quotas:
        renewed = one.account not in spent
        before = NOTHING if renewed else spent[one.account]
        found.append(Room(one.name, one.charge, before, one.allowance, quota=True, renewed=renewed))
    return tuple(found)
