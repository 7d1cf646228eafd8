"""Trips under way, together or alone: what makes two the same, their noise, and the ranges of their measurements."""

import hashlib
import hmac
import json
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from errorfloor.catalogue import PrivateColumn
from errorfloor.checks import Array, numbers, whole
from errorfloor.dynamics import Plan
from errorfloor.dynamics.state_space import StateSpace, combined
from errorfloor.errors import InputError, RefusedError
from errorfloor.identity import Key, Label, encode
from errorfloor.noise.lattice import Lattice
from errorfloor.random import SAMPLER, RowBits

Name = str | int
ARITHMETIC = 2  # the version of how noise is carried; a change of it is a change of every answer
VERSIONS = ("arithmetic", ARITHMETIC, "sampler", SAMPLER)


@dataclass(frozen=True, eq=False)
class Ranges:
    """The ranges of a system's states, and those of C_k x that follow; a state without one may be anywhere.

    What lies outside is refused and not clamped: the end of a range is a known position, and one known position may
    reveal the noise of a whole trip. The refusal depends on the measurement; it is for whoever gave it alone.

    >>> from fractions import Fraction
    >>> vehicle = StateSpace([[1.0, 1.0], [0.0, 1.0]], [[-1.0, 0.0]], 9, states=("position", "speed"))
    >>> place = PrivateColumn(range=(-50, 5000), resolution="0.1", floor=20, unit="m")
    >>> ranges = Ranges(vehicle, {"position": place})
    >>> ranges.ends(3)
    (array([-5000.]), array([50.]))
    >>> ranges.check(3, np.array([[51.0]]))
    Traceback (most recent call last):
    errorfloor.errors.RefusedError: a measurement lies outside the declared range (position -50 … 5000 m): ...
    """

    system: StateSpace
    states: Mapping[str, PrivateColumn]

    def check(self, step: int, measurements: Array) -> None:
        """Refuse measurements of a step, one trip a row, if one lies outside; infinity and NaN are for others."""
        low, high = self.ends(step)
        outside = (measurements < low) | (measurements > high)
        if (outside & np.isfinite(measurements)).any():
            raise RefusedError(
                f"a measurement lies outside the declared range ({self._words()}): leave the step out if it is a "
                f"mistake of the instrument, or declare a range that no trip leaves; nothing was answered or charged "
                f"for it",
                reason="measurement",
            )

    def ends(self, step: int) -> tuple[Array, Array]:
        """Give the least and the greatest C_k x over all states x in their ranges."""
        return self._ends[min(step, len(self._ends) - 1)]

    @cached_property
    def _ends(self) -> list[tuple[Array, Array]]:
        columns = [self.states.get(name) for name in self.system.states]
        low = np.array([-np.inf if column is None else float(column.low) for column in columns])
        high = np.array([np.inf if column is None else float(column.high) for column in columns])
        found = []
        for C in self.system.C:
            with np.errstate(invalid="ignore"):  # 0·∞, where a state does not count
                ends = np.where(C == 0, 0.0, np.stack([C * low, C * high]))
            found.append((ends.min(axis=0).sum(axis=1), ends.max(axis=0).sum(axis=1)))
        return found

    def explain(self) -> str:
        """Say what is refused, and what is not."""
        free = not all(np.isfinite(end).all() for pair in self._ends for end in pair)
        some = " Measurements that depend on a state without a declared range may take any value." if free else ""
        return f"A measurement outside the declared range is refused, not clamped: {self._words()}.{some}"

    def _words(self) -> str:
        return ", ".join(
            f"{state} {float(column.low):g} … {float(column.high):g}{column.unit and ' '}{column.unit}"
            for state, column in self.states.items()
        )


def law_digest(plain: Any, arrays: Sequence[Array | None]) -> str:
    """Give a digest of what decides a stream's noise: plain JSON types, and arrays to the last bit.

    >>> law_digest({"a": 1.0}, [np.zeros(2)]) == law_digest({"a": 1.0}, [np.ones(2)])
    False
    """
    digest = hashlib.sha256(json.dumps([plain, [None if one is None else one.shape for one in arrays]]).encode())
    for one in arrays:
        if one is not None:
            digest.update(np.ascontiguousarray(one, dtype="<f8").tobytes())
    return digest.hexdigest()


def trip_label(stream: str, law: str, entity: Name, trip: Name) -> Label:
    """Give the label of one trip of one entity.

    >>> trip_label("cars", "00", "car 7", "monday").encoded == trip_label("cars", "00", "car 7", "tuesday").encoded
    False
    """
    return Label("trip", (VERSIONS, stream, law, entity, trip))


def trip_tags(key: Key, stream: str, law: str, trips: Sequence[tuple[Name, Name]]) -> Array:
    """Give two words for each trip, which follow from the key, the stream and the trip."""
    tagging = key.derive(Label("trips", (VERSIONS, stream, law)))
    digests = b"".join(hmac.digest(tagging, encode(trip), "sha256")[:16] for trip in trips)
    return np.frombuffer(digests, dtype="<u8").reshape(-1, 2)


def trip_bits(key: Key, stream: str, law: str, tags: Array, purpose: str, number: int) -> RowBits:
    """Give the bits of each trip for a purpose: its start on a leg, or the noise of one of its steps."""
    return RowBits(key.derive(Label(f"trip {purpose}", (VERSIONS, stream, law, number))), tags)


def check_name(what: str, value: Any) -> Name:
    """Give the name of an entity or a trip, a text or a whole number.

    >>> check_name("entity", "")
    Traceback (most recent call last):
    errorfloor.errors.InputError: entity must be a text or a whole number, got ''
    """
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        raise InputError(f"{what} must be a text or a whole number, got {value!r}")
    return unicodedata.normalize("NFC", value) if isinstance(value, str) else value


