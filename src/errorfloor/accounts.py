"""Accounts, charges and balances: what a price is written in, what the ledger keeps, and what a client reads."""

import datetime
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from errorfloor.errors import InputError

PERIODS: dict[str, Callable[[datetime.date], str]] = {
    "day": lambda time: time.isoformat()[:10],
    "week": lambda time: f"{time.isocalendar().year}-W{time.isocalendar().week:02}",
    "month": lambda time: time.isoformat()[:7],
    "quarter": lambda time: f"{time.isoformat()[:4]}-Q{(time.month + 2) // 3}",
    "year": lambda time: time.isoformat()[:4],
}
REGISTER = "register"  # of owners; its accounts go by "register NAME", which is the name of no table
PLACES = 64  # equal parts of an entry's range; a total is kept for each where answers tell them apart


@dataclass(frozen=True, order=True)
class Account:
    """What an allowance belongs to: a private column of a table, or one cell of the table's partition of it.

    ``column`` is empty for the account of the table's owners, or of a register of owners; ``cell`` is the text that
    ``cell_text`` gives for the values of the partition, or for owners' period, empty where accounts are not divided.
    ``holder`` is empty for the allowance itself, and names whose quota of it the account is otherwise, such as
    ``["analyst", "ada"]``.

    >>> Account("meters", "kwh", "") < Account("meters", "kwh", '["north"]')
    True
    """

    table: str
    column: str
    cell: str
    holder: str = ""


@dataclass(frozen=True)
class Profile:
    """Information, of either kind, by where in its range an entry is: a number for each of its ``PLACES`` equal parts.

    It is about the entry's value in one ``version`` of the table: in another it may be in another place.

    >>> Profile("2013", (1.0,) * 64, (0.0,) * 63)
    Traceback (most recent call last):
    errorfloor.errors.InputError: a profile has 64 numbers of each kind, none negative
    """

    version: str
    information: tuple[float, ...]
    raised_cosine: tuple[float, ...]

    def __post_init__(self) -> None:
        for numbers in (self.information, self.raised_cosine):
            if len(numbers) != PLACES or not all(number >= 0 for number in numbers):
                raise InputError(f"a profile has {PLACES} numbers of each kind, none negative")


