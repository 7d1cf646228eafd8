"""Trips under way, together or alone."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from errorfloor.checks import Array, numbers, whole
from errorfloor.dynamics import Plan
from errorfloor.errors import InputError, RefusedError
from errorfloor.identity import Key
from errorfloor.noise.lattice import Lattice
from errorfloor.random import RowBits
from errorfloor.streams.carrying import Carrier, power
from errorfloor.streams.naming import Name, trip_bits, trip_tags
from errorfloor.streams.ranges import Ranges


@dataclass(frozen=True)
class Drawing:
    """Whose noise is drawn, and from what: everything that a trip's noise depends on."""

    plan: Plan
    stream: str
    law: str
    trips: tuple[tuple[Name, Name], ...]
    keys: tuple[Key, ...]
    deviations: Array | None
    halving: bool

    def starts(self, leg: int) -> Array:
        """Draw z of every trip for a leg, one a column."""
        drawn = np.empty((self.plan.system.dimension, len(self.trips)))
        for chosen, bits in self._bits("leg", leg):
            drawn[:, chosen] = self.plan.start.draw(len(chosen), bits).T
        return drawn * 2.0 ** ((leg + 1) / 2) if self.halving else drawn

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

    >>> from errorfloor.streams.example import example_stream
    >>> fleet = example_stream().trips(["car 7", "car 8"], ["monday", "monday"])
    >>> fleet.answer([[120.0], [80.0]]).shape, fleet.step
    ((2, 1), 1)
    """

    def __init__(self, drawing: Drawing, lattice: Lattice, ranges: Ranges) -> None:
        self._drawing, self._ranges = drawing, ranges
        self._system = drawing.plan.system
        self._offset = drawing.plan.offset
        self._no_offset = np.zeros(self._system.outputs)
        self._lattice = lattice
        self._carrier = Carrier(drawing.starts(0))
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
        released = self._carrier.released(
            self._system.output_matrix(self._step),
            np.ascontiguousarray(given),
            self._no_offset if self._offset is None else self._offset[self._step],
            self._drawing.step_noise(self._step),
            self._lattice,
        )
        self._move()
        return released

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
        step, length = self._step, self._system.horizon + 1
        self._step += 1
        if self._drawing.halving and self._step % length == 0:
            self._carrier = Carrier(self._drawing.starts(self._step // length))
            self._carrier.move(power(self._system.step_matrix(0), self._step))
        elif self._drawing.halving or self._step < length:
            self._carrier.move(self._system.step_matrix(step))

    def _check_horizon(self, step: int) -> None:
        if not self._drawing.halving and step > self._system.horizon:
            raise RefusedError(
                f"step {step} is beyond the horizon {self._system.horizon} that the plan was made for: begin another "
                f"trip, plan a longer horizon, or stream with beyond='halve'",
                reason="horizon",
            )


class Trip:
    """One trip of one entity; made by ``Stream.trip``.

    >>> from errorfloor.streams.example import example_stream
    >>> trip = example_stream().trip("car 7", "monday")
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