@dataclass(frozen=True)
class Drawing:
    """Whose noise is drawn, and from what: everything that a trip's noise depends on."""

    plan: Plan
    stream: str
    law: str
    trips: tuple[tuple[Name, Name], ...]
    keys: tuple[Key, ...]
    deviations: Array | None

    def starts(self) -> Array:
        """Draw z of every trip, one a column."""
        drawn = np.empty((self.plan.system.dimension, len(self.trips)))
        for chosen, bits in self._bits("leg", 0):
            drawn[:, chosen] = self.plan.start.draw(len(chosen), bits).T
        return drawn

    def step_noise(self, step: int) -> Array | None:
        """Draw the independent noise of every trip at a step, of shape (m, trips); None where there is none."""
        if self.deviations is None:
            return None
        drawn = np.empty((self.plan.system.outputs, len(self.trips)))
        for chosen, bits in self._bits("step", step):
            drawn[:, chosen] = float(self.deviations[step]) * bits.normals(len(drawn), len(chosen))
        return drawn

    @cached_property
    def _groups(self) -> list[tuple[Key, list[int], Array]]:
        """The trips of each key: their places and tags."""
        places: dict[str, list[int]] = {}
        for place, key in enumerate(self.keys):
            places.setdefault(key.id, []).append(place)
        found = []
        for chosen in places.values():
            key, trips = self.keys[chosen[0]], [self.trips[place] for place in chosen]
            found.append((key, chosen, trip_tags(key, self.stream, self.law, trips)))
        return found

    def _bits(self, purpose: str, number: int) -> Iterator[tuple[list[int], RowBits]]:
        for key, chosen, tags in self._groups:
            yield chosen, trip_bits(key, self.stream, self.law, tags, purpose, number)


class Fleet:
    """Trips of many entities at the same step; made by ``Stream.trips``.

    >>> from errorfloor.service.example import example_database
    >>> with example_database() as db:
    ...     fleet = db.declared_streams.journal("cars").stream.trips(["car 7", "car 8"], ["monday", "monday"])
    >>> fleet.answer([[120.0], [80.0]]).shape, fleet.step
    ((2, 1), 1)
    """

    def __init__(self, drawing: Drawing, lattice: Lattice, ranges: Ranges) -> None:
        self._drawing, self._ranges = drawing, ranges
        self._system = drawing.plan.system
        self._offset = drawing.plan.offset
        self._lattice = lattice
        self._states = drawing.starts()
        self._step = 0

    @property
    def step(self) -> int:
        """The step that is answered next."""
        return self._step

    @property
    def keys(self) -> tuple[str, ...]:
        """The ids of the keys that the noise of each trip follows from."""
        return tuple(key.id for key in self._drawing.keys)

    def answer(self, measurements: Any) -> Array:
        """Give the released measurements of the next step, one row a trip, and move on.

        ``measurements`` has shape (trips, m). If one lies outside the declared ranges, none is answered.
        """
        self._check_horizon(self._step)
        plain = isinstance(measurements, np.ndarray) and measurements.dtype == np.float64
        given: Array = measurements if plain else numbers("measurements", measurements)
        if given.shape != (len(self._drawing.trips), self._system.outputs):
            wanted = (len(self._drawing.trips), self._system.outputs)
            raise InputError(f"measurements must have shape {wanted}, got {given.shape}")
        self._ranges.check(self._step, given)
        noise = combined(self._system.output_matrix(self._step), self._states).T
        released = given + (noise if self._offset is None else noise + self._offset[self._step])
        added = self._drawing.step_noise(self._step)
        if added is not None:
            released += added.T
        if not np.isfinite(released).all():
            raise InputError("a measurement is not a finite number: leave out steps without one with seek")
        rounded = self._lattice.round_in_place(released)
        self._move()
        return rounded

    def seek(self, step: int) -> None:
        """Go forward to a step without answering those between, as after a restart."""
        target = whole("step", step, least=0)
        if target < self._step:
            raise RefusedError(
                f"step {target} is behind: answers go forward, the next is {self._step}; begin the trip again to "
                f"repeat answers",
                reason="step",
            )
        self._check_horizon(target)
        while self._step < target:
            self._move()

    def _move(self) -> None:
        if self._step < self._system.horizon:
            self._states = combined(self._system.step_matrix(self._step), self._states)
        self._step += 1

    def _check_horizon(self, step: int) -> None:
        if step > self._system.horizon:
            raise RefusedError(
                f"step {step} is beyond the horizon {self._system.horizon} that the plan was made for: begin another "
                f"trip, or plan a longer horizon",
                reason="horizon",
            )


class Trip:
    """One trip of one entity; made by ``Stream.trip``.

    >>> from errorfloor.service.example import example_database
    >>> with example_database() as db:
    ...     trip = db.declared_streams.journal("cars").stream.trip("car 7", "monday")
    >>> trip.answer([120.0]).shape, trip.step
    ((1,), 1)
    """

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    @property
    def step(self) -> int:
        """The step that is answered next."""
        return self._fleet.step

    @property
    def key(self) -> str:
        """The id of the key that its noise follows from."""
        return self._fleet.keys[0]

    def answer(self, measurement: Any) -> Array:
        """Give the released measurement of the next step, m numbers, and move on."""
        given = np.atleast_1d(numbers("measurement", measurement))
        if given.ndim != 1:
            raise InputError(f"measurement must be a list of numbers, got an array of shape {given.shape}")
        return np.asarray(self._fleet.answer(given[None])[0])

    def seek(self, step: int) -> None:
        """Go forward to a step without answering those between, as after a restart."""
        self._fleet.seek(step)
