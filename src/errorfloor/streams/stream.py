"""Streams: released trajectories of many entities, one draw and one charge a trip."""

import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from errorfloor.accounts import Account, Charge, cell_text
from errorfloor.catalogue import PrivateColumn
from errorfloor.catalogue.allowance import allowance
from errorfloor.charging.refusal import refusal
from errorfloor.charging.settling import NO_LIMITS, Charging, Grant, Terms, charged_under, column_terms
from errorfloor.dynamics import Plan, Robust
from errorfloor.errors import CatalogueError, InputError
from errorfloor.floors.words import rounded_up
from errorfloor.identity import Key, KeyRing
from errorfloor.ledger import Entry, Ledger
from errorfloor.noise.lattice import Lattice
from errorfloor.pricing.joint import SLACK
from errorfloor.streams.fleet import Drawing, Fleet, Name, Ranges, Trip, check_name, law_digest, trip_label

AGAIN = "trips that were begun can be gone on with"
REFUSE = "refuse"  # what happens beyond the horizon: it is part of the label of every trip


@dataclass(frozen=True)
class ProtectedStates:
    """What a stream protects: the states of its entities' starts, each an account of its own."""

    private: Mapping[str, PrivateColumn]
    owner: None = None
    exact: bool = False


class Stream:
    """Answers for trips of many entities, one step at a time, with noise that follows from entity and trip alone.

    A trip is charged once to its entity's accounts, durably, before its first answer. A restart, a second server or a
    replay gives the same noise and is free; the next trip has other noise. Give every step's measurement once: a
    corrected one for the same step would show the correction exactly. A measurement beyond the declared
    ranges is refused.

    Guarantee: as long as trips obey the plan's system, what all of an entity's trips tell about each protected state
    of its start keeps the declared floor.

    Parameters
    ----------
    plan
        What ``LinearSystem.protect`` gave, or a ``Robust`` version of it.
    name
        The stream's name in the ledger, and in the labels of its noise.
    states
        For each protected state of the plan what the custodian declares of it: range, resolution, floor, unit.
    keys
        The custodian's keys, the one in use last. A trip that was begun under an older one goes on under it.
    ledger
        Where trips are charged.
    step
        The lattice on which answers leave; by default two hundredths of the smallest noise.

    Examples
    --------
    >>> from errorfloor.dynamics import LinearSystem
    >>> from errorfloor.ledger import MemoryLedger
    >>> vehicle = LinearSystem([[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0]], 9, states=("position", "speed"))
    >>> place = PrivateColumn(range=(-5000, 5000), resolution="0.1", floor=20, unit="m")
    >>> stream = Stream(
    ...     vehicle.protect(max_loss=1e5, protect="position"),
    ...     name="cars",
    ...     states={"position": place},
    ...     keys=Key.fresh(),
    ...     ledger=MemoryLedger(),
    ... )
    >>> first = [float(stream.trip("car 7", "monday").answer([120.0])[0]) for _ in range(2)]
    >>> first[0] == first[1]
    True
    >>> {state: round(share, 4) for state, share in stream.share.items()}
    {'position': 0.0865}
    """

    def __init__(
        self,
        plan: Plan | Robust,
        *,
        name: str,
        states: Mapping[str, PrivateColumn],
        keys: KeyRing | Key | Sequence[Key],
        ledger: Ledger,
        step: Any = None,
        identity: str | None = None,
    ) -> None:
        if not isinstance(plan, (Plan, Robust)):
            raise InputError(f"plan must be a plan made by protect, got {type(plan).__name__}")
        self.plan = plan.plan if isinstance(plan, Robust) else plan
        self._deviations = plan.deviations if isinstance(plan, Robust) else None
        if not isinstance(name, str) or not name:
            raise InputError(f"name must be a text, got {name!r}")
        self.name = name
        if not self.plan.start.repeatable:
            raise InputError(
                "the plan's noise is not the same on every machine, so trips could not be repeated: plan a bound "
                "with method='product'"
            )
        self.floor = plan.floor
        self.states = self._checked(states)
        self._protected = ProtectedStates(self.states)
        self.ranges = Ranges(self.plan.system, self.states)
        self._keys = [keys] if isinstance(keys, Key) else list(keys.keys if isinstance(keys, KeyRing) else keys)
        self.ledger = ledger
        self.lattice = self._lattice(step)
        self._proposed = secrets.token_hex(16) if identity is None else identity
        system, start = self.plan.system, self.plan.start
        self._law = law_digest(
            [start.noise.law, system.horizon, self.lattice.step, REFUSE],
            [start.embedding, system.A, system.C, self.plan.offset, self._deviations],
        )

    # -- what it costs

    @property
    def charge(self) -> dict[str, Charge]:
        """What one trip costs the account of each protected state."""
        return {state: Charge(self._information(state) * SLACK, 0.0) for state in self.states}

    @property
    def share(self) -> dict[str, float]:
        """Which part of an entity's whole allowance for each protected state one trip takes."""
        charges = self.charge
        return {name: charges[name].information / allowance(column)[0] for name, column in self.states.items()}

    def explain(self) -> str:
        """Say what is promised, under which model, and what a trip costs."""
        worst = max(self.share.values())
        trips = math.floor(1 / worst)
        units = {state: column.unit for state, column in self.states.items()}
        promised = self.plan.explain(unit=units, carried_alone=self._deviations is None)
        return (
            f"{promised} {self.ranges.explain()} "
            f"Each trip takes {rounded_up(100 * worst)} % of its entity's allowance, so the declared floors allow "
            f"{trips} trip{'' if trips == 1 else 's'} of an entity; repeating one is free."
        )

    # -- trips

    def trip(self, entity: Any, trip: Any, grant: Grant = NO_LIMITS) -> Trip:
        """Begin a trip, or go on with it; it is charged unless it was before.

        Raises AllowanceError if the entity's allowance, or what is granted, does not cover it; nothing is charged then.
        """
        return Trip(self.trips([entity], [trip], grant))

    def trips(self, entities: Sequence[Any], trips: Sequence[Any], grant: Grant = NO_LIMITS) -> Fleet:
        """Begin the trips of many entities, in step with each other; all are charged, or none."""
        if len(entities) != len(trips) or not len(entities):
            raise InputError(f"each entity needs a trip, got {len(entities)} entities and {len(trips)} trips")
        pairs = [
            (check_name("entity", entity), check_name("trip", trip))
            for entity, trip in zip(entities, trips, strict=True)
        ]
        if len(set(pairs)) < len(pairs):
            raise InputError("the same trip of an entity is named twice")
        keys, law = self._charged(pairs, grant)
        drawing = Drawing(self.plan, self.name, law, tuple(pairs), tuple(keys), self._deviations)
        return Fleet(drawing, self.lattice, self.ranges)

    def labels(self, entity: Any, trip: Any) -> dict[str, str]:
        """Give the names under which the ledger may know a trip, by the id of each key, the oldest first."""
        names = check_name("entity", entity), check_name("trip", trip)
        label = trip_label(self.name, self._drawn_by(self._identity()), *names)
        return {key.id: key.release_id(label) for key in self._keys}

    def _identity(self) -> str:
        """Give the random name of what this stream measures, which the ledger keeps with the first trip.

        Streams have no snapshot. Noise belongs to the ledger that it was charged in: the same names and the same key
        with another ledger are another stream, and other noise.
        """
        held = self.ledger.terms((self.name, "stream"))
        return self._proposed if held is None else str(held["identity"])

    def _drawn_by(self, identity: str) -> str:
        """Give what decides the noise of a trip besides its key and its names."""
        return f"{self._law} {identity}"

    def _charged(self, pairs: Sequence[tuple[Name, Name]], grant: Grant) -> tuple[list[Key], str]:
        """Charge trips; give for each the key that its noise follows from, and the law that all follow."""
        identity = self._identity()
        try:
            keys = self._charge(pairs, grant, identity)
        except CatalogueError:
            if self._identity() == identity:
                raise
            identity = self._identity()  # another process began the stream's first trip just now
            keys = self._charge(pairs, grant, identity)
        return keys, self._drawn_by(identity)

    def _charge(self, pairs: Sequence[tuple[Name, Name]], grant: Grant, identity: str) -> list[Key]:
        """Charge the trips that were not charged before; give for each the key that its noise follows from."""
        labels = [trip_label(self.name, self._drawn_by(identity), *pair) for pair in pairs]
        keys = charged_under(self.ledger, labels, self._keys, self._keys[-1])
        price = self.charge
        entries: list[Entry] = []
        allowances: dict[Account, Charge] = {}
        for (entity, trip), label, key in zip(pairs, labels, keys, strict=True):
            accounts = {state: Account(self.name, state, cell_text((entity,))) for state in self.states}
            charges = {accounts[state]: price[state] for state in self.states}
            note = {"stream": self.name, "entity": entity, "trip": trip, "key": key.id}
            entries.append(Entry(key.release_id(label), charges, note))
            allowances |= {accounts[state]: Charge(*allowance(column)) for state, column in self.states.items()}
        charging = Charging(
            self.ledger,
            self._protected,
            entries,
            allowances,
            self._terms(identity),
            lambda stand, _: refusal("trip", *stand, again=AGAIN, instead=_wider),
            grant.quotas({}, None),
            grant,
        )
        charging.check_question()
        charging.settle()
        return keys

    def _terms(self, identity: str) -> Terms:
        own: Terms = {
            (self.name,): {"account_by": [["entity", "name", None]], "owner": None},
            (self.name, "stream"): {"identity": identity},
        }
        return own | column_terms(self.name, self.states)

    # -- what is checked once

    def _checked(self, states: Mapping[str, PrivateColumn]) -> dict[str, PrivateColumn]:
        names = self.plan.system.states
        if not names:
            raise InputError("a stream needs names for the states: LinearSystem(…, states=(…))")
        if not states or not all(isinstance(column, PrivateColumn) for column in states.values()):
            raise InputError("states must map names of protected states to PrivateColumn(range=…, resolution=…, …)")
        for state in states:
            if state not in names:
                raise InputError(f"{state!r} is not a state of the system; its states are {', '.join(names)}")
            place = names.index(state)
            if self.floor.exposed[place]:
                raise InputError(
                    f"{state} is declared private, but the plan does not protect it: it is released exactly"
                )
            if self.floor.entry_information[place] == 0:
                raise InputError(f"{state} is never at risk, because no answer depends on it: leave it out")
        return dict(states)

    def _information(self, state: str) -> float:
        return float(self.floor.entry_information[self.plan.system.states.index(state)])

    def _lattice(self, step: Any) -> Lattice:
        if self.plan.lattice is not None:
            if step is not None and Lattice(step) != self.plan.lattice:
                raise InputError(f"the plan's answers are in steps of {self.plan.lattice.step}, not {step}")
            return self.plan.lattice
        if self.plan.noise.support.is_bounded:
            raise InputError("a bound holds after rounding only if the plan knows the lattice: protect(…, step=…)")
        if step is not None:
            return Lattice(step)
        spread = self.plan.system.carry(self.plan.covariance_root.T)
        deviation = np.sqrt((spread**2).sum(axis=0))
        return Lattice.for_width(4 * float(deviation[deviation > 0].min()))


def _wider(factor: float) -> str:
    return (
        f"a plan whose noise has {rounded_up(1 / factor)} times the variance could be begun with what is left; trips "
        f"that were begun stay free"
    )
