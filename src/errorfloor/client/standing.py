"""How accounts and quotas stand, as the server states it; the same words and numbers as beside the data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from errorfloor.accounts import Account, Balance, Charge
from errorfloor.floors.promise import Promise

ADDED = ("name", "exact", "explain")  # what the server sends besides the dictionary of the object itself


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

    @property
    def name(self) -> str:
        """What it is called."""
        return str(self.facts["name"])

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

    @property
    def promised(self) -> Promise:
        """What holds whatever is asked: the figures at the allowance."""
        exact = self.facts["exact"]
        prior, epsilon = self.facts.get("promised_against_prior"), exact.get("promised_epsilon")
        return Promise(exact["promised"], exact["promised_floor"], prior, epsilon)

    @property
    def told_apart(self) -> float:
        """The same from all answers so far, had their questions been fixed beforehand."""
        return float(self.facts["exact"]["told_apart"])

    @property
    def told_apart_by_this(self) -> float:
        """The same from this answer alone, whatever was asked before."""
        return float(self.facts["exact"]["told_apart_by_this"])

    @property
    def epsilon(self) -> float | None:
        """ε at the declared δ of all answers so far, if their questions had been fixed in advance."""
        return self.facts.get("epsilon")

    @property
    def floor(self) -> float | None:
        """Root-mean-square error of any estimator, worst case over the range, had questions been fixed beforehand."""
        floor = self.facts["exact"]["floor"]
        return None if floor is None else float(floor)


@dataclass(frozen=True, repr=False)
class RemoteQuota(RemoteBalance):
    """A quota of an analyst or a period; ``part`` is its declared share of the allowance.

    >>> facts = {"table": "meters", "column": "kwh", "cell": None, "charge": (0, 0), "spent": (0, 0)}
    >>> RemoteQuota.of(facts | {"allowance": (1, 1), "share": 0.25}).part
    0.25
    """

    @property
    def part(self) -> float:
        """The declared share of the allowance."""
        return float(self.facts["share"])


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


@dataclass(frozen=True, repr=False)
class RemoteSimulation(RemoteStatement):
    """What can still be asked, at the price of one question.

    >>> RemoteSimulation({"answers": 5, "explain": "5 more answers of this price can be given"})
    5 more answers of this price can be given
    """

    @property
    def answers(self) -> int | None:
        """How many further answers of this price fit; None: they cost nothing."""
        return self.facts["answers"]  # type: ignore[no-any-return]

    @property
    def binding(self) -> str | None:
        """The account or quota that ends them."""
        return self.facts["binding"]  # type: ignore[no-any-return]

    @property
    def least_max_error(self) -> dict[str, float] | None:
        """The smallest bounds with which the question can be afforded once more."""
        return self.facts["least_max_error"]  # type: ignore[no-any-return]

    @property
    def free(self) -> bool:
        """Whether this very question was answered already."""
        return bool(self.facts["free"])


@dataclass(frozen=True, repr=False)
class RemotePlan(RemoteStatement):
    """What listed questions would take, what fits together, and the floors that would allow it.

    >>> RemotePlan({"fits": True, "explain": "they fit"}).fits
    True
    """

    @property
    def fits(self) -> bool:
        """Whether all questions fit together under the declared floors, from an empty ledger."""
        return bool(self.facts["fits"])

    @property
    def wider(self) -> float | None:
        """By how much all bounds would have to be wider for everything to fit."""
        return self.facts["wider"]  # type: ignore[no-any-return]
