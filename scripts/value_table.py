"""The table of the adversary's value: make it, and certify it. The certificate is the proof of what is shipped.

Run it as ``python scripts/value_table.py FILE``: the table is made in a minute and certified in half an hour.

The table is made by a dynamic programme over charges that needs no rigour, since the certificate does not trust it:
W(A, π) ≥ E W(A − a, π′) for all real charges a and A and all π, rounding included. `floors/adversary/table.proof.md`
has the theorem, and the conditions V0 to V4 by their names. A bound on the rounding of doubles is subtracted from every
slack: sums of M products are off by at most (M + 8)·2⁻⁵³ of the sum of sizes, in whatever order they are added.
"""

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.fft

from errorfloor.checks import Array
from errorfloor.errors import InputError
from errorfloor.floors.adversary.table import STEP, UNIT, ValueTable, multiplier

SMALL = 2e-6  # charges up to this part of A + START are covered by an expansion, V4
START = 0.02
BETA = 8e-4  # κ = r/4 − r″ may be this much below 0, times ¼
RATIO = 1.005  # of neighbouring charges in V3
GRID = 2.0**-47  # charges are whole multiples of it, so that levels plus or minus charges are exact
DROPPED = 1e-13  # coefficients whose sizes sum to less are left out, and subtracted
CHUNK = 512
SPACING = 0.25
ACCURATE = 2.0**-48  # of the multiplier

HALF_PERIOD, INTERVALS = 25.6, 2560  # in logarithms of odds
FIRST, LAST = 0.01, 22.6  # charges of the first and the last level before time is stretched
BELOW = 60  # the programme begins at this part of the first level
LONGER = 1.011  # the table's charge is the programme's over this: the slack that the certificate lives on
WIDTH, LEAST_WIDTH = 0.007, 3e-4  # variance of the smoothing: kinks would cost √a, and nothing pays for that
TAILS, GROWTH = 2e-5, 4e-5  # subtracted from r: pays for tails and for rounding


@dataclass(frozen=True)
class TableCertificate:
    """The least slack of each condition, all rounding and all points between nodes subtracted, and the rows of V3.

    ``small`` and ``large`` are per unit of charge. All must be positive.
    """

    start: float
    falling: float
    concave: float
    small: float
    large: float
    rows: int

    @property
    def holds(self) -> bool:
        """Whether the table is certified."""
        return min(self.start, self.falling, self.concave, self.small, self.large) > 0


def certify(table: ValueTable, *, every: int = 1, first: int = 0) -> TableCertificate:
    """Check the conditions at every so many of the levels, from the ``first`` one on; at all of them, it is a proof.

    Raises InputError if the table is not one that the proof is about.
    """
    check = _Check(table)
    levels = range(first, len(table.levels), every)
    large = [check.large(i) for i in levels]
    smooth = np.array([check.smooth(i) for i in levels])
    falling, concave, small = smooth.min(axis=0).tolist()
    return TableCertificate(
        check.start(), falling, concave, small, min(slack for slack, _ in large), sum(rows for _, rows in large)
    )