@dataclass(frozen=True)
class Charge:
    """Information and evaluation error that an answer costs an account: A = I·L² and E = I·η².

    ``raised_cosine`` is the information of answers with raised-cosine or Gaussian noise, where an account counts them
    apart; ``information`` that of all others. With a ``profile`` they are the largest of its numbers; without one they
    hold wherever an entry is in its range.

    *Guarantee*: a sum of charges is never less than the sum of their numbers, at any place; each addition is rounded
    up. Profiles of two versions are not added place by place, only their largest numbers are.

    Raises ``InputError`` for a number that is negative or not a number, or is not the largest of the profile.

    >>> Charge(1.0, 0.25) + Charge(2.0, 0.0)
    Charge(information=3.0, evaluation=0.25, raised_cosine=0.0)
    >>> (Charge(1.0, 0.0) + Charge(1e-30, 0.0)).information > 1.0
    True
    """

    information: float
    evaluation: float
    raised_cosine: float = 0.0
    profile: Profile | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name, value in self.amounts().items():
            if not value >= 0:
                raise InputError(f"a charge's {name} must be at least 0, got {value}")
            if self.profile is not None and max(self.places(name)) != value:
                raise InputError(f"a charge's {name} is the largest number of its profile, got {value}")

    @classmethod
    def of(cls, amounts: Mapping[str, float], profile: Profile | None = None) -> "Charge":
        """Read what ``amounts`` gave."""
        return cls(amounts["information"], amounts["evaluation"], amounts["raised_cosine"], profile)

    def __add__(self, other: "Charge") -> "Charge":
        more = other.amounts()
        sums = {name: _sum_up(amount, more[name]) for name, amount in self.amounts().items()}
        version = self.version or other.version
        if version is None or (self.version and other.version and self.version != other.version):
            return Charge.of(sums)
        return self._of_places(version, sums, lambda kind: map(_sum_up, self.places(kind), other.places(kind)))

    @property
    def version(self) -> str | None:
        """Which version its profile is about; None if it has none."""
        return None if self.profile is None else self.profile.version

    def places(self, name: str) -> tuple[float, ...]:
        """Give one of the numbers for each place of an entry's range."""
        if self.profile is None or name not in KINDS:
            return (self.amounts()[name],) * PLACES
        return self.profile.information if name == "information" else self.profile.raised_cosine

    def without(self, other: "Charge") -> "Charge":
        """Give a sum without one of its charges, at each place; to be shown, since nothing is rounded up."""
        less = other.amounts()
        amounts = {name: max(0.0, amount - less[name]) for name, amount in self.amounts().items()}
        version = self.version or other.version
        if version is None:
            return Charge.of(amounts)
        return self._of_places(
            version,
            amounts,
            lambda kind: (max(0.0, one - two) for one, two in zip(self.places(kind), other.places(kind), strict=True)),
        )

    def at_least(self, name: str, least: float) -> "Charge":
        """Give the same charge, with one of the numbers raised to ``least`` wherever it is below.

        >>> Charge(2.0, 0.0).at_least("information", 3.0).information
        3.0
        """
        amounts = {**self.amounts(), name: max(self.amounts()[name], least)}
        if self.version is None:
            return Charge.of(amounts)
        raised = {name: least}
        return self._of_places(
            self.version, amounts, lambda kind: (max(number, raised.get(kind, 0.0)) for number in self.places(kind))
        )

    @staticmethod
    def _of_places(version: str, amounts: Mapping[str, float], numbers: Callable[[str], Iterable[float]]) -> "Charge":
        places = {kind: tuple(numbers(kind)) for kind in KINDS}
        profile = Profile(version, places["information"], places["raised_cosine"])
        return Charge.of({**amounts, **{kind: max(places[kind]) for kind in KINDS}}, profile)

    def amounts(self) -> dict[str, float]:
        """Give the numbers by name."""
        return {
            "information": self.information,
            "evaluation": self.evaluation,
            "raised_cosine": self.raised_cosine,
        }

    def as_raised_cosine(self) -> "Charge":
        """Give the same charge, its information counted as that of raised-cosine noise.

        >>> Charge(2.0, 0.0).as_raised_cosine()
        Charge(information=0.0, evaluation=0.0, raised_cosine=2.0)
        """
        return Charge(0.0, self.evaluation, _sum_up(self.information, self.raised_cosine))


KINDS = ("information", "raised_cosine")  # of information, which may depend on where an entry is
NOTHING = Charge(0.0, 0.0)
NAMED = 3  # accounts and quotas that a short line names


@dataclass(frozen=True)
class Balance:
    """An account after a charge: what this charge takes, what all have taken with it, and what they may take.

    >>> balance = Balance(Account("meters", "kwh", ""), Charge(0.5, 0.0), Charge(1.5, 0.0), Charge(2.0, 1e-6))
    >>> balance.used, balance.used_by_this
    (0.75, 0.25)
    """

    account: Account
    charge: Charge
    spent: Charge
    allowance: Charge

    @property
    def used(self) -> float:
        """The share of the allowance that is used, this charge included."""
        return share(self.spent, self.allowance)

    @property
    def used_by_this(self) -> float:
        """The share of the allowance that this charge takes."""
        return share(self.charge, self.allowance)

    @property
    def used_before(self) -> float:
        """The share of the allowance that was used before this charge, at the place where most was."""
        if self.charge.profile is None:
            return self.used - self.used_by_this
        return share(self.spent.without(self.charge), self.allowance)

    @property
    def left(self) -> float:
        """The share of the allowance that was left for this charge: where it is scarcest for such a one."""
        return 1 - self.used_before if self.charge.profile is None else self.fitting * self.used_by_this

    @property
    def fitting(self) -> float:
        """Which part of this charge what was left before it would have covered."""
        if self.charge.profile is None:
            return self.left / self.used_by_this if self.used_by_this > 0 else math.inf
        return fitting(self.charge, self.spent.without(self.charge), self.allowance)

    def amounts(self) -> dict[str, Any]:
        """Give the numbers as plain JSON types."""
        names = ("charge", self.charge), ("spent", self.spent), ("allowance", self.allowance)
        kinds = 3 if self.allowance.raised_cosine else 2
        return {
            **{name: list(one.amounts().values())[:kinds] for name, one in names},
            "used": self.used,
            "used_by_this": self.used_by_this,
        }


