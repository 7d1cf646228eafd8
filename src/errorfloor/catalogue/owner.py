"""Whose numbers they are, for which periods an owner has an allowance, and with whom an owner shares an account."""

import warnings
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from errorfloor.accounts import PERIODS, REGISTER
from errorfloor.catalogue.columns import Declaration, Double, Exact, PublicColumn
from errorfloor.floors.tapered import DeclaredLoss

SPANS = ", ".join(PERIODS)


class Period(Declaration):
    """What an owner's allowance is for: each day, week, month, quarter or year of a public date.

    Of other public columns, such as the number of a batch, each value has one. Weeks are those of ISO 8601.

    >>> import datetime
    >>> Period(column="day", period="week").text(datetime.date(2024, 12, 31)), Period(column="batch").name
    ('2025-W01', 'batch')
    """

    column: str
    period: Literal["day", "week", "month", "quarter", "year"] | None = None

    @property
    def name(self) -> str:
        """What it is called in sentences."""
        return self.period or self.column

    def text(self, value: Any) -> Any:
        """Name the period that a date lies in; any other value names itself."""
        return value if value is None or self.period is None else PERIODS[self.period](value)


with warnings.catch_warnings():  # every class has a method register, which nobody calls on this one
    warnings.filterwarnings("ignore", 'Field name "register"')

    class Owner(Declaration):
        """Whose numbers they are, when one owner has several.

        ``floor`` is the share of guesses, at even odds, in which anybody who tries to tell two histories of an owner
        apart must be wrong: 0.5 is a coin, 0.2 means right at most 80 times in 100. ``apart`` is by how much the two
        histories differ at most in each number of a private column; without it, by as much as its range is wide. With
        ``per`` they differ within one period only, and each period has an allowance; ``life`` is then the floor of a
        further account, of two histories that differ anywhere. With ``joined``, owners who joined in one period have an
        account of their own: whoever comes later does not inherit what others spent. ``rows`` is for tables that
        protect records: how many rows of an owner count at most. There ``column`` may be left out, and each row is
        somebody else's. Tables that name one ``register`` are about the same people: what is asked of any of them is
        charged to one account of theirs. With ``max_delta``, all answers about records together are (ε,
        δ)-differentially private, ε at most ``max_epsilon`` if that is given.

        >>> Owner(column="household", floor=0.2, apart={"kwh": 5}).apart
        {'kwh': Fraction(5, 1)}
        """

        column: str
        floor: Double = Field(gt=0, lt=0.5)
        apart: dict[str, Annotated[Exact, Field(gt=0)]] = Field(default_factory=dict)
        per: Period | None = None
        joined: Period | None = None
        rows: int | None = Field(default=None, ge=1, le=10**6)
        register: str | None = None
        max_delta: Double | None = Field(default=None, gt=0, le=0.01)
        max_epsilon: Double | None = Field(default=None, gt=0, le=20)
        life: Double | None = Field(default=None, gt=0, lt=0.5)

        def accounts_of(self, table: str) -> str:
            """Name the table or the register that the accounts of a table's owners are kept for.

            >>> Owner(column="person", floor=0.2, register="persons").accounts_of("meters")
            'register persons'
            """
            return table if self.register is None else f"{REGISTER} {self.register}"

        @property
        def is_hidden(self) -> bool:
            """Whether it is a secret that an owner is there at all."""
            return self.rows is not None

        @property
        def most_rows(self) -> int:
            """How many rows of an owner count at most, in a table that protects records."""
            return self.rows or 1

        @property
        def stated(self) -> DeclaredLoss | None:
            """What answers are as (ε, δ), if that is declared."""
            return None if self.max_delta is None else DeclaredLoss(self.max_delta, self.max_epsilon, self.most_rows)

        @property
        def noun(self) -> str:
            """What one owner is called in sentences."""
            return self.column or "row"


def mistakes_in_periods(owner: Owner, public: Mapping[str, PublicColumn]) -> Iterator[tuple[str, str]]:
    """Give what is wrong with the periods of owners' accounts, and with what does not go together with them.

    >>> owner = Owner(column="home", floor=0.2, joined=Period(column="since"))
    >>> [where for where, _ in mistakes_in_periods(owner, {"since": PublicColumn(type="date")})]
    ['owner.joined']
    """
    if owner.life is not None and (owner.per is None or owner.life > owner.floor):
        yield (
            "owner.life",
            "is for an account beside those of periods: declare per, too; or leave it out, and floor is for life"
            if owner.per is None
            else f"is {owner.life:g}, and floor, which is for one period, {owner.floor:g}: a whole life cannot be "
            f"promised more than a part of it; declare a life of at most {owner.floor:g}",
        )
    for word, one in (("per", owner.per), ("joined", owner.joined)):
        if one is None or one.column not in public:
            continue
        type = public[one.column].type
        if type in ("date", "moment") and one.period is None:
            yield (
                f"owner.{word}",
                f'needs a period, since {one.column} is a {type}: period = "month", or another of {SPANS}',
            )
        elif type not in ("date", "moment") and one.period is not None:
            yield (
                f"owner.{word}.period",
                f"is for dates, and {one.column} is declared {type!r}: leave it out, and each value of {one.column} is "
                f"a period; or name a public date",
            )
    if owner.joined is None:
        return
    if owner.per is not None:
        yield "owner.joined", "cannot be declared together with per: an owner's account is divided in one way"
    if owner.register is not None:
        yield (
            "owner.joined",
            "cannot be declared together with register: when an owner joined is compared within one table only; leave "
            "one of the two out",
        )
    if owner.joined.column == owner.column:
        yield "owner.joined", f"names {owner.column!r}, the owner's own column: name one that many owners share"