class _Check:
    def __init__(self, table: ValueTable) -> None:
        self.levels, self.b, self.L = table.levels, table.coefficients, table.half_period
        self.k = table.frequencies
        self.step = np.diff(self.levels)
        if self.levels[0] != 0 or not (self.step > 0).all():
            raise InputError("levels must begin at 0 and rise")
        self.weight = self.k**2 + 0.25  # from r to κ = r/4 − r″
        self.small_charge = np.floor(SMALL * (self.levels + START) / GRID) * GRID
        if not (np.minimum(self.small_charge[1:], self.small_charge[:-1]) <= self.step).all():
            raise InputError("levels must be further apart than the charges of V4")
        self.charges = np.array(list(_charges(float(self.small_charge[0]), float(self.levels[-1]))))
        self._cosines: tuple[int, Array] | None = None
        self.end = self._end()

    def start(self) -> float:
        """V0: e^{−|x|/2} − r(0, x) ≥ 0."""
        x, h, S, bend, off = self._values(-self.b[:1], 0)
        e = np.exp(-x / 2)
        least = np.minimum((S[0] + e)[:-1], (S[0] + e)[1:])
        most = np.maximum(bend[0, :-1], bend[0, 1:]).clip(min=0) + e[:-1] / 4 * (1 + 1e-12)
        return float((least - h * h / 8 * (most + off[0, 1])).min() - off[0, 0] - 1e-15)

    def smooth(self, i: int) -> tuple[float, float, float]:
        """V1, r does not rise from level i to the next; V2, κ ≥ −β/4 there; V4, charges up to ``small_charge``."""
        a = float(self.small_charge[i])
        kappa = self.b[i] * self.weight
        k = np.where(self.k > 0, self.k, 1.0)
        tilted = np.where(self.k > 0, k / np.tanh(2 * math.pi * k), 1 / (2 * math.pi)) * kappa
        rest = a * float((np.abs(kappa) * (self.k**2 / 8 + 1 / 96)).sum()) + self._image(a) / a
        rows, less = [kappa], [0.0]
        for j in (i - 1, i):
            if 0 <= j < len(self.step):
                slope = (self.b[j] - self.b[j + 1]) / self.step[j]
                moved = 0.5 * a * float(np.abs(slope * self.weight).sum()) if j < i else 0.0
                for part in (0.0, math.sqrt(a) / 3):
                    rows.append(slope - 0.5 * kappa + part * tilted)
                    less.append((rest + moved) * (1 + 1e-9))
                rows.append(slope)
                less.append(0.0)
        given = np.array(rows)
        found = self._least_of(given, i, 16 * 2.0**-53 * (np.abs(given).sum(axis=1) + 2 * np.abs(kappa).sum()))
        found -= less
        return float(found[3::3].min()), float(found[0]) + BETA / 4, float(np.delete(found[1:], np.s_[2::3]).min())

    def large(self, i: int) -> tuple[float, int]:
        """V3: charges from ``small_charge`` on, with the break points of A that belong to level i."""
        reached = float(self.small_charge[i - 1]) if i else 0.0
        cost, noise = self.charges[:-1], self.charges[1:]
        worst, rows = math.inf, 0
        for ahead in (False, True):
            fits = self.levels[i] + cost <= self.levels[-1] if ahead else cost <= self.levels[i]
            chosen = np.flatnonzero((noise > reached) & fits)
            for part in np.split(chosen, range(CHUNK, len(chosen), CHUNK)):
                if len(part):
                    worst = min(worst, float(self._steps(i, cost[part], noise[part], ahead=ahead).min()))
                    rows += len(part)
        return worst, rows

    def _steps(self, i: int, cost: Array, noise: Array, *, ahead: bool) -> Array:
        level = np.full(len(cost), self.levels[i])
        one = self._curve(level if ahead else level - cost)
        two = self._curve(level + cost if ahead else level)
        kept = multiplier(noise, self.k)
        rows = one * kept - two
        lost = np.maximum(multiplier(cost, self.k[:1])[:, 0] - kept[:, 0], 0.0) + 2 * ACCURATE
        rows[:, 0] -= BETA * lost + self._image(float(noise[-1]))
        size = np.abs(one).sum(axis=1) + np.abs(two).sum(axis=1) + BETA
        return self._least_of(rows / cost[:, None], i, 2 * ACCURATE * size / cost)

    def _curve(self, charge: Array) -> Array:
        """Give the coefficients of r at some A, which are sums and differences without rounding."""
        j = np.clip(np.searchsorted(self.levels, charge, side="right") - 1, 0, len(self.step) - 1)
        part = ((charge - self.levels[j]) / self.step[j])[:, None]
        return np.asarray(self.b[j] * (1 - part) + self.b[j + 1] * part)

    def _end(self) -> float:
        """Give X with r(0, x) ≤ 0 for X ≤ |x| ≤ L."""
        x, h, S, bend, off = self._values(self.b[:1], 0)
        most = (
            np.maximum(S[0, :-1], S[0, 1:])
            + off[0, 0]
            + h * h / 8 * (np.maximum(-bend[0, :-1], -bend[0, 1:]).clip(min=0) + off[0, 1])
        )
        positive = np.flatnonzero(most > 0)
        if positive[-1] + 1 >= len(x) - 1:
            raise InputError("r must be negative far out")
        return float(x[positive[-1] + 1])

    def _image(self, charge: float) -> float:
        """Bound what the periodic images of r would add: they are not there."""
        gap = 2 * (self.L - self.end)
        sine = math.sin(min(0.5 * math.sqrt(charge), math.pi / 2))
        return 12 * sine**3 / (1 - math.exp(-gap / 2)) ** 4 * math.exp(1.5 * self.end - 2 * self.L) / math.pi

    def _least_of(self, rows: Array, i: int, off: Array) -> Array:
        """Bound each row from below at all x; ``off`` is by how much its coefficients may be off in all."""
        _, h, S, bend, rounding = self._values(rows, i)
        least = np.minimum(S[:, :-1], S[:, 1:])
        curved = np.maximum(bend[:, :-1], bend[:, 1:]).clip(min=0) + rounding[:, 1:]
        return np.asarray((least - h * h / 8 * curved).min(axis=1) - rounding[:, 0] - off)

    def _values(self, rows: Array, i: int) -> tuple[Array, float, Array, Array, Array]:
        """Give nodes, their spacing, the sums, their second derivatives, and what is to be subtracted from each.

        The bound for second derivatives holds between nodes, too.
        """
        sizes = np.abs(rows)
        tails = sizes[:, ::-1].cumsum(axis=1)[:, ::-1].max(axis=0)
        modes = max(1, int(np.count_nonzero(tails > DROPPED)))
        x, cosine = self._nodes(i, modes)
        h = float(x[1] - x[0]) * (1 + 1e-12)
        S = rows[:, :modes] @ cosine
        wide = np.concatenate([S[:, 1:2], S, S[:, -2:-1]], axis=1)  # r is even about 0 and about L
        bend = (wide[:, 2:] - 2 * S + wide[:, :-2]) / (h * h)
        rounding = (modes + 8) * 2.0**-53
        off = rounding * sizes.sum(axis=1) + DROPPED
        fourth = (sizes * self.k**4).sum(axis=1)
        off_bend = 5 * off / (h * h) + h * h * (1 / 8 + 1 / 12) * fourth * (1 + 1e-9)
        return x, h, S, bend, np.stack([off, off_bend], axis=1)

    def _nodes(self, i: int, modes: int) -> tuple[Array, Array]:
        """Give nodes on [0, L] and the cosines there, each from an angle that is reduced exactly."""
        count = math.ceil(self.L / (SPACING * math.sqrt(0.007 * (self.levels[i] + START) + 5e-4)))
        if self._cosines is None or self._cosines[0] != count or len(self._cosines[1]) < modes:
            turn = np.multiply.outer(np.arange(modes, dtype=np.int32), np.arange(count + 1, dtype=np.int32)) % (
                2 * count
            )
            self._cosines = count, np.cos(np.pi / count * np.arange(2 * count))[turn]
        return self.L / count * np.arange(count + 1), self._cosines[1][:modes]