def explained(standings: Iterable[Any]) -> list[str]:
    """Say how balances stand that explain themselves; of a divided account, how its most used part does."""
    return [
        max(found, key=lambda one: one.used).explain()
        + (f" It is the most used of {len(found):,} parts of this account." if len(found) > 1 else "")
        for found in _together(standings)
    ]


def used_in_short(standings: Iterable[Any]) -> list[str]:
    """Say in a line what is used of balances that have a name, the scarcest first; nothing where there are none."""
    worst = sorted((max(found, key=lambda one: one.used) for found in _together(standings)), key=lambda one: -one.used)
    if not worst:
        return []
    said = [f"{one.name} {percent(one.used)}" for one in worst[:NAMED]]
    more = [f"{len(worst) - NAMED} more less than that"] if len(worst) > NAMED else []
    by_this = percent(max(one.used_by_this for one in worst))
    return [f"Used of allowances: {', '.join(said + more)}; by this answer: {by_this}."]


def _together(standings: Iterable[Any]) -> Iterable[list[Any]]:
    """Put the parts of a divided account together, and of each quota of it."""
    parts: dict[tuple[str, str, bool, str], list[Any]] = {}
    for one in standings:
        account = one.account
        parts.setdefault((account.table, account.column, bool(account.cell), account.holder), []).append(one)
    return parts.values()


def share(part: Charge, whole: Charge) -> float:
    """Give the largest of the shares of information, of either kind, and of evaluation error."""
    evaluation = part.evaluation / whole.evaluation if whole.evaluation > 0 else 0.0
    if whole.raised_cosine > 0:
        evaluation = max(evaluation, part.raised_cosine / whole.raised_cosine)
    elif part.raised_cosine > 0:
        return math.inf
    return max(part.information / whole.information, evaluation)


def fitting(charge: Charge, spent: Charge, allowance: Charge) -> float:
    """Give the largest multiple of a charge that still fits beside what is spent, at every place.

    >>> fitting(Charge(0.5, 0.0), Charge(1.5, 0.0), Charge(2.5, 1e-6))
    2.0
    """
    return min(
        (
            (limit - before) / more
            for name, limit in allowance.amounts().items()
            for before, more in zip(spent.places(name), charge.places(name), strict=True)
            if more > 0
        ),
        default=math.inf,
    )


def percent(fraction: float) -> str:
    """Write a share, never below it.

    >>> percent(0.03001), percent(0.00001), percent(0.0)
    ('3.1 %', 'less than 0.1 %', '0 %')
    """
    if 0 < fraction < 0.001:
        return "less than 0.1 %"
    return f"{math.ceil(fraction * 1000 - 1e-9) / 10:g} %"


def cell_text(values: Sequence[object]) -> str:
    """Give the text that names a cell of the partition of accounts; the partition's columns fix the types.

    >>> cell_text(()), cell_text(("north", 3, datetime.date(2024, 1, 31), Decimal("1.50"), None))
    ('', '["north", 3, "2024-01-31", "1.5", null]')
    """
    return json.dumps([_plain(value) for value in values], ensure_ascii=False) if values else ""


def _plain(value: object) -> bool | int | str | None:
    match value:
        case None | bool() | int() | str():
            return value
        case Decimal():
            text = format(value, "f")  # exact, whatever the number of digits
            return text.rstrip("0").rstrip(".") if "." in text else text
        case datetime.date():
            return value.isoformat()
        case _:
            raise InputError(f"an account's cell cannot be named by a {type(value).__name__}")


def _sum_up(one: float, two: float) -> float:
    """Give the least double that is not below the sum, by the error of the rounded one."""
    total = one + two
    part = total - one
    error = (one - (total - part)) + (two - part)
    return math.nextafter(total, math.inf) if error > 0 else total


@dataclass(frozen=True)
class StepAnswer:
    """What was released for a step of a trip; ``fresh`` says whether it was now.

    >>> StepAnswer.of({"step": 0, "answer": [123.4]}).to_dict()
    {'step': 0, 'answer': [123.4], 'fresh': False}
    """

    step: int
    answer: tuple[float, ...]
    fresh: bool

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> "StepAnswer":
        """Read what a server gave."""
        return cls(int(plain["step"]), tuple(map(float, plain["answer"])), bool(plain.get("fresh", False)))

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain JSON types."""
        return {"step": self.step, "answer": list(self.answer), "fresh": self.fresh}
