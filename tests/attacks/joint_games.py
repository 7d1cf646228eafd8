"""Games for one entry against joint answers: what is released under either value, and adversaries who see all of it.

An adversary knows every other entry, the bounds and the law of the noise. ``Game`` takes what a question would be
answered with from its price, and draws as many answers as a test needs; ``shrunk`` draws too little noise.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc

from errorfloor.floors.two_point import told_apart
from errorfloor.joint.taper import accepted_share
from errorfloor.random import bits_from


@dataclass(frozen=True)
class Game:
    """Cells that were released under the first and under the second value, drawn many times over.

    ``truths`` has what the cells are under each value, ``sums`` which sums of them are shown, and
    ``logarithm`` gives the log-density of noise on the cells.
    """

    truths: np.ndarray
    sums: np.ndarray
    bound: float
    step: float
    distance: float
    charge: Any
    draw: Any
    logarithm: Any

    @property
    def stated(self) -> float:
        """How often anybody may be right, by what was charged."""
        return float(told_apart(self.distance, **self.charge.amounts()))

    def released(self, coin: int, count: int, seed: int, shrunk: float = 1.0) -> np.ndarray:
        noise = shrunk * self.draw(count, bits_from(2 * seed + coin))
        return np.rint((self.truths[coin] + noise) / self.step) * self.step

    def success(self, odds: Any, count: int, seed: int, shrunk: float = 1.0) -> float:
        """How often an adversary is right; a coin decides for one without an idea."""
        right = []
        for coin in (0, 1):
            found = odds(self, self.released(coin, count, seed, shrunk))
            right.append((np.where(coin, found > 0, found < 0) + 0.5 * (found == 0)).mean())
        return float(np.mean(right))


def entry_game(world, sql: str, max_error: float) -> Game:
    """Read from a price which joint noise sums of one column by groups would have."""
    secret = world.secret
    with world.server(0) as door:
        price = door.price(sql, max_error=max_error)
    one = price.prepared.outputs[0]
    form, scale, cells = one.added.widest.form, one.added.widest.bound, one.added.widest.cells
    keys = [key.name for key in price.prepared.question.keys]
    truths = []
    for coin in (0, 1):
        grouped = secret.rows_with(coin).group_by(keys).aggregate([(secret.column, "sum")])
        grouped = grouped.sort_by([(key, "ascending") for key in keys])
        truths.append(pc.round(grouped[f"{secret.column}_sum"], 3).to_numpy()[cells])
    precision = np.linalg.inv(form.factor @ form.factor.T)

    def logarithm(noise):
        v = noise / scale
        with np.errstate(divide="ignore"):
            tapers = np.log(accepted_share(form.rows.times(v) / form.bounds, form.starts))
        return tapers - 0.5 * np.einsum("ij,jk,ik->i", v, precision, v)

    (charge,) = price.charge.values()
    return Game(
        np.array(truths),
        form.rows.matrix.toarray(),
        max_error,
        float(one.added.widest.lattice.step),
        secret.distance,
        charge,
        lambda count, bits: form.sample(count, bits) * scale,
        logarithm,
    )


def median_game(world, sql: str, max_error: float) -> Game:
    """The same for the shares that a median is located by: adversaries are shown all of them, and no interval."""
    secret = world.secret
    with world.server(0) as door:
        price = door.price(sql, max_error=max_error)
    outputs = [one for one in price.prepared.outputs if one.added is not None]
    ramps = np.array([[float(end) for end in ramp] for ramp in outputs[0].output.part_of.ramps])
    numbers = [np.asarray(secret.rows_with(coin)[secret.column]) for coin in (0, 1)]
    truths = [
        np.clip((ramps[:, 1] - value[:, None]) / (ramps[:, 1] - ramps[:, 0]), 0, 1).mean(axis=0) for value in numbers
    ]
    moved = np.flatnonzero(truths[0] != truths[1])
    noise = outputs[0].added.widest.noise

    def logarithm(given):
        with np.errstate(divide="ignore"):
            return noise.logpdf(given.ravel()).reshape(given.shape).sum(axis=1)

    (charge,) = price.charge.values()
    return Game(
        np.array(truths)[:, moved],
        np.vstack([np.eye(moved.size), np.eye(moved.size) - np.eye(moved.size, k=1)]),  # shares, and their differences
        outputs[0].added.widest.high,
        float(outputs[0].added.widest.lattice.step),
        secret.distance,
        charge,
        lambda count, bits: np.asarray(noise.sample(count * moved.size, rng=bits)).reshape(count, moved.size),
        logarithm,
    )


def differencing(game: Game, released: np.ndarray) -> np.ndarray:
    """Take what is known off every sum that the entry is in, and believe the mean of what is left."""
    moved = game.sums @ (game.truths[1] - game.truths[0])
    left = (released - game.truths.mean(axis=0)) @ game.sums.T
    touched = moved != 0
    return (left[:, touched] * np.sign(moved[touched])).mean(axis=1)


def extremes(game: Game, released: np.ndarray) -> np.ndarray:
    """Believe what the sum that is farthest from its middle says: most of all one that only one value allows."""
    moved = game.sums @ (game.truths[1] - game.truths[0])
    touched = moved != 0
    left = ((released - game.truths.mean(axis=0)) @ game.sums.T)[:, touched] * np.sign(moved[touched])
    farthest = np.abs(left).argmax(axis=1)
    return left[np.arange(len(left)), farthest]


def likelihood(game: Game, released: np.ndarray) -> np.ndarray:
    """Compare the joint density of the noise under both values: the best that anybody can do."""
    first, second = (game.logarithm(released - truth) for truth in game.truths)
    impossible = np.isinf(first) & np.isinf(second)
    with np.errstate(invalid="ignore"):
        return np.where(impossible, 0.0, second - first)
