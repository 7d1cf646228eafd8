"""A plan: what listed questions would take of each account, in order, and which floors would allow them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from errorfloor.accounts import percent
from errorfloor.display import in_columns
from errorfloor.floors.words import rounded_up
from errorfloor.preparing.noises import QuestionWish

DEAR = 0.01  # of an allowance: from here on a text says which group sets the price


@dataclass(frozen=True)
class Spending:
    """What questions take of each account, one after the other, and how much of it is used after each.

    >>> Spending(({"meters.kwh": 0.6}, {"meters.kwh": 0.6}), ({"meters.kwh": 0.6}, {"meters.kwh": 1.2})).first_unfit
    1
    """

    takes: tuple[Mapping[str, float], ...]
    together: tuple[Mapping[str, float], ...]

    @property
    def used(self) -> Mapping[str, float]:
        """What all of them use together."""
        return self.together[-1]

    @property
    def first_unfit(self) -> int | None:
        """The place of the first after which more than an allowance would be used; None if all fit."""
        return next((place for place, used in enumerate(self.together) if max(used.values(), default=0.0) > 1), None)

    def first_unfit_in(self, account: str) -> int | None:
        """Give the same for one account."""
        return next((place for place, used in enumerate(self.together) if used.get(account, 0.0) > 1), None)


@dataclass(frozen=True)
class QuestionLine:
    """A question of a plan: its bounds by output, the group that sets its price, and what other bounds would take."""

    name: str
    sql: str
    table: str
    wish: QuestionWish
    groups: int
    max_error: Mapping[str, float]
    units: Mapping[str, str]
    least: Mapping[str, float]  # the smallest bound of each output, where groups differ
    is_wide: bool
    set_by: str | None
    others: tuple[tuple[QuestionWish, Mapping[str, float]], ...]

    @property
    def bound(self) -> str:
        """Its bounds in words."""
        return ", ".join(dict.fromkeys(_bounds(self.max_error, self.units, self.least))) or "exact"


@dataclass(frozen=True)
class CandidateLine:
    """An account as it might be declared: what all questions would use of it, and what it would promise.

    ``bounds`` are those that questions by ``spend`` would have, by place; ``possible`` is false if something was
    charged under a promise that this one would weaken.
    """

    what: str
    floor: float
    declared: bool
    used: float
    first_unfit: int | None
    takes: tuple[float, ...]
    bounds: Mapping[int, Mapping[str, float]]
    possible: bool
    meaning: str

    def to_dict(self, names: Sequence[str]) -> dict[str, Any]:
        """Give it as plain JSON types."""
        return {
            "what": self.what,
            "floor": self.floor,
            "declared": self.declared,
            "used": self.used,
            "fits": self.first_unfit is None,
            "first_unfit": None if self.first_unfit is None else names[self.first_unfit],
            "takes": list(self.takes),
            "max_error": {names[place]: dict(bounds) for place, bounds in self.bounds.items()},
            "possible": self.possible,
            "meaning": self.meaning,
        }


@dataclass(frozen=True)
class AccountLine:
    """An account of a plan, with its candidates, the declared one first.

    ``largest`` is the largest floor, of two digits, at which all questions fit into it, for each kind of owner that is
    considered: None if there is none, infinite if all questions are by ``spend``.
    """

    name: str
    unit: str
    candidates: tuple[CandidateLine, ...]
    largest: Mapping[str, float | None]

    @property
    def advice(self) -> list[str]:
        """Say which floors allow all of it."""
        unit = f" {self.unit}" if self.unit else ""
        said = []
        for name, floor in self.largest.items():
            if floor is None:
                said.append(f"{name}: no floor allows all of it; ask for wider bounds or for less.")
            elif math.isinf(floor):
                said.append(f"{name}: shares fit under any floor; the floor decides their bounds.")
            else:
                said.append(f"{name}: all of it fits with a floor of up to {floor:g}{unit}.")
        return said

    def to_dict(self, names: Sequence[str]) -> dict[str, Any]:
        """Give it as plain JSON types."""
        return {
            "name": self.name,
            "unit": self.unit,
            "largest_floors": {
                name: None if floor is None or math.isinf(floor) else floor for name, floor in self.largest.items()
            },
            "advice": self.advice,
            "candidates": [each.to_dict(names) for each in self.candidates],
        }


@dataclass(frozen=True, repr=False)
class FloorPlan:
    """What listed questions would take, what fits together, and the floors that would allow it; from public facts.

    ``course`` begins with an empty ledger, ``so_far`` with what was spent, or is None if that is nothing. ``wider`` is
    by how much all bounds would have to be wider for everything to fit; None if it fits, or cannot. ``limit`` is the
    share that one question may take through a network door.

    Guarantee: nothing is charged or drawn and no private value is read. Questions that fit, asked in this order from
    such a ledger and in the version that is registered, are not refused for want of an allowance.

    >>> from errorfloor.service.example import example_database
    >>> with example_database() as db:
    ...     plan = db.plan([{"sql": "SELECT avg(kwh) FROM meters", "max_error": 0.05}], {"meters": {"kwh": [1, 5]}})
    >>> plan.fits, plan.accounts[0].largest
    (True, {'meters.kwh': 9.6})
    """

    questions: tuple[QuestionLine, ...]
    course: Spending
    so_far: Spending | None
    accounts: tuple[AccountLine, ...]
    wider: float | None
    limit: float
    dry: bool = False

    @property
    def fits(self) -> bool:
        """Whether all questions fit together under the declared floors."""
        return self.course.first_unfit is None

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain JSON types."""
        names = [line.name for line in self.questions]
        return {
            "questions": [self._question(place) for place in range(len(names))],
            "accounts": [
                {
                    **one.to_dict(names),
                    "used": self.course.used.get(one.name, 0.0),
                    "used_so_far": None if self.so_far is None else self.so_far.used.get(one.name, 0.0),
                }
                for one in self.accounts
            ],
            "fits": self.fits,
            "first_unfit": self._name(self.course.first_unfit),
            "fits_so_far": None if self.so_far is None else self.so_far.first_unfit is None,
            "first_unfit_so_far": None if self.so_far is None else self._name(self.so_far.first_unfit),
            "wider": self.wider,
            "dry": self.dry,
        }

    def explain(self) -> str:
        """Write it as tables and sentences."""
        return "\n\n".join([self._questions_text(), *self._sentences(), *map(self._account_text, self.accounts)])

    def __repr__(self) -> str:
        return self.explain()

    def _question(self, place: int) -> dict[str, Any]:
        line = self.questions[place]
        return {
            "name": line.name,
            "sql": line.sql,
            "table": line.table,
            "groups": line.groups,
            "wish": line.wish.to_dict(),
            "max_error": dict(line.max_error),
            "least": dict(line.least),
            "is_wide": line.is_wide,
            "units": {name: line.units[name] for name in line.max_error},
            "bound": line.bound,
            "set_by": line.set_by,
            "takes": dict(self.course.takes[place]),
            "together": dict(self.course.together[place]),
            "fits": max(self.course.together[place].values(), default=0.0) <= 1,
            "over_limit": self._is_over(place),
            "takes_so_far": None if self.so_far is None else dict(self.so_far.takes[place]),
            "others": [{**wish.to_dict(), "takes": dict(takes)} for wish, takes in line.others],
        }

    def _is_over(self, place: int) -> bool:
        return max(self.course.takes[place].values(), default=0.0) > self.limit

    def _name(self, place: int | None) -> str | None:
        return None if place is None else self.questions[place].name

    def _questions_text(self) -> str:
        names = list(self.course.used)
        rows = []
        for line, takes, together in zip(self.questions, self.course.takes, self.course.together, strict=True):
            used = max(together.values(), default=0.0)
            rows.append([line.name, line.bound, *(percent(takes.get(name, 0.0)) for name in names), percent(used)])
            for wish, instead in line.others:
                bound = f"or ±{wish.max_error:g}" if isinstance(wish.max_error, float) else "or otherwise"
                rows.append(["", bound, *(percent(instead.get(name, 0.0)) for name in names), ""])
        return in_columns(["question", "bound", *names, "together"], rows)

    def _sentences(self) -> list[str]:
        lines = [self._said(self.course, "From an empty ledger")]
        if self.so_far is not None:
            lines.append(self._said(self.so_far, "With what was spent so far"))
        if self.wider is not None:
            lines.append(f"With every max_error {self.wider:g} times as wide, all would fit (from an empty ledger).")
        lines += [
            f"{line.name} takes more than the {percent(self.limit)} that one question may ([limit] question): an owner "
            f"would have to allow it."
            for place, line in enumerate(self.questions)
            if self._is_over(place)
        ]
        lines += [
            f"{line.name}: {line.set_by}"
            for line, takes in zip(self.questions, self.course.takes, strict=True)
            if line.set_by is not None and max(takes.values(), default=0.0) > DEAR
        ]
        lines += [
            f"{line.name}: its widest bound tells no more than the middle of what is possible; spend more on it, or "
            f"leave small groups out (HAVING count(*) >= n)."
            for line in self.questions
            if line.is_wide
        ]
        if self.dry:
            lines.append("The rows are dummies: prices of your own table will differ.")
        return ["\n".join(lines)]

    def _said(self, course: Spending, begin: str) -> str:
        used = ", ".join(f"{percent(share)} of {name}" for name, share in course.used.items()) or "nothing"
        if course.first_unfit is None:
            return f"{begin}, all questions together use {used}: they fit."
        name = self.questions[course.first_unfit].name
        return f"{begin}, all questions together use {used}: {name} is the first that no longer fits."

    def _account_text(self, account: AccountLine) -> str:
        rows = [
            [
                one.what + (" (declared)" if one.declared else ""),
                percent(one.used),
                "all fit" if one.first_unfit is None else f"no longer fits: {self.questions[one.first_unfit].name}",
            ]
            for one in account.candidates
        ]
        lines = [in_columns([f"floor of {account.name}", "together", ""], rows), *account.advice]
        for one in account.candidates:
            over = (
                "" if one.possible else " It cannot be declared any more: answers were given under a stronger promise."
            )
            lines.append(f"{one.what}: {one.meaning}{over}")
            for place, bounds in one.bounds.items():
                within = ", ".join(_bounds(bounds, self.questions[place].units, {}))
                lines.append(f"{one.what}: {self.questions[place].name} would be within {within}.")
        return "\n".join(lines)


def _bounds(bounds: Mapping[str, float], units: Mapping[str, str], least: Mapping[str, float]) -> list[str]:
    return [
        f"{f'±{rounded_up(least[name], 4)} to ' if name in least else ''}±{rounded_up(bound, 4)}"
        f"{f' {units[name]}' if units.get(name) else ''}"
        for name, bound in bounds.items()
    ]