def _charges(least: float, most: float) -> Iterator[float]:
    charge = least
    while charge < most:
        yield charge
        charge = math.ceil(charge * RATIO / GRID) * GRID
    yield charge


def one_answer(charge: float, odds: Array) -> Array:
    """Give r after a single answer: the error of the best test, over √(π(1−π)), at the logarithms of ``odds``.

    >>> float(one_answer(1.0, np.zeros(1))[0].round(4))  # 1 − total variation
    0.6882
    """
    shift = math.sqrt(charge) / math.pi
    if shift >= 2:
        return np.zeros_like(odds)
    turn = math.pi * shift / 2
    edge = 1 - 2 / math.pi * np.arctan2(math.sin(turn), np.exp(-odds / 2) - math.cos(turn))
    return np.asarray(np.exp(odds / 2) * _below(edge - shift) + np.exp(-odds / 2) * _below(-edge))


def _below(value: Array) -> Array:
    inside = np.clip(value, -1.0, 1.0)
    return np.asarray((1 + inside) / 2 + np.sin(math.pi * inside) / (2 * math.pi))


def candidate() -> ValueTable:
    """Give the table, in whole units.

    At each charge r is the least of: a Gaussian step from the level before (the limit of many small answers), one
    answer from level j, for about a hundred j, and one answer from nothing.
    """
    x = HALF_PERIOD / INTERVALS * np.arange(INTERVALS + 1)
    k = np.pi / HALF_PERIOD * np.arange(INTERVALS + 1)
    decay = k**2 / 2 + 1 / 8
    charges, first = _levels()
    raw = np.zeros((len(charges), len(k)))
    nothing = _values(_cosines(np.exp(-x / 2)) * np.exp(-charges[0] * decay))
    raw[0] = _cosines(np.minimum(nothing, one_answer(charges[0], x)))
    for i in range(1, len(charges)):
        gaussian = _values(raw[i - 1] * np.exp(-(charges[i] - charges[i - 1]) * decay))
        best = np.minimum(gaussian, one_answer(charges[i], x))
        jumps = _jumps(charges, i)
        if len(jumps):
            best = np.minimum(best, _values(raw[jumps] * multiplier(charges[i] - charges[jumps], k)).min(axis=0))
        raw[i] = _cosines(best)
    kept = charges[first:, None]
    smooth = raw[first:] * np.exp(-(WIDTH * kept + LEAST_WIDTH) * decay)
    smooth[:, 0] -= TAILS + GROWTH * np.sqrt(kept[:, 0])
    whole = np.rint(smooth / UNIT)
    modes = int(np.flatnonzero(np.abs(whole).max(axis=0))[-1]) + 1
    levels = np.rint((kept[:, 0] - FIRST) / LONGER / STEP) * STEP
    return ValueTable(levels, whole[:, :modes] * UNIT, round(HALF_PERIOD / STEP) * STEP)


