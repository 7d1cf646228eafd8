"""Quotas: shares of every allowance for one analyst, or for one day, week or month, or for both.

A quota is one more account. What an answer charges to an account it charges to its quotas too, in the same transaction,
so that nothing can race; and the account itself is still compared with the whole allowance, so that no clock, no name
and no number of analysts gets more out of it. Releases of whole tables and trips of streams, which the custodian makes,
count against the allowance alone.
"""

import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from errorfloor.accounts import PERIODS, Account, Charge
from errorfloor.errors import InputError
from errorfloor.ledger.total import round_down

COUNTED = ("day", "week", "month")  # periods that quotas are for
KINDS = ("analyst", *COUNTED, *(f"analyst_{period}" for period in COUNTED), "token_day")
PERSONS = ("analyst", "token")
LONGEST_NAME = 200


@dataclass(frozen=True)
class Quotas:
    """The quotas that apply to one who asks: ``shares`` by kind, and the name of the analyst, None for the custodian.

    Kinds are ``analyst``, ``day``, ``week``, ``month``, ``analyst_day``, ``analyst_week``, ``analyst_month``, and
    ``token_day`` for one ``token``. Periods are those of universal time.

    Raises InputError for a kind or a share that is none, and for a name that cannot be one.

    >>> quotas = Quotas({"analyst": 0.25, "month": 0.1}, analyst="ada")
    >>> quotas.holders("2026-11-15T13:00:00+00:00")
    {'["analyst", "ada"]': 0.25, '["month", "2026-11"]': 0.1}
    >>> Quotas({"analyst": 0.25, "month": 0.1}).holders("2026-11-15T13:00:00+00:00")
    {'["month", "2026-11"]': 0.1}
    """

    shares: Mapping[str, float] = field(default_factory=dict)
    analyst: str | None = None
    token: str | None = None

    def __post_init__(self) -> None:
        for kind, share in self.shares.items():
            if kind not in KINDS:
                raise InputError(f"a quota is one of {', '.join(KINDS)}, got {kind!r}")
            if not 0 < share <= 1:
                raise InputError(f"quota {kind} is a share of the allowance, above 0 and at most 1; got {share}")
        if self.analyst is not None:
            check_analyst(self.analyst)

    def holders(self, time: str) -> dict[str, float]:
        """Give the holders of quotas that a charge at that time counts for, and their shares."""
        if not self.shares:
            return {}
        now = datetime.datetime.fromisoformat(time)
        found = {}
        for kind in KINDS:
            person, period = _split(kind)
            whose = {"analyst": self.analyst, "token": self.token, "": ""}[person]
            if kind in self.shares and whose is not None:
                parts = [*([whose] if person else []), *([PERIODS[period](now)] if period else [])]
                found[holder_of(kind, *parts)] = self.shares[kind]
        return found

    def extend(self, charges: Mapping[Account, Charge], time: str) -> dict[Account, Charge]:
        """Give charges together with the same charges to every quota."""
        extended = dict(charges)
        for holder in self.holders(time):
            extended |= {replace(account, holder=holder): charge for account, charge in charges.items()}
        return extended

    def limits(self, allowances: Mapping[Account, Charge], time: str) -> dict[Account, Charge]:
        """Give allowances together with what every quota allows, rounded down."""
        extended = dict(allowances)
        for holder, share in self.holders(time).items():
            extended |= {replace(account, holder=holder): part(whole, share) for account, whole in allowances.items()}
        return extended


NO_QUOTAS = Quotas()


def part(whole: Charge, share: float) -> Charge:
    """Give a share of an allowance, rounded down.

    >>> part(Charge(0.3, 1e-6), 0.5)
    Charge(information=0.15, evaluation=5e-07, raised_cosine=0.0)
    """
    exact = Fraction(share)
    return Charge.of({name: round_down(exact * Fraction(amount)) for name, amount in whole.amounts().items()})


def check_analyst(name: object) -> str:
    """Accept the name of an analyst: a text that can stand in a sentence.

    >>> check_analyst("ada")
    'ada'
    """
    if not isinstance(name, str) or not name or not name.isprintable() or len(name) > LONGEST_NAME:
        raise InputError(
            f"analyst must be a name of 1 to {LONGEST_NAME} printable characters, got {name!r:.60}", analyst=None
        )
    return name


def holder_of(kind: str, *parts: str) -> str:
    """Name a holder: the kind, whose it is, and the period, as far as it has them.

    >>> holder_of("analyst_month", "ada", "2026-11")
    '["analyst_month", "ada", "2026-11"]'
    """
    return json.dumps([kind, *parts], ensure_ascii=False)


def holder_parts(holder: str) -> tuple[str, str | None, str | None]:
    """Give the kind of a holder, the analyst or token, and the period.

    >>> holder_parts('["analyst_month", "ada", "2026-11"]'), holder_parts('["day", "2026-11-15"]')
    (('analyst_month', 'ada', '2026-11'), ('day', None, '2026-11-15'))
    """
    kind, *rest = json.loads(holder)
    return kind, rest.pop(0) if _split(kind)[0] else None, rest.pop(0) if rest else None


def holder_words(holder: str) -> str:
    """Name a holder in words.

    >>> holder_words('["analyst", "ada"]'), holder_words('["month", "2026-11"]')
    ('analyst ada', 'month 2026-11')
    >>> holder_words('["token_question", "3f2a"]')
    'token 3f2a in one question'
    """
    kind, whose, period = holder_parts(holder)
    person, span = _split(kind)
    words = [] if whose is None else [f"{person} {whose}"]
    if span:
        words.append(f"one {span}" if period is None else f"{span} {period}")
    return " in ".join(words)


def _split(kind: str) -> tuple[str, str]:
    """Split a kind into who is meant, if somebody is, and in what.

    >>> _split("analyst_month"), _split("day"), _split("analyst")
    (('analyst', 'month'), ('', 'day'), ('analyst', ''))
    """
    first, _, rest = kind.partition("_")
    return (first, rest) if first in PERSONS else ("", kind)
