"""How accounts and quotas stand: what has been spent of them, and what that means in words."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

from errorfloor.accounts import Account, Balance, Charge, percent
from errorfloor.catalogue import PrivateColumn, Table, allowed, believed, promise, stored_distance
from errorfloor.catalogue.allowance import Protected
from errorfloor.catalogue.promise import histories
from errorfloor.floors.prior import ziv_zakai_under
from errorfloor.floors.tapered import DeclaredLoss
from errorfloor.floors.two_point import told_apart
from errorfloor.floors.words import Promise, rounded_down, rounded_up, times_in_hundred
from errorfloor.floors.worst_case import minimax
from errorfloor.ledger import Quotas, Settlement
from errorfloor.ledger.entry import account_name
from errorfloor.ledger.quotas import holder_parts

SO_FAR = "If the questions so far had been fixed in advance"


@dataclass(frozen=True, repr=False)
class Standing(Balance):
    """An account before and after a charge, with what follows for the entries or owners that it stands for.

    Guarantee: ``promised`` bounds, whatever is asked, the success of any test, at even odds, that sees every answer
    charged to the account and knows all other entries, and the root-mean-square error of any estimator of an entry, in
    the worst case over the declared range. ``told_apart`` and ``floor`` are the same at the amount spent: they hold if
    the questions so far had been fixed in advance, not for questions that followed from answers.

    >>> from errorfloor.service.example import example_database
    >>> with example_database() as db:
    ...     standing = db.ask("SELECT avg(kwh) FROM meters", spend=0.25).standings[0]
    >>> standing.name, 0.24 < standing.used <= 0.25, standing.floor > 2.0
    ('meters.kwh', True, True)
    """

    table: Protected

    @property
    def column(self) -> PrivateColumn | None:
        """The private column that the account belongs to; None for an owner's account."""
        return self.table.private[self.account.column] if self.account.column else None

    @property
    def capped(self) -> Charge:
        """What may be spent in all: the allowance, or more where a floor was raised after more had been spent."""
        spent = self.spent.amounts()
        return Charge.of({name: max(amount, spent[name]) for name, amount in self.allowance.amounts().items()})

    @cached_property
    def promised(self) -> Promise:
        """What holds whatever is asked: the figures at the allowance.

        Where a floor was raised after more had been spent than it allows, they are those at the amount spent.
        """
        found = promise(self.table, self.account.column)
        if self.used <= 1:
            return found
        after = self.against_prior
        return Promise(
            told_apart=max(found.told_apart, self.told_apart),
            floor=None if self.floor is None or found.floor is None else min(found.floor, self.floor),
            against_prior=None if after is None or found.against_prior is None else min(found.against_prior, after[1]),
            epsilon=None if self.epsilon is None or found.epsilon is None else max(found.epsilon, self.epsilon),
        )

    @cached_property
    def told_apart(self) -> float:
        """The same from all answers so far, if their questions had been fixed in advance."""
        return self._success(self.spent)

    @cached_property
    def told_apart_by_this(self) -> float:
        """The same from this answer alone, whatever was asked before."""
        return self._success(self.charge)

    @cached_property
    def floor(self) -> float | None:
        """Root-mean-square error of any estimator, worst case over the range, for questions fixed in advance."""
        return None if self.column is None else entry_floor(self.column, self.spent)

    @cached_property
    def against_prior(self) -> tuple[float, float] | None:
        """Error of the best guess under the prior: without any answer, and at least after those so far.

        The second holds if the questions had been fixed in advance.
        """
        law = None if self.column is None else believed(self.column)
        if law is None:
            return None
        return law.spread, math.sqrt(ziv_zakai_under(law, **self.spent.amounts()))

    @property
    def stated(self) -> DeclaredLoss | None:
        """What is declared of (ε, δ) for the owners that the account stands for."""
        return None if self.table.owner is None or self.account.column else self.table.owner.stated

    @cached_property
    def epsilon(self) -> float | None:
        """ε at the declared δ of all answers so far, if their questions had been fixed in advance."""
        return None if self.stated is None else self.stated.epsilon_at(self.spent.raised_cosine, self.used)

    @property
    def name(self) -> str:
        """The account in words."""
        table, column, cell = self.account.table, self.account.column, self.account.cell
        what = f"{table}.{column}" if column else f"owners of {table}"
        return f"{what} {cell}" if cell else what

    def _success(self, charged: Charge) -> float:
        distance = 1.0 if self.column is None else stored_distance(self.column)
        told = float(told_apart(distance, **charged.amounts()))
        return told if self.stated is None else self.stated.told(told, 1.0)

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain JSON types."""
        column = self.column
        return {
            "table": self.account.table,
            "column": self.account.column or None,
            "cell": self.account.cell or None,
            "owner": column is None,
            "distance": None if column is None else column.example,
            "unit": None if column is None else column.unit,
            "promised_in_100": float(self.promised.times),
            "promised_floor": float(self.promised.least) if self.promised.floor is not None else None,
            "promised_against_prior": self.promised.against_prior,
            "told_apart_in_100": float(times_in_hundred(self.told_apart)),
            "told_apart_by_this_in_100": float(times_in_hundred(self.told_apart_by_this)),
            "floor": None if self.floor is None else float(rounded_down(self.floor)),
            "declared_floor": self.table.owner.floor
            if column is None and self.table.owner
            else column and column.floor,
            "against_prior": None if self.against_prior is None else list(self.against_prior),
            **({} if self.stated is None else self._loss(self.stated)),
            **self.amounts(),
        }

    def explain(self) -> str:
        """Say it in sentences."""
        return self._said

    def __repr__(self) -> str:
        return self.explain()

    def headline(self) -> str:
        """Say in one short sentence what nobody can learn, whatever is asked."""
        column = self.column
        if self.table.owner is not None and self.table.owner.is_hidden:
            return (
                f"Whatever is asked, nobody can tell whether a {self.table.owner.noun} is in the table better than "
                f"{self.promised.times} times in 100{self._short_loss()}."
            )
        if column is None:
            which, others = histories(self.table, self.account.cell), "row"
        else:
            unit = f" {column.unit}" if column.unit else ""
            which, others = f"two values of {self.account.column}, {column.example:g}{unit} apart,", "entry"
        return (
            f"Whatever is asked, even someone who knows every other {others} names the true one of {which} at most "
            f"{self.promised.times} times in 100."
        )

    @cached_property
    def _said(self) -> str:
        parts = f"{percent(self.used)} in all, {percent(self.used_by_this)} by this answer"
        used = f"Used of the allowance of {self.name}: {parts}."
        times = times_in_hundred(self.told_apart)
        column = self.column
        if column is None:
            assert self.table.owner is not None
            if self.table.owner.is_hidden:
                noun = self.table.owner.noun
                return (
                    f"Whatever is asked, nobody can tell whether a {noun} is in the table, or which of two contents it "
                    f"has there, better than {self.promised.times} times in 100, not even someone who knows all other "
                    f"rows. {SO_FAR}: {times}. {self._said_loss()}{used}"
                )
            return (
                f"Whatever is asked, even someone who knows all other rows cannot tell which of "
                f"{histories(self.table, self.account.cell)}, both within the declared ranges, is the true one more "
                f"than {self.promised.times} times in 100. {SO_FAR}: {times}. {used}"
            )
        unit = f" {column.unit}" if column.unit else ""
        assert self.floor is not None
        return (
            f"Whatever is asked, even someone who knows all other entries cannot tell which of two values of "
            f"{self.account.column}, {column.example:g}{unit} apart, is the true one more than {self.promised.times} "
            f"times in 100, and any estimate of an entry is off by at least {self.promised.least}{unit} (root mean "
            f"square, worst case over {float(column.low):g} … {float(column.high):g}{unit}, to which values are "
            f"clamped). {SO_FAR}: {times} times in 100, and {rounded_down(self.floor)}{unit}. "
            f"{self._guesser(unit)}{used}"
        )

    def _loss(self, stated: DeclaredLoss) -> dict[str, float | None]:
        found = {"epsilon": self.epsilon, "promised_epsilon": self.promised.epsilon}
        rounded = {
            name: None if one is None or math.isinf(one) else float(rounded_up(one)) for name, one in found.items()
        }
        return {"delta": stated.delta, **rounded}

    def _short_loss(self) -> str:
        if self.stated is None or self.promised.epsilon is None:
            return ""
        return f", and all answers are (ε = {rounded_up(self.promised.epsilon)}, δ = {self.stated.delta:g})-private"

    def _said_loss(self) -> str:
        if self.stated is None:
            return ""
        most, now = (
            "cannot be stated" if one is None or math.isinf(one) else f"at most {rounded_up(one)}"
            for one in (self.promised.epsilon, self.epsilon)
        )
        return (
            f"All answers together are (ε, δ)-differentially private with δ = {self.stated.delta:g}: ε is {most} "
            f"whatever is asked, and {now} for the questions so far, had they been fixed in advance. "
        )

    def _guesser(self, unit: str) -> str:
        if self.against_prior is None or self.promised.against_prior is None:
            return ""
        before, after = self.against_prior
        return (
            f"Averaged under the declared prior, the best guess is off by {rounded_down(before)}{unit} without any "
            f"answer, and by at least {rounded_down(self.promised.against_prior)}{unit} whatever is asked. "
            f"{SO_FAR}: {rounded_down(after)}{unit}. "
        )


@dataclass(frozen=True, repr=False)
class QuotaStanding(Balance):
    """A quota before and after a charge; ``part`` is its declared share of the allowance.

    >>> from errorfloor.service.example import example_database
    >>> with example_database(quota={"analyst": 0.25}) as db:
    ...     answer = db.ask("SELECT avg(kwh) FROM meters", spend=0.05, analyst="ada")
    ...     [quota.name for quota in db.quotas("ada")], [0.19 < quota.used <= 0.2 for quota in answer.quotas]
    (['the quota of analyst ada of meters.kwh'], [True])
    """

    part: float

    @property
    def name(self) -> str:
        """The quota in words."""
        return account_name(self.account)

    def explain(self) -> str:
        """Say it in a sentence."""
        return (
            f"Used of {self.name} ({percent(self.part)} of the allowance): {percent(self.used)} in all, "
            f"{percent(self.used_by_this)} by this answer."
        )

    def __repr__(self) -> str:
        return self.explain()

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
            **self.amounts(),
        }


def standings(
    table: Protected, allowances: Mapping[Account, Charge], settled: Settlement, *, charged: bool
) -> tuple[Standing, ...]:
    """Say how the accounts of a call stand once it is charged; ``charged`` says whether that has happened."""
    return tuple(
        Standing(
            account,
            charge,
            _after(settled.spent[account], charge, charged),
            allowances[account],
            concerned(table, account),
        )
        for account, charge in sorted(settled.asked.items())
    )


def quota_standings(
    quotas: Quotas, allowances: Mapping[Account, Charge], settled: Settlement, *, charged: bool
) -> tuple[QuotaStanding, ...]:
    """Say the same of the quotas that count."""
    if not quotas.shares:
        return ()
    limits = quotas.limits(allowances, settled.time)
    found = []
    for holder, part in quotas.holders(settled.time).items():
        for account, charge in sorted(settled.asked.items()):
            one = replace(account, holder=holder)
            found.append(QuotaStanding(one, charge, _after(settled.spent[one], charge, charged), limits[one], part))
    return tuple(found)


def _after(spent: Charge, charge: Charge, charged: bool) -> Charge:
    return spent if charged else spent + charge


def concerned(table: Protected, account: Account) -> Protected:
    """Give what an account is about: the table or, for owners' account for life, the table as it promises that.

    >>> owner = {"column": "home", "floor": 0.2, "life": 0.1, "per": {"column": "day", "period": "month"}}
    >>> kwh = {"range": [0, 50], "resolution": 0.001, "floor": 2.0}
    >>> public = {"home": "whole", "day": "date"}
    >>> table = Table(source="-", version="1", row_key=["home"], private={"kwh": kwh}, public=public, owner=owner)
    >>> [promise(concerned(table, Account("meters", "", cell)), "").times for cell in ('["2013-07"]', "")]
    ['80', '90']
    """
    return table.lifelong if isinstance(table, Table) and not account.column and not account.cell else table


def allowances_of(table: Protected, accounts: Iterable[Account]) -> dict[Account, Charge]:
    """Give the whole allowance of each account, from the floors that the custodian declared."""
    return {account: allowed(concerned(table, account), account.column) for account in accounts}


def entry_floor(column: PrivateColumn, charged: Charge) -> float:
    """Give the floor under any estimator of an entry when this much has been charged to it."""
    return _entry_floor(column.range, column.resolution, column.floor, charged)


@lru_cache(maxsize=4096)  # the same for groups of one size, and stated several times of one answer
def _entry_floor(ends: tuple[Fraction, Fraction], resolution: Fraction, floor: float, charged: Charge) -> float:
    step = float(resolution)
    spacing = step if step > floor / 10 else None
    return math.sqrt(minimax(width=float(ends[1] - ends[0]), spacing=spacing, **charged.amounts()))
