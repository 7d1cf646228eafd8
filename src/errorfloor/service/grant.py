"""A grant: what one who asks is limited to, beside the allowances and quotas that hold for everybody."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from errorfloor.catalogue import Catalogue
from errorfloor.ledger import Quotas
from errorfloor.ledger.quotas import holder_of, part
from errorfloor.pricing import Account, Charge
from errorfloor.service.quota import QuotaStanding


@dataclass(frozen=True)
class Grant:
    """Some tables and streams, and shares of every allowance for one question and for one day; None is no limit.

    ``token`` is what the day's share is counted by. A table that is not named does not exist for who has the grant;
    public tables that are joined have to be named, too.

    >>> from errorfloor.service.example import example_database
    >>> with example_database() as db:
    ...     narrow = db.within(Grant("3f2a", question=0.01))
    ...     price = narrow.price("SELECT avg(kwh) FROM meters", spend=0.05)
    >>> price.affordable, price.quotas[0].name
    (False, 'the quota of token 3f2a in one question of meters.kwh')
    """

    token: str = ""
    tables: tuple[str, ...] = ()
    question: float | None = None
    day: float | None = None

    def covers(self, name: str) -> bool:
        """Whether a table or stream is named, or all are."""
        return not self.tables or name in self.tables

    def part_of(self, catalogue: Catalogue) -> Catalogue:
        """Give the part of a catalogue that it covers."""
        if not self.tables:
            return catalogue
        tables = {name: table for name, table in catalogue.tables.items() if self.covers(name)}
        streams = {name: stream for name, stream in catalogue.streams.items() if self.covers(name)}
        return catalogue.model_copy(update={"tables": tables, "streams": streams})

    def quotas(self, shares: Mapping[str, float], analyst: str | None) -> Quotas:
        """Give quotas together with the share of a day."""
        own = {} if self.day is None else {"token_day": self.day}
        return Quotas({**shares, **own}, analyst, self.token if own else None)

    def of_question(
        self, asked: Mapping[Account, Charge], allowances: Mapping[Account, Charge]
    ) -> tuple[QuotaStanding, ...]:
        """Say how the share for one question stands: it is whole again for each."""
        if self.question is None:
            return ()
        holder = holder_of("token_question", self.token)
        return tuple(
            QuotaStanding(
                replace(account, holder=holder), self.question, charge, charge, part(allowances[account], self.question)
            )
            for account, charge in sorted(asked.items())
        )


NO_LIMITS = Grant()
