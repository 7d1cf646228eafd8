"""Following released trips: a Kalman filter forwards and Rauch, Tung and Striebel's pass back, trip after trip."""

from typing import final

import numpy as np

from errorfloor.attacks.belief import Belief
from errorfloor.attacks.generated import SeededKeys
from errorfloor.attacks.judgement import Finding, judge_estimates
from errorfloor.catalogue import Catalogue, allowance
from errorfloor.checks import Array
from errorfloor.dynamics.smoother import smooth
from errorfloor.errors import AllowanceError
from errorfloor.ledger import MemoryLedger
from errorfloor.streams import Streams

MOST_STEPS = 1200  # answers that are asked for in one run
NEARLY_KNOWN = 1e-3  # deviation of what is known, as a part of that of what is guessed: filters want a positive one


def declared_streams(catalogue: Catalogue, seed: int | None = None) -> Streams:
    """Open the streams that a catalogue declares, on a ledger that is forgotten; the key follows from a seed."""
    keys = (SeededKeys(seed, "streams").next(),)
    return Streams(catalogue, ledger=MemoryLedger(), keys=keys, identity=None if seed is None else f"seed {seed}")


def too_long(catalogue: Catalogue) -> list[str]:
    """Give the streams whose trips have too many steps to be played again and again.

    >>> too_long(Catalogue(tables={}))
    []
    """
    streams = declared_streams(catalogue)
    return [name for name in streams.names if streams.journal(name).stream.plan.system.horizon >= MOST_STEPS]


@final
class Trips:
    """A declared stream whose entities start at states that were drawn from a belief, one entity a turn.

    Every entity makes the same trip until its allowance is spent.

    >>> position = {"range": [-500, 500], "resolution": 0.1, "floor": 20, "unit": "m"}
    >>> cars = {"A": [[1]], "C": [[1]], "horizon": 2, "states": ["at"], "private": {"at": position}, "max_loss": 9000}
    >>> trips = Trips(Catalogue(tables={}, streams={"cars": cars}), "cars", "at", seed=1)
    >>> trips.released("car 1", trips.start(7.5)).shape
    (3, 3, 1)
    """

    def __init__(self, catalogue: Catalogue, stream: str, state: str, *, seed: int) -> None:
        streams = declared_streams(catalogue, seed)
        self.name, self.declared = stream, catalogue.streams[stream]
        self.plan = streams.journal(stream).stream.plan
        self.private = self.declared.private[state]
        self.belief = Belief.of(self.private)
        self.streams = streams  # where measurements are pushed
        self._place = self.plan.system.states.index(state)
        self._generator = np.random.default_rng(seed)

    def start(self, value: float) -> Array:
        """Give the state at the start: the guessed entry as it is, every other one 0, which the adversary knows."""
        start = np.zeros(self.plan.system.dimension)
        start[self._place] = value
        return start

    def drawn(self) -> float:
        """Draw the guessed entry of a start."""
        return float(self._generator.choice(self.belief.values, p=self.belief.masses))

    def released(self, entity: str, start: Array) -> Array:
        """Make the trip again and again while that is allowed; give the answers, of shape (trips, steps, outputs)."""
        measured, found = self.plan.system.carry(start).tolist(), []
        for number in range(max(1, MOST_STEPS // len(measured))):
            push = {"stream": self.name, "entity": entity, "trip": f"trip {number}"}
            try:
                answers = [self.streams.answer(**push, step=k, measurement=one) for k, one in enumerate(measured)]
            except AllowanceError:
                break
            found.append([one.answer for one in answers])
        return np.array(found)

    def guessed(self, answers: Array) -> float:
        """Smooth one trip after the other; what one leaves is the prior of the next."""
        mean, deviation = self.belief.mean, self.belief.spread
        noise = 0.0 if self.declared.deviation is None else np.square(self.declared.deviation)
        for trip in answers:
            prior = np.full(self.plan.system.dimension, (NEARLY_KNOWN * deviation) ** 2)
            prior[self._place] = deviation**2
            found = smooth(
                self.plan,
                trip,
                prior_mean=self.start(mean),
                prior_covariance=np.diag(prior),
                step_variance=noise,
            )
            mean = float(found.initial[self._place])
            deviation = float(np.sqrt(found.covariances[0][self._place, self._place]))
        return mean


@final
class Smoothing:
    """Sees every answer of every trip that an entity is allowed, knows the system, and smooths."""

    name = "smoothing"
    tries = "runs a Kalman filter and a smoother over all trips of an entity for where it started"

    def play(self, trips: Trips, *, runs: int, attacks: int = 1) -> Finding:
        """Guess the start of one entity after the other, and judge the guesses."""
        errors = []
        for number in range(runs):
            truth = trips.drawn()
            errors.append(trips.guessed(trips.released(f"entity {number}", trips.start(truth))) - truth)
        return judge_estimates(
            self.name,
            self.tries,
            errors,
            trips.belief,
            promise=allowance(trips.private),
            unit=trips.private.unit,
            attacks=attacks,
        )
