"""How accounts and quotas stand, as the server states it; the same words and numbers as beside the data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Self, TypeVar

from errorfloor.accounts import Account, Balance, Charge
from errorfloor.floors.words import Promise

ADDED = ("name", "exact", "explain")  # what the server sends besides the dictionary of the object itself
Value = TypeVar("Value")


class Sent(Generic[Value]):
    """An attribute of something that a server states: what it reads from the ``facts``, and a sentence about it.

    >>> class Thing:
    ...     facts = {"free": 1}
    ...     free = Sent(lambda said: bool(said["free"]), "Whether it costs nothing.")
    >>> Thing().free, Thing.free.__doc__
    (True, 'Whether it costs nothing.')
    """

    def __init__(self, read: Callable[[Mapping[str, Any]], Value], about: str) -> None:
        self._read, self.__doc__ = read, about

    def __get__(self, thing: Any, kind: type) -> Value:
        return self if thing is None else self._read(thing.facts)  # type: ignore[return-value]  # of a class, itself

    def __set__(self, thing: Any, value: Any) -> None:
        raise AttributeError("a server states it: it cannot be set")


@dataclass(frozen=True, repr=False)
class RemoteBalance(Balance):
    """A balance that the server states in numbers and in words."""

    facts: Mapping[str, Any] = field(repr=False)

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Self:
        """Read what the server gave."""
        account = Account(facts["table"], facts["column"] or "", facts["cell"] or "")
        charge, spent, allowance = (Charge(*facts[name]) for name in ("charge", "spent", "allowance"))
        return cls(account, charge, spent, allowance, facts)

    name = Sent(lambda said: str(said["name"]), "What it is called.")

    def explain(self) -> str:
        """Say it in sentences."""
        return str(self.facts["explain"])

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain JSON types."""
        return {name: value for name, value in self.facts.items() if name not in ADDED}

    def __repr__(self) -> str:
        return self.explain()


@dataclass(frozen=True, repr=False)
class RemoteStanding(RemoteBalance):
    """An account, with what follows for the entries or owners that it stands for.

    >>> facts = {"table": "meters", "column": "kwh", "cell": None, "charge": (0, 0), "spent": (0, 0)}
    >>> facts |= {"allowance": (1, 1), "exact": {"promised": 0.8, "promised_floor": 2.0, "floor": 13.81}}
    >>> RemoteStanding.of(facts).promised.floor, RemoteStanding.of(facts).floor
    (2.0, 13.81)
    """

    told_apart = Sent(
        lambda said: float(said["exact"]["told_apart"]),
        "How often two values can be told apart from all answers so far, had their questions been fixed beforehand.",
    )
    told_apart_by_this = Sent(
        lambda said: float(said["exact"]["told_apart_by_this"]),
        "The same from this answer alone, whatever was asked before.",
    )
    epsilon = Sent[float | None](
        lambda said: said.get("epsilon"),
        "ε at the declared δ of all answers so far, if their questions had been fixed in advance.",
    )
    floor = Sent[float | None](
        lambda said: said["exact"]["floor"],
        "Root-mean-square error of any estimator, worst case over the range, had questions been fixed beforehand.",
    )

    @property
    def promised(self) -> Promise:
        """What holds whatever is asked: the figures at the allowance."""
        exact = self.facts["exact"]
        prior, epsilon = self.facts.get("promised_against_prior"), exact.get("promised_epsilon")
        return Promise(exact["promised"], exact["promised_floor"], prior, epsilon)


@dataclass(frozen=True, repr=False)
class RemoteQuota(RemoteBalance):
    """A quota of an analyst or a period; ``part`` is its declared share of the allowance.

    >>> facts = {"table": "meters", "column": "kwh", "cell": None, "charge": (0, 0), "spent": (0, 0)}
    >>> RemoteQuota.of(facts | {"allowance": (1, 1), "share": 0.25}).part
    0.25
    """

    part = Sent(lambda said: float(said["share"]), "The declared share of the allowance.")


STANDINGS = Sent(lambda said: tuple(map(RemoteStanding.of, said["accounts"])), "How each account stands.")
QUOTAS = Sent(lambda said: tuple(map(RemoteQuota.of, said["quotas"])), "How each quota stands.")
AFFORDABLE = Sent(lambda said: bool(said["affordable"]), "Whether every allowance and every quota suffices.")


@dataclass(frozen=True, repr=False)
class RemoteStatement:
    """What a server states in numbers and in words."""

    facts: Mapping[str, Any]

    def explain(self) -> str:
        """Say it in sentences."""
        return str(self.facts["explain"])

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain JSON types."""
        return {name: value for name, value in self.facts.items() if name != "explain"}

    def __repr__(self) -> str:
        return self.explain()


class RemoteSimulation(RemoteStatement):
    """What can still be asked, at the price of one question.

    >>> RemoteSimulation({"answers": 5, "explain": "5 more answers of this price can be given"})
    5 more answers of this price can be given
    """

    answers = Sent[int | None](
        lambda said: said["answers"], "How many further answers of this price fit; None: they cost nothing."
    )
    binding = Sent[str | None](lambda said: said["binding"], "The account or quota that ends them.")
    least_max_error = Sent[dict[str, float] | None](
        lambda said: said["least_max_error"],
        "The smallest bounds with which the question can be afforded once more.",
    )
    free = Sent(lambda said: bool(said["free"]), "Whether this very question was answered already.")


class RemotePlan(RemoteStatement):
    """What listed questions would take, what fits together, and the floors that would allow it.

    >>> RemotePlan({"fits": True, "explain": "they fit"}).fits
    True
    """

    fits = Sent(
        lambda said: bool(said["fits"]),
        "Whether all questions fit together under the declared floors, from an empty ledger.",
    )
    wider = Sent[float | None](
        lambda said: said["wider"], "By how much all bounds would have to be wider for everything to fit."
    )


class RemoteFollowPrice(RemoteStatement):
    """What a standing question, or one more block of it, would cost; nothing is charged.

    >>> RemoteFollowPrice({"affordable": True, "explain": "Every month …"})
    Every month …
    """

    standings, quotas, affordable = STANDINGS, QUOTAS, AFFORDABLE

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain JSON types."""
        lists = {"accounts": self.standings, "quotas": self.quotas}
        return super().to_dict() | {name: [one.to_dict() for one in every] for name, every in lists.items()}