def _levels() -> tuple[Array, int]:
    """Give the charges of all levels, and which of them is the table's first: 2 % apart, closer where r falls fast."""
    down = [FIRST]
    while down[-1] > FIRST / BELOW:
        down.append(down[-1] / 1.02)
    charges = down[::-1]
    while charges[-1] < LAST:
        charges.append(charges[-1] * (1 + 0.02 / (1 + charges[-1] / 6)))
    return np.array(charges), len(down) - 1


def _jumps(charges: Array, i: int) -> Array:
    parts = 0.02 * 1.06 ** np.arange(math.ceil(math.log(0.999 / 0.02) / math.log(1.06)))
    found = np.unique(np.searchsorted(charges, charges[i] * (1 - parts)))
    return np.asarray(found[(found > 0) & (found < i)])


def _cosines(values: Array) -> Array:
    """Give b with values = Σ b_n cos(πnx/L) at the nodes."""
    found = scipy.fft.dct(values, type=1, axis=-1) / INTERVALS
    found[..., [0, -1]] /= 2
    return np.asarray(found)


def _values(coefficients: Array) -> Array:
    halved = coefficients / 2
    halved[..., [0, -1]] *= 2
    return np.asarray(scipy.fft.dct(halved, type=1, axis=-1))


def main(file: Path) -> int:
    """Make, certify and write the table; 1 if it is not certified."""
    table = candidate()
    found = certify(table)
    print(f"{len(table.levels)} levels, {table.coefficients.shape[1]} frequencies; {found}")
    if found.holds:
        file.write_bytes(table.to_bytes())
    return 0 if found.holds else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
